/* How long a thread has worked: the time on the clock without the time in which others had the processor, or
 * the program waited for its data.
 *
 * In:  two clocks of the system: one that runs on and costs little, and the processor time of the thread,
 * which takes a system call. Out: a clock as cheap as the first. Now and then it is set back to the second,
 * and stands until it is true again.
 *
 *     work 3 ms, sleep 50 ms, work 2 ms    ->    5 ms */

#include "frame/worked_time.h"

#include <time.h>

/* How often the processor time is read. */
enum { BETWEEN_READS_NS = 1000000 };

static long long read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

long long worked_ns(void)
{
    static _Thread_local struct {
        long long wall, processor; /* when both were read */
        long long waited;          /* until then */
        long long last;            /* answer */
    } known;
    const long long wall = read_clock(CLOCK_MONOTONIC);
    if (wall - known.wall >= BETWEEN_READS_NS) {
        const long long processor = read_clock(CLOCK_THREAD_CPUTIME_ID);
        if (processor >= known.processor) { /* it begins anew in a forked child */
            known.waited += wall - known.wall - (processor - known.processor);
        }
        known.wall = wall;
        known.processor = processor;
    }
    if (wall - known.waited > known.last) {
        known.last = wall - known.waited;
    }
    return known.last;
}
