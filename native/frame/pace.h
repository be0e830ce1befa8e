/* How often code will run in the loops that are known: pace.c. */

#ifndef CAPTURE_PACE_H
#define CAPTURE_PACE_H

#include "capture_native.h"

typedef struct {
    Py_ssize_t runs; /* of the code at the last look; 0: there was none */
    double done;     /* of the loops then */
    double whole;    /* runs in all turns of the loops, at most; 0: not known */
} Pace;

/* Looks at the loops after so many runs, when the share `done` of their turns is over (above 0, up to 1).
 * Returns how many runs are still to come in them, at least. */
double pace_to_come(Pace *pace, Py_ssize_t runs, double done);

/* Whether the loops have run before, behind the last look: then they may run once more. */
int pace_repeats(const Pace *pace);

#endif
