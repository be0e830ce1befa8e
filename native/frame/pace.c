/* How often code will run in the loops that are known, where others may be around them that are not.
 *
 * In:  after some runs of the code, the share of the loops' turns that is over.
 * Out: how many runs are to come in the loops; whether they run again and again.
 *
 *     for batch in batches: step(batch)                     ->  4 runs, 4 of 25 turns are over: 21 to come
 *     while busy: for batch in batches: step(batch)         ->  128 runs, 3 of 25 turns are over, and
 *                                                               64 runs before, 14: 22 to come, not 939
 *     captured in the second of 300 turns, which does       ->  2 runs in 2 turns: 296 to come, not 148
 *     not fit the next two
 *
 * Between two looks at which more and more of the loops is over, the code has run at least as often as in
 * that part of them: all turns have no more runs than that. Nor have they more than all runs so far would
 * make. */

#include "frame/pace.h"

/* Behind so many times the runs that the loops explain, they have run before. */
enum { TIMES_EXPLAINED = 2 };

Pace pace_from_now(const Pace *pace)
{
    return (Pace){.begun = pace->runs > 0 ? pace->done : pace->begun};
}

/* The share of the loops in which the runs have come; the loops may have begun once more since the count did.
 */
static double counted_share(const Pace *pace, double done)
{
    return done > pace->begun ? done - pace->begun : done < pace->begun ? 1 - pace->begun + done : done;
}

double pace_to_come(Pace *pace, Py_ssize_t runs, double done)
{
    const double whole = (double)runs / counted_share(pace, done);
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
    const double explained = pace->whole * counted_share(pace, pace->done);
    return pace->whole > 0 && (double)pace->runs > TIMES_EXPLAINED * explained;
}
