/* How long a thread has worked: the time on the clock without the time in which others had the processor, or
 * the program waited for its data.
 *
 * In:  the processor time of the thread, which takes a system call, and a counter of the processor, which
 * takes some nanoseconds. Out: a clock as cheap as the counter. Now and then it is set to the processor time,
 * and it stands until that is ahead of it again.
 *
 *     work 3 ms, sleep 50 ms, work 2 ms    ->    5 ms */

#include "frame/worked_time.h"

#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* How often the processor time is read. */
enum { BETWEEN_READS_NS = 1000000 };

/* What a counter may take for a step, in nanoseconds. */
static const double LEAST_TICK = 0.05, MOST_TICK = 1000;

static long long read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static unsigned long long read_counter(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    unsigned long long count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    return (unsigned long long)read_clock(CLOCK_MONOTONIC);
#endif
}

typedef struct {
    long long wall, processor;  /* at the last read */
    long long worked;           /* until then */
    unsigned long long counter; /* then */
    unsigned long long period;  /* of the counter between two reads; 0: its speed is not known */
    double tick_ns;
    long long last; /* answer */
} Clock;

/* A counter that jumps, or runs at another speed on another core, is right again at the next read. */
static void measure_counter(Clock *clock, long long wall, unsigned long long counted)
{
    clock->tick_ns = (double)(wall - clock->wall) / (double)counted;
    const int plausible = clock->tick_ns >= LEAST_TICK && clock->tick_ns <= MOST_TICK;
    clock->period = plausible ? (unsigned long long)(BETWEEN_READS_NS / clock->tick_ns) : 0;
}

static long long read_processor_time(Clock *clock, unsigned long long counter)
{
    const long long wall = read_clock(CLOCK_MONOTONIC), processor = read_clock(CLOCK_THREAD_CPUTIME_ID);
    /* in a forked child it begins anew */
    const long long advance = processor >= clock->processor ? processor - clock->processor : 0;
    const int is_first = clock->wall == 0;
    if (!is_first && wall - clock->wall < BETWEEN_READS_NS) {
        return clock->worked + advance; /* too short to measure the counter by */
    }
    if (!is_first) {
        measure_counter(clock, wall, counter - clock->counter);
    }
    clock->wall = wall;
    clock->processor = processor;
    clock->worked += advance;
    clock->counter = counter;
    return clock->worked;
}

long long worked_ns(void)
{
    static _Thread_local Clock clock __attribute__((tls_model("initial-exec")));
    const unsigned long long counter = read_counter(), counted = counter - clock.counter;
    const long long worked = counted < clock.period
                                 ? clock.worked + (long long)((double)counted * clock.tick_ns)
                                 : read_processor_time(&clock, counter);
    if (worked > clock.last) {
        clock.last = worked;
    }
    return clock.last;
}
