/* A clock for parts of a graph's run. Unlike native/frame/worked_time.h it goes on while the thread waits. */
#ifndef CAPTURE_CLOCK_H
#define CAPTURE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
