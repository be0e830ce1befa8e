/* Frames that ran before their block began: what is left of one goes on as a function in the block.
 *
 * In:  the frame in which a block begins, and who is asked where it begins a turn of a loop.
 * Out: the frame ends there, with the value of a function that does all the rest.
 *
 *     def main():
 *         with enable():
 *             for x in xs: step(x)     ->     main returns rest(exit, iterator, total)
 *         return total
 *
 * A function that begins in the block is hot or cold like any other, and can leave its loops (turns.c). A
 * frame that runs already can't: its evaluator keeps the instruction pointer and the stack in variables of
 * its own. But at each line it writes them to the frame, calls the trace function of the thread, and reads
 * them anew, since debuggers move frames to other lines. So the trace function here, in C,
 *
 *   1. moves what the frame holds to the arguments of the function: no value lives longer than before;
 *   2. calls the function as if nobody traced, as `sys.call_tracing` does, and as if the caller of the frame
 *      did: it stands in its place. It is a resume function: the code of the frame from there on, with its
 *      handlers, its `with` blocks and its `return`;
 *   3. moves the frame to a `return` of its code, with the value of the function on the stack.
 *
 * If the function raises, the trace function raises the same when the frame returns: there no handler of the
 * frame sees it. (They have seen it, in the function.)
 *
 * The trace function is set while the frame itself runs, not in what it calls, and for so many lines: a block
 * may have no loop that turns. */

#include "frame/running_loops.h"

#include "frame/continuation.h"
#include "frame/worked_time.h"

enum { MOST_LINES = 1000 };

static int at_event(PyObject *ignored, PyFrameObject *frame, int what, PyObject *arg);

static int traces(const PyThreadState *tstate)
{
    return tstate->c_tracefunc == at_event;
}

static void trace(PyThreadState *tstate)
{
    if (tstate->c_tracefunc == NULL) {
        PyEval_SetTrace(at_event, NULL);
    }
}

static void stop_tracing(PyThreadState *tstate)
{
    if (traces(tstate)) {
        PyEval_SetTrace(NULL, NULL);
    }
}

static void stop_following(PyThreadState *tstate, ThreadHook *hook)
{
    hook->follows = FOLLOWS_NOTHING;
    stop_tracing(tstate);
    Py_CLEAR(hook->followed);
    Py_CLEAR(hook->on_line);
    Py_CLEAR(hook->offsets);
}

/* --- an exception that no handler of the frame sees --------------------------------------------------- */

/* Takes the exception that is set: the frame raises it when it returns. */
static void raise_at_return(PyThreadState *tstate, ThreadHook *hook, PyObject *frame)
{
    PyObject *type, *exception, *traceback;
    PyErr_Fetch(&type, &exception, &traceback);
    PyErr_NormalizeException(&type, &exception, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(exception, traceback);
    }
    Py_DECREF(type);
    Py_XDECREF(traceback);
    hook->raised = exception;
    Py_XSETREF(hook->followed, Py_NewRef(frame));
    hook->follows = FOLLOWS_TO_RAISE;
    hook->traced_by = at_event;
    hook->traced_for = NULL;
    thread_exchange_tracer(tstate, &hook->traced_by, &hook->traced_for);
}

static void raise_now(PyThreadState *tstate, ThreadHook *hook)
{
    PyObject *exception = hook->raised;
    hook->raised = NULL;
    hook->follows = FOLLOWS_NOTHING;
    thread_exchange_tracer(tstate, &hook->traced_by, &hook->traced_for);
    Py_CLEAR(hook->followed);
    PyErr_Restore(Py_NewRef(Py_TYPE(exception)), exception, PyException_GetTraceback(exception));
}

/* --- the rest of the frame ---------------------------------------------------------------------------- */

/* Where the frame ends, and what becomes of what it holds. */
typedef struct {
    PyObject *function;
    PyObject *places; /* a tuple: that of each argument */
    Py_ssize_t end;   /* the offset of a `return` */
} Rest;

/* Reads an answer of `on_line`. 0: something else lies on the stack, too. -1: an exception. */
static int read_rest(PyObject *answer, PyObject *frame, Rest *rest)
{
    if (!PyTuple_Check(answer)
        || !PyArg_ParseTuple(answer, "OO!n", &rest->function, &PyTuple_Type, &rest->places, &rest->end)) {
        PyErr_SetString(PyExc_TypeError, "on_line must return None or (function, places, offset)");
        return -1;
    }
    PyCodeObject *code = PyFrame_GetCode((PyFrameObject *)frame);
    const int variables = code_nlocalsplus(code);
    int fits = PyCallable_Check(rest->function) && code_returns_at(code, rest->end);
    Py_DECREF(code);
    Py_ssize_t on_stack = traced_frame_size(frame) - variables;
    for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(rest->places); i++) {
        const Py_ssize_t place = PyLong_AsSsize_t(PyTuple_GET_ITEM(rest->places, i));
        on_stack -= place >= variables;
        fits = place >= 0 && place < traced_frame_size(frame);
    }
    if (!fits && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "on_line: the frame can't end there, or has no such places");
    }
    return !fits ? -1 : on_stack == 0;
}

/* The value of the frame, or NULL with an exception of the function. */
static PyObject *run_rest(PyThreadState *tstate, PyObject *frame, const Rest *rest)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(rest->places);
    PyObject *args[count + 1];
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = traced_frame_take(frame, PyLong_AsSsize_t(PyTuple_GET_ITEM(rest->places, i)));
        args[i] = item == NULL ? Py_NewRef(Py_None) : item;
    }
    traced_frame_empty(frame, rest->end);
    InterpreterFrame *emptied = thread_frame(tstate);
    PyThreadState_LeaveTracing(tstate);
    thread_add_recursion_room(tstate, 1);
    thread_set_frame(tstate, frame_caller(emptied));
    PyObject *value = run_continuations(call_handing_over(rest->function, args, count));
    thread_set_frame(tstate, emptied);
    thread_add_recursion_room(tstate, -1);
    PyThreadState_EnterTracing(tstate);
    return value;
}

/* 0, or -1 with an exception, and nothing has changed. */
static int end_frame(PyThreadState *tstate, ThreadHook *hook, PyObject *frame, PyObject *answer)
{
    Rest rest;
    const int fits = read_rest(answer, frame, &rest);
    if (fits <= 0) {
        return fits;
    }
    Py_INCREF(frame);
    stop_following(tstate, hook);
    PyObject *value = run_rest(tstate, frame, &rest);
    if (value == NULL) {
        raise_at_return(tstate, hook, frame);
    }
    traced_frame_push(frame, value == NULL ? Py_NewRef(Py_None) : value);
    Py_DECREF(frame);
    return 0;
}

/* --- the frame that is followed ----------------------------------------------------------------------- */

/* Whether the frame stands at one of the offsets that `on_line` asks for, and the block has taken so long.
 * -1: an exception. */
static int is_waited_for(const ThreadHook *hook, PyFrameObject *frame)
{
    PyObject *offset = PyLong_FromLong(PyFrame_GetLasti(frame));
    const int found = offset == NULL ? -1 : PySet_Contains(hook->offsets, offset);
    Py_XDECREF(offset);
    return found > 0 ? worked_ns() >= hook->from_ns : found;
}

static int at_line(PyThreadState *tstate, ThreadHook *hook, PyObject *frame)
{
    PyObject *on_line = Py_NewRef(hook->on_line);
    begin_callback(hook);
    PyObject *answer = PyObject_CallOneArg(on_line, frame);
    end_callback(hook);
    Py_DECREF(on_line);
    const int failed = answer == NULL || (answer != Py_None && end_frame(tstate, hook, frame, answer) < 0);
    Py_XDECREF(answer);
    return failed ? -1 : 0;
}

static int at_event(PyObject *ignored, PyFrameObject *frame, int what, PyObject *arg)
{
    PyThreadState *tstate = PyThreadState_Get();
    ThreadHook *hook = thread_hook;
    if (hook == NULL || (PyObject *)frame != hook->followed || hook->suspended) {
        return 0;
    }
    if (hook->follows == FOLLOWS_TO_RAISE) {
        const int returns = what == PyTrace_RETURN;
        if (returns) {
            raise_now(tstate, hook);
        }
        return returns ? -1 : 0;
    }
    /* who reads the variables of the frame would find them in another one */
    if (what == PyTrace_RETURN || hook->lines >= MOST_LINES || hook->readers != hook->readers_before) {
        stop_following(tstate, hook);
        return 0;
    }
    if (what != PyTrace_LINE) {
        return 0;
    }
    hook->lines++;
    const int asks = is_waited_for(hook, frame);
    return asks <= 0 ? asks : at_line(tstate, hook, (PyObject *)frame);
}

PyObject *eval_below_followed(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook, int throwflag)
{
    hook->follows = FOLLOWS_LATER;
    const int traced = traces(tstate);
    stop_tracing(tstate);
    PyObject *value = eval_frame(tstate, frame, throwflag);
    if (hook->follows == FOLLOWS_LATER && traced) { /* the block has not ended, nor has another begun */
        hook->follows = FOLLOWS;
        trace(tstate);
    }
    return value;
}

/* follow_frame(frame, on_line, offsets, least_ns) -> whether the frame is followed from now on. */
static PyObject *follow_frame(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 4 || !PyFrame_Check(args[0]) || !PyCallable_Check(args[1]) || !PyAnySet_Check(args[2])) {
        PyErr_SetString(PyExc_TypeError, "follow_frame: expected a frame, a callable, a set and a time");
        return NULL;
    }
    const long long least_ns = PyLong_AsLongLong(args[3]);
    if (least_ns == -1 && PyErr_Occurred()) {
        return NULL;
    }
    PyThreadState *tstate = PyThreadState_Get();
    ThreadHook *hook = thread_hook;
    if (hook == NULL || hook->followed == args[0]) {
        Py_RETURN_FALSE;
    }
    if (hook->followed != NULL) {
        stop_following(tstate, hook);
    }
    if (tstate->c_tracefunc != NULL || tstate->c_profilefunc != NULL || !frame_runs_own_code(args[0])) {
        Py_RETURN_FALSE;
    }
    hook->followed = Py_NewRef(args[0]);
    hook->on_line = Py_NewRef(args[1]);
    hook->offsets = Py_NewRef(args[2]);
    hook->from_ns = worked_ns() + least_ns;
    hook->lines = 0;
    hook->readers_before = hook->readers;
    hook->follows = FOLLOWS;
    trace(tstate);
    Py_RETURN_TRUE;
}

static PyObject *follow_nothing(PyObject *module, PyObject *ignored)
{
    if (thread_hook != NULL && thread_hook->followed != NULL) {
        stop_following(PyThreadState_Get(), thread_hook);
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"follow_frame", (PyCFunction)(void (*)(void))follow_frame, METH_FASTCALL,
     "follow_frame(frame, on_line, offsets, least_ns) -> bool: once the thread has worked for least_ns more, "
     "on_line(frame) is called where this frame of this thread begins a line at one of the offsets, until it "
     "returns, or follow_nothing(). If it returns (function, places, offset), not None, the frame ends: what "
     "lies at these places of its locals and stack are the arguments of the function, whose value or "
     "exception is that of the frame. offset: of a return in its code. False where somebody else traces, "
     "where the frame is followed already, or does not run the code of its function."},
    {"follow_nothing", follow_nothing, METH_NOARGS,
     "follow_nothing(): no frame of this thread is followed from now on."},
    {NULL, NULL, 0, NULL},
};

int init_running_loops(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
