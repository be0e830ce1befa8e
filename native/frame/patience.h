/* Patience: a callback that is asked about a frame only after Python has run frames of that code for a while.
 */

#ifndef CAPTURE_PATIENCE_H
#define CAPTURE_PATIENCE_H

#include "frame/code_entries.h"
#include "frame/pyversion.h"
#include "frame/thread_hook.h"

extern PyTypeObject Patience_Type;

static inline int is_patience(PyObject *callback)
{
    return Py_IS_TYPE(callback, &Patience_Type);
}

/* 1: the callback has to be asked about the frame that is to begin. 0: Python runs it (`patience_run_cold`).
 * -1 with an exception. `state`: of the frame's code. */
int patience_is_over(PyObject *patience, PyThreadState *tstate, ThreadHook *hook, CodeState *state);

/* Nanoseconds of a clock that only goes forward. */
long long now_ns(void);

/* Runs the frame in the default evaluator and counts its time and work. */
PyObject *patience_run_cold(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook,
                            CodeState *state);

int init_patience(PyObject *module);

#endif
