/* Frames that ran before their block began: see running_loops.c. */

#ifndef CAPTURE_RUNNING_LOOPS_H
#define CAPTURE_RUNNING_LOOPS_H

#include "frame/thread_hook.h"

/* Runs a frame below the one that is followed: it is not traced. */
PyObject *eval_below_followed(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook,
                              int throwflag);

#endif
