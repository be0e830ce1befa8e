/* Signals that wait while something of ours runs: see held_signals.c. */

#ifndef CAPTURE_HELD_SIGNALS_H
#define CAPTURE_HELD_SIGNALS_H

#include "frame/thread_hook.h"

static inline void set_signals(ThreadHook *hook, enum Signals now)
{
    hook->signals = now;
    signals_changed(hook);
}

/* Behind this, no handler of a signal runs on this thread until the state that it returns is set again. */
static inline enum Signals signals_hold(ThreadHook *hook)
{
    const enum Signals before = hook->signals;
    set_signals(hook, SIGNALS_HELD);
    return before;
}

/* Runs a frame of the program that what holds the signals has called: they do not wait for its end. */
PyObject *eval_with_signals(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook, int throwflag);

/* Runs a frame of ours with CODE_HOLDS_SIGNALS, which the program has called. */
PyObject *eval_without_signals(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook,
                               int throwflag);

/* Whether it is a frame of the program. */
int is_frame_of_the_program(const InterpreterFrame *frame);

#endif
