/* The interpreter's frames behind names that do not change with its version.
 *
 * Everything in native/ that touches `_PyInterpreterFrame` or the evaluator does so through this header, so a
 * new CPython version is one more block here. What changes: 3.12 makes the evaluator pop the frame that a
 * hook returns from, 3.13 renames the code pointer (`f_executable`) and the instruction pointer
 * (`instr_ptr`). */

#ifndef CAPTURE_PYVERSION_H
#define CAPTURE_PYVERSION_H

#include "capture_native.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000

#include <internal/pycore_frame.h>

typedef struct _PyInterpreterFrame InterpreterFrame;

#define NOT_A_PLAIN_FUNCTION (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE)

static inline PyCodeObject *frame_code(const InterpreterFrame *frame)
{
    return frame->f_code;
}

/* Borrowed; the state at the frame's first instruction (cells not made yet, free variables not copied yet).
 */
static inline FrameState frame_state(const InterpreterFrame *frame)
{
    return (FrameState){
        .locals = frame->localsplus,
        .nlocals = frame->f_code->co_nlocalsplus,
        .function = frame->f_func,
        .globals = frame->f_globals,
        .builtins = frame->f_builtins,
    };
}

/* A function's frame on the thread's own stack: not a generator, a class body or a module. */
static inline int frame_is_function_call(const InterpreterFrame *frame)
{
    const int flags = frame->f_code->co_flags;
    return (flags & (CO_OPTIMIZED | NOT_A_PLAIN_FUNCTION)) == CO_OPTIMIZED
           && frame->owner == FRAME_OWNED_BY_THREAD && frame->f_locals == NULL;
}

static inline int code_nlocalsplus(const PyCodeObject *code)
{
    return code->co_nlocalsplus;
}

/* Is a trace or profile function running right now on this thread? */
static inline int thread_is_in_tracer(const PyThreadState *tstate)
{
    return tstate->tracing != 0;
}

/* Lets the next `levels` calls of this thread not count against its recursion limit; negative takes them
 * back. */
static inline void thread_add_recursion_room(PyThreadState *tstate, int levels)
{
    tstate->recursion_remaining += levels;
}

/* Drops what a frame holds that has returned and is not cleared yet, unless somebody can still see its
 * locals. */
static inline void frame_release_locals(InterpreterFrame *frame)
{
    if (frame->frame_obj != NULL) {
        return;
    }
    for (int i = 0; i < frame->f_code->co_nlocalsplus; i++) {
        Py_CLEAR(frame->localsplus[i]);
    }
}

/* Makes `code` what the frame runs, from its start. The frame has not begun, and its first locals, which
 * become those of `code`, are all that it holds; the last `nslots` parameters of `code` are `slots`
 * (borrowed). 1, or 0 with nothing changed where the frame's memory can't hold the new code. */
static inline int frame_swap_code(PyThreadState *tstate, InterpreterFrame *frame, PyCodeObject *code,
                                  PyObject *const *slots, Py_ssize_t nslots)
{
    const int nformals = code->co_argcount - (int)nslots;
    PyCodeObject *old = frame->f_code;
    PyObject **base = (PyObject **)frame;
    PyObject **old_top = base + FRAME_SPECIALS_SIZE + old->co_nlocalsplus + old->co_stacksize;
    PyObject **new_top = base + FRAME_SPECIALS_SIZE + code->co_nlocalsplus + code->co_stacksize;
    if (tstate->datastack_top != old_top || new_top >= tstate->datastack_limit || frame->frame_obj != NULL) {
        return 0;
    }
    if (new_top > old_top) { /* never lower: the evaluator's own bound may be the old one */
        tstate->datastack_top = new_top;
    }
    for (int i = nformals; i < code->co_nlocalsplus; i++) {
        frame->localsplus[i] = i < code->co_argcount ? Py_NewRef(slots[i - nformals]) : NULL;
    }
    frame->stacktop = code->co_nlocalsplus;
    frame->prev_instr = _PyCode_CODE(code) - 1;
    Py_INCREF(code);
    frame->f_code = code;
    Py_DECREF(old);
    return 1;
}

#else
#error "capture's native frame hook supports CPython 3.11 only; use hook=\"settrace\" elsewhere"
#endif

#endif
