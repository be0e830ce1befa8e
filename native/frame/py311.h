/* CPython 3.11: frames of the interpreter, its evaluator, functions, code objects and types.
 *
 * Included by pyversion.h only. */

#ifndef CAPTURE_PY311_H
#define CAPTURE_PY311_H

#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#include <opcode.h>

/* --- frames ------------------------------------------------------------------------------------------ */

typedef struct _PyInterpreterFrame InterpreterFrame;

#define NOT_A_PLAIN_FUNCTION (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE)

static inline PyCodeObject *frame_code(const InterpreterFrame *frame)
{
    return frame->f_code;
}

/* The innermost frame that has begun, or NULL: the caller of a frame that the hook sees. */
static inline InterpreterFrame *thread_frame(const PyThreadState *tstate)
{
    return tstate->cframe->current_frame;
}

/* The next calls of this thread have that caller. The frame that runs has to be set again behind them. */
static inline void thread_set_frame(PyThreadState *tstate, InterpreterFrame *frame)
{
    tstate->cframe->current_frame = frame;
}

/* The caller of a frame that has begun, or NULL. */
static inline InterpreterFrame *frame_caller(const InterpreterFrame *frame)
{
    return frame->previous;
}

/* The place in its code of the instruction that a frame has begun last. */
static inline Py_ssize_t frame_instruction(const InterpreterFrame *frame)
{
    return frame->prev_instr - _PyCode_CODE(frame->f_code);
}

/* Borrowed: what lies at that place of the stack of a frame that has begun and not ended. NULL: the frame has
 * ended, or has no such place. Whether something lies there at this moment only its code tells. */
static inline PyObject *frame_stack_item(PyObject *frame_object, Py_ssize_t place)
{
    const InterpreterFrame *frame = ((PyFrameObject *)frame_object)->f_frame;
    const int outside = place < 0 || place >= frame->f_code->co_stacksize;
    return outside || frame->owner == FRAME_OWNED_BY_FRAME_OBJECT
               ? NULL
               : frame->localsplus[frame->f_code->co_nlocalsplus + place];
}

/* Borrowed: a local, a cell or a free variable of a frame that runs. NULL: it has none at that place, or none
 * is bound. */
static inline PyObject *frame_local_item(PyObject *frame_object, Py_ssize_t place)
{
    const InterpreterFrame *frame = ((PyFrameObject *)frame_object)->f_frame;
    const int outside = place < 0 || place >= frame->f_code->co_nlocalsplus;
    return outside || frame->owner == FRAME_OWNED_BY_FRAME_OBJECT ? NULL : frame->localsplus[place];
}

/* Whether the frame is a plain call of a function or the run of a module, and runs the code that its function
 * has: no twin, and not what an entry made of it. */
static inline int frame_runs_own_code(PyObject *frame_object)
{
    const InterpreterFrame *frame = ((PyFrameObject *)frame_object)->f_frame;
    return frame->owner == FRAME_OWNED_BY_THREAD && !(frame->f_code->co_flags & NOT_A_PLAIN_FUNCTION)
           && frame->f_func->func_code == (PyObject *)frame->f_code;
}

/* What follows is for the frame for which CPython calls a trace function at the begin of a line. Only there
 * its memory has the whole of its state, and the evaluator reads it anew behind the call: debuggers move
 * frames to other lines. A place is one of the locals, cells and free variables, or, behind these, of the
 * stack. */

/* The number of places in use. */
static inline Py_ssize_t traced_frame_size(PyObject *frame_object)
{
    return ((PyFrameObject *)frame_object)->f_frame->stacktop;
}

static inline int is_cell_place(const PyCodeObject *code, Py_ssize_t place)
{
    const _PyLocals_Kind kind = _PyLocals_GetKind(code->co_localspluskinds, (int)place);
    return (kind & (CO_FAST_CELL | CO_FAST_FREE)) != 0;
}

/* Moves out what lies at that place; of a variable in a cell the value, which stays in the cell. NULL:
 * nothing is bound. */
static inline PyObject *traced_frame_take(PyObject *frame_object, Py_ssize_t place)
{
    InterpreterFrame *frame = ((PyFrameObject *)frame_object)->f_frame;
    const PyCodeObject *code = frame->f_code;
    PyObject *item = frame->localsplus[place];
    if (place < code->co_nlocalsplus && is_cell_place(code, place)) {
        return Py_XNewRef(PyCell_GET(item));
    }
    frame->localsplus[place] = NULL;
    return item;
}

/* Whether the code returns the item on top of the stack at that offset. */
static inline int code_returns_at(const PyCodeObject *code, Py_ssize_t offset)
{
    const Py_ssize_t unit = offset / (Py_ssize_t)sizeof(_Py_CODEUNIT);
    return offset >= 0 && unit < Py_SIZE(code) && _Py_OPCODE(_PyCode_CODE(code)[unit]) == RETURN_VALUE;
}

/* The next instruction is the one at that offset. What the frame holds goes, but for cells and free
 * variables, which CPython expects where somebody looks at the variables of the frame. */
static inline void traced_frame_empty(PyObject *frame_object, Py_ssize_t offset)
{
    InterpreterFrame *frame = ((PyFrameObject *)frame_object)->f_frame;
    const PyCodeObject *code = frame->f_code;
    const int places = frame->stacktop;
    frame->prev_instr = _PyCode_CODE(code) + offset / (Py_ssize_t)sizeof(_Py_CODEUNIT);
    frame->stacktop = code->co_nlocalsplus;
    if (code->co_flags & CO_OPTIMIZED) { /* else it is the dict of the variables itself */
        Py_CLEAR(frame->f_locals);
    }
    for (int i = 0; i < places; i++) {
        if (i >= code->co_nlocalsplus || !is_cell_place(code, i)) {
            Py_CLEAR(frame->localsplus[i]);
        }
    }
}

/* Takes the reference. */
static inline void traced_frame_push(PyObject *frame_object, PyObject *item)
{
    InterpreterFrame *frame = ((PyFrameObject *)frame_object)->f_frame;
    frame->localsplus[frame->stacktop++] = item;
}

/* The number of parameters of a frame's function, `*args` included. */
static inline Py_ssize_t frame_parameters(PyFrameObject *frame_object)
{
    const PyCodeObject *code = frame_object->f_frame->f_code;
    return code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0);
}

/* Borrowed: what such a parameter holds at the end of the frame, or now; NULL: nothing. */
static inline PyObject *frame_parameter(PyFrameObject *frame_object, Py_ssize_t place)
{
    PyObject *item = frame_object->f_frame->localsplus[place];
    return item != NULL && PyCell_Check(item) ? PyCell_GET(item) : item;
}

/* Borrowed: the state at the frame's first instruction. There are no cells yet, and no free variables. */
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

/* A frame of a script, or of a cell of a notebook, whose variables are its globals. */
static inline int frame_is_top_level(const InterpreterFrame *frame)
{
    const int flags = frame->f_code->co_flags;
    return (flags & (CO_OPTIMIZED | CO_NEWLOCALS | NOT_A_PLAIN_FUNCTION)) == 0
           && frame->owner == FRAME_OWNED_BY_THREAD && frame->f_locals == frame->f_globals
           && PyDict_CheckExact(frame->f_globals) && frame->f_code->co_nlocalsplus == 0;
}

static inline int code_nlocalsplus(const PyCodeObject *code)
{
    return code->co_nlocalsplus;
}

/* Whether this thread has a trace or profile function, or one of them runs now. */
static inline int thread_is_traced(const PyThreadState *tstate)
{
    return tstate->cframe->use_tracing | tstate->tracing;
}

/* Exchanges the trace function of this thread, and the object that is passed to it. The call of a trace
 * function is the place for it: behind that the evaluator looks which one is set. */
static inline void thread_exchange_tracer(PyThreadState *tstate, Py_tracefunc *tracer, PyObject **object)
{
    const Py_tracefunc set = tstate->c_tracefunc;
    PyObject *passed = tstate->c_traceobj;
    tstate->c_tracefunc = *tracer;
    tstate->c_traceobj = *object;
    *tracer = set;
    *object = passed;
}

/* The next `levels` calls of this thread do not count for its recursion limit. A negative number takes them
 * back. */
static inline void thread_add_recursion_room(PyThreadState *tstate, int levels)
{
    tstate->recursion_remaining += levels;
}

/* For a frame that has returned, or has not begun, and is not cleared yet: drops what it holds, unless
 * somebody can still see its locals. The frame's own reference to its object (a log of the stack makes one)
 * shows them to nobody. */
static inline void frame_release_locals(InterpreterFrame *frame)
{
    if (frame->frame_obj != NULL && Py_REFCNT(frame->frame_obj) > 1) {
        return;
    }
    Py_CLEAR(frame->f_locals); /* a copy of them, if somebody asked for one */
    for (int i = 0; i < frame->f_code->co_nlocalsplus; i++) {
        Py_CLEAR(frame->localsplus[i]);
    }
}

/* The frame will run `code` from its start. The frame has not begun: it holds only its first locals, and they
 * become the first parameters of `code`. The last `nslots` parameters are `slots` (borrowed). Returns 1, or 0
 * with nothing changed if the frame's memory can't hold the new code. */
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

/* --- the evaluator ----------------------------------------------------------------------------------- */

typedef _PyFrameEvalFunction Evaluator;

#define CPYTHON_EVALUATOR _PyEval_EvalFrameDefault

static inline Evaluator evaluator_of(PyInterpreterState *interpreter)
{
    return _PyInterpreterState_GetEvalFrameFunc(interpreter);
}

static inline void set_evaluator(PyInterpreterState *interpreter, Evaluator evaluator)
{
    _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluator);
}

static inline int interpreter_is_finalizing(void)
{
    return _Py_IsFinalizing();
}

/* --- functions and code objects ---------------------------------------------------------------------- */

/* The evaluator's inline caches no longer know the function. */
static inline void function_forget_version(PyFunctionObject *function)
{
    function->func_version = 0;
}

/* An index for `code_extra`, or -1. `release` gets the pointer of a code object that dies. */
static inline Py_ssize_t request_code_extra(freefunc release)
{
    return _PyEval_RequestCodeExtraIndex(release);
}

/* NULL if the code object has none. */
static inline void *code_extra(PyCodeObject *code, Py_ssize_t index)
{
    void *extra = NULL;
    /* This fails only for an object that is no code, or for an index that nobody requested. */
    _PyCode_GetExtra((PyObject *)code, index, &extra);
    return extra;
}

static inline int set_code_extra(PyCodeObject *code, Py_ssize_t index, void *extra)
{
    return _PyCode_SetExtra((PyObject *)code, index, extra);
}

/* --- types ------------------------------------------------------------------------------------------- */

/* Whether `type_version` names one state of one type. */
static inline int has_type_version(const PyTypeObject *type)
{
    return (type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG) != 0;
}

static inline unsigned int type_version(const PyTypeObject *type)
{
    return type->tp_version_tag;
}

#endif
