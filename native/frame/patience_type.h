/* The object that `_capture.Patience` is: whom it asks, and what captures cost. */

#ifndef CAPTURE_PATIENCE_TYPE_H
#define CAPTURE_PATIENCE_TYPE_H

#include "frame/price.h"

typedef struct {
    PyObject_HEAD
    PyObject *callback;
    PyObject *kind; /* kind(code) -> one of enum CodeKind */
    PyObject
        *judge; /* judge(code, entry, python, own) -> one of enum CodeKind; NULL: entries are not tried */
    PyObject *glance;      /* glance(frame); NULL: nothing looks */
    PyObject *foresee;     /* foresee() -> (done, gain, runs_again): of the loops around, and of a capture in
                              them; NULL: nothing is known of the future */
    PyObject *surcharge;   /* surcharge(code) -> what the capture of code that looks hot costs beside, in
                              nanoseconds; NULL: nothing */
    PyObject *twin;        /* twin(code) -> the code that can leave its loops, or None; NULL: no frame leaves
                              a loop */
    PyObject *judge_turns; /* judge_turns(code, entry, python, own) -> whether the turns of a loop pay; NULL:
                              they are not compared */
    Rates rates;
} Patience;

#endif
