/* Per thread: the callback and key. Per process: whether the evaluator is installed. */

#ifndef CAPTURE_THREAD_HOOK_H
#define CAPTURE_THREAD_HOOK_H

#include "capture_native.h"
#include "pyversion.h"

typedef struct {
    PyObject_HEAD
    PyObject *callback; /* NULL: frames of this thread are not looked at */
    PyObject *key;
    int suspended; /* > 0 while the callback runs */
} ThreadHook;

/* initial-exec: read at every call, so at a fixed offset from the thread pointer. NULL before the thread's first set_callback. */
extern _Thread_local ThreadHook *thread_hook __attribute__((tls_model("initial-exec")));

/* Runs the frame in the evaluator that was there before ours. */
PyObject *eval_default(PyThreadState *tstate, InterpreterFrame *frame, int throwflag);

/* The evaluator is taken out for a while, for all threads, and put back if some thread still has a callback. Nests. */
void evaluator_pause(void);
void evaluator_resume(void);

/* eval_frame.c: the evaluator. */
PyObject *eval_frame(PyThreadState *tstate, InterpreterFrame *frame, int throwflag);

int init_thread_hook(PyObject *module);

#endif
