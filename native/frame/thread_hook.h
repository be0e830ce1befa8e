/* Per thread: the callback and key. Per process: whether the evaluator is installed. */

#ifndef CAPTURE_THREAD_HOOK_H
#define CAPTURE_THREAD_HOOK_H

#include "capture_native.h"
#include "frame/pyversion.h"

/* Arguments of a call that is about to start. Its frame holds them too; when it begins, the caller's
 * references are dropped, so that the callee can free an argument by rebinding it. */
typedef struct {
    PyObject *function;
    PyObject **args;
    Py_ssize_t count;
} Handover;

typedef struct {
    PyObject_HEAD
    PyObject *callback; /* NULL: frames of this thread are not looked at */
    PyObject *key;
    int suspended;      /* > 0 while the callback runs */
    Handover *handover; /* NULL, or waiting for the frame of its function */
} ThreadHook;

/* initial-exec: read at every call, so at a fixed offset from the thread pointer. NULL before the thread's
 * first set_callback. */
extern _Thread_local ThreadHook *thread_hook __attribute__((tls_model("initial-exec")));

/* Drops the references of the hook's handover if this is the frame that it waits for. */
void handover_take(ThreadHook *hook, const InterpreterFrame *frame);

/* Runs the frame in the evaluator that was there before ours. */
PyObject *eval_default(PyThreadState *tstate, InterpreterFrame *frame, int throwflag);

/* The same with this thread's hook off until the frame is done. */
PyObject *eval_unhooked(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook);

/* What the callable returns, called under that callback (NULL: none) and key. */
PyObject *thread_hook_call(PyObject *callback, PyObject *key, PyObject *callable, PyObject *const *args,
                           size_t nargsf, PyObject *kwnames);

/* The evaluator is taken out for a while, for all threads, and put back if some thread still has a callback.
 * Nests. */
void evaluator_pause(void);
void evaluator_resume(void);

/* eval_frame.c: the evaluator. */
PyObject *eval_frame(PyThreadState *tstate, InterpreterFrame *frame, int throwflag);

int init_thread_hook(PyObject *module);

#endif
