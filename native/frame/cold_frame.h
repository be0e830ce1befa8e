/* A frame that waits for its capture, in Python. */

#ifndef CAPTURE_COLD_FRAME_H
#define CAPTURE_COLD_FRAME_H

#include "frame/code_entries.h"
#include "frame/pyversion.h"
#include "frame/thread_hook.h"

/* Runs the frame in the default evaluator and counts its time and work. `state`: of the frame's code. */
PyObject *cold_frame_run(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook, CodeState *state);

#endif
