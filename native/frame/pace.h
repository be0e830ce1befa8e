/* How often code will run in the loops that are known: pace.c. */

#ifndef CAPTURE_PACE_H
#define CAPTURE_PACE_H

#include "capture_native.h"

typedef struct {
    double begun;    /* the share of the loops that was over when the runs began to count */
    Py_ssize_t runs; /* of the code at the last look; 0: there was none */
    double done;     /* of the loops then */
    double whole;    /* runs in all turns of the loops, at most; 0: not known */
} Pace;

/* The pace of runs that count from now on, as far as the last look tells when that is. */
Pace pace_from_now(const Pace *pace);

/* Looks at the loops after so many runs, when the share `done` of their turns is over (above 0, up to 1).
 * Returns how many runs are still to come in them, at least. */
double pace_to_come(Pace *pace, Py_ssize_t runs, double done);

/* Whether the loops have run before, behind the last look: then they may run once more. */
int pace_repeats(const Pace *pace);

#endif
