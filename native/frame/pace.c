/* How often code will run in the loops that are known, where others may be around them that are not.
 *
 * In:  after some runs of the code, the share of the loops' turns that is over.
 * Out: how many runs are to come in the loops; whether they run again and again.
 *
 *     for batch in batches: step(batch)                     ->  4 runs, 4 of 25 turns are over: 21 to come
 *     while busy: for batch in batches: step(batch)         ->  128 runs, 3 of 25 turns are over, and
 *                                                               64 runs before, 14: 22 to come, not 939
 *
 * Between two looks at which more and more of the loops is over, the code has run at least as often as in
 * that part of them: all turns have no more runs than that. Nor have they more than all runs so far would
 * make. */

#include "frame/pace.h"

/* Behind so many times the runs that the loops explain, they have run before. */
enum { TIMES_EXPLAINED = 2 };

double pace_to_come(Pace *pace, Py_ssize_t runs, double done)
{
    const double whole = (double)runs / done;
    if (pace->runs > 0 && runs > pace->runs && done > pace->done) {
        const double recent = (double)(runs - pace->runs) / (done - pace->done);
        pace->whole = pace->whole == 0 ? recent : Py_MIN(pace->whole, recent);
    }
    pace->runs = runs;
    pace->done = done;
    return (pace->whole == 0 ? whole : Py_MIN(whole, pace->whole)) * (1 - done);
}

int pace_repeats(const Pace *pace)
{
    return pace->whole > 0 && (double)pace->runs > TIMES_EXPLAINED * pace->whole * pace->done;
}
