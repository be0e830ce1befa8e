/* Signals that wait while something of ours runs.
 *
 * In:  the begin and the end of a callback, of a graph, of an entry's code.
 * Out: no handler of a signal runs between them. Behind them the interpreter sees the signal.
 *
 *     try: y = f(x); log(y); ...     ->     Ctrl-C in the graph, or while a frame is captured: the
 *     except KeyboardInterrupt: ...         `except` of the program sees it, at the next place of the program
 *
 * A handler in Python may raise, between any two instructions. In code of ours the exception would leave a
 * state that is half changed, and would pass the handlers, the `finally` and the `with` blocks of the program
 * by: these stand in the frame that our code runs for, and its resume functions (capture/bytecode/resume.py).
 *
 * CPython runs handlers, and pending calls, on its main thread only. So they wait while it has none.
 *
 * What the program's own code does is no work of ours: the frames of its functions, and the instruction that
 * an entry's code runs for the program (capture/output/break_code.py), see signals. */

#include "frame/pyversion_objects.h"

#include "frame/held_signals.h"

#include "frame/code_entries.h"

InterpreterSignals interpreter_signals;

void look_for_signals(void)
{
    interpreter_look_for_signals();
}

static PyObject *eval_in(enum Signals signals, PyThreadState *tstate, InterpreterFrame *frame,
                         ThreadHook *hook, int throwflag)
{
    const enum Signals before = hook->signals;
    set_signals(hook, signals);
    PyObject *value = eval_frame(tstate, frame, throwflag);
    set_signals(hook, before);
    return value;
}

PyObject *eval_with_signals(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook, int throwflag)
{
    return eval_in(SIGNALS_ARE_THE_PROGRAMS, tstate, frame, hook, throwflag);
}

PyObject *eval_without_signals(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook,
                               int throwflag)
{
    return eval_in(SIGNALS_HELD, tstate, frame, hook, throwflag);
}

/* --- whose frame it is -------------------------------------------------------------------------------- */

static PyObject *file_owners; /* a tuple of (begin of a name, whose); NULL: nobody has told */

/* 1: the program's. The first one that fits counts. */
static int is_file_of_the_program(PyObject *name)
{
    for (Py_ssize_t i = 0; file_owners != NULL && i < PyTuple_GET_SIZE(file_owners); i++) {
        PyObject *begin = PyTuple_GET_ITEM(PyTuple_GET_ITEM(file_owners, i), 0);
        if (PyUnicode_Tailmatch(name, begin, 0, PyUnicode_GET_LENGTH(name), -1) > 0) {
            return PyTuple_GET_ITEM(PyTuple_GET_ITEM(file_owners, i), 1) == Py_True;
        }
    }
    return 1;
}

int is_frame_of_the_program(const InterpreterFrame *frame)
{
    PyCodeObject *code = frame_code(frame);
    CodeState *state = ensure_code_state(code);
    if (state == NULL) {
        PyErr_Clear(); /* no memory: the frame finds none, either */
        return 1;
    }
    if (!(state->marks & (CODE_OF_PROGRAM | CODE_OF_OTHERS))) {
        const int is_entry = (state->marks & CODE_OUTPUT) != 0;
        state->marks |=
            !is_entry && is_file_of_the_program(code->co_filename) ? CODE_OF_PROGRAM : CODE_OF_OTHERS;
    }
    return (state->marks & CODE_OF_PROGRAM) != 0;
}

/* --- what a handler has raised ------------------------------------------------------------------------ */

static int is_or_has(PyObject *value, PyObject *wanted)
{
    const Py_ssize_t count = value != NULL && PyTuple_CheckExact(value) ? PyTuple_GET_SIZE(value) : 0;
    int found = value == wanted;
    for (Py_ssize_t i = 0; !found && i < count; i++) {
        found = PyTuple_GET_ITEM(value, i) == wanted;
    }
    return found;
}

/* Whether the program has set a function of this code as the handler of the signal with that number. */
static int handles_signal(PyCodeObject *code, PyObject *number)
{
    PyObject *module = PyImport_ImportModule("_signal");
    PyObject *handler = module == NULL ? NULL : PyObject_CallMethod(module, "getsignal", "O", number);
    PyObject *its_code = handler == NULL ? NULL : PyObject_GetAttrString(handler, "__code__");
    const int found = its_code == (PyObject *)code;
    Py_XDECREF(module);
    Py_XDECREF(handler);
    Py_XDECREF(its_code);
    PyErr_Clear(); /* no number of a signal; a handler without code */
    return found;
}

/* The interpreter passes a handler the number of the signal and the frame that it interrupts, which is the
 * one that calls it. */
static int is_of_handler(PyFrameObject *frame)
{
    if (frame_parameters(frame) > 0) {
        PyObject *number = frame_parameter(frame, 0);
        PyCodeObject *code = PyFrame_GetCode(frame);
        const int handles = number != NULL && PyLong_Check(number) && handles_signal(code, number);
        Py_DECREF(code);
        if (handles) {
            return 1;
        }
    }
    PyFrameObject *caller = PyFrame_GetBack(frame);
    int found = 0;
    for (Py_ssize_t i = 0; caller != NULL && !found && i < frame_parameters(frame); i++) {
        found = is_or_has(frame_parameter(frame, i), (PyObject *)caller);
    }
    Py_XDECREF(caller);
    return found;
}

static int raised_by_handler(PyObject *exception)
{
    PyObject *first = PyException_GetTraceback(exception);
    int found = 0;
    for (PyObject *entry = first; entry != NULL && !found;
         entry = (PyObject *)((PyTracebackObject *)entry)->tb_next) {
        found = is_of_handler(((PyTracebackObject *)entry)->tb_frame);
    }
    Py_XDECREF(first);
    return found;
}

int handler_has_raised(void)
{
    PyObject *type, *exception, *traceback;
    PyErr_Fetch(&type, &exception, &traceback);
    PyErr_NormalizeException(&type, &exception, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(exception, traceback);
    }
    const int found = raised_by_handler(exception);
    PyErr_Restore(type, exception, traceback);
    return found;
}

/* --- an instruction of the program, in an entry's code ------------------------------------------------- */

/* The code reads an attribute: unlike a call, that does not look for signals. The program's next place for
 * that is its instruction, or this one (`handled`). */
static PyObject *name_seen, *name_handled, *name_held;

static int any_signal_waits(void)
{
    return *interpreter_signals.signals || *interpreter_signals.calls;
}

static PyObject *signals_getattro(PyObject *self, PyObject *name)
{
    ThreadHook *hook = thread_hook;
    if (name != name_seen && name != name_handled && name != name_held) {
        return PyObject_GenericGetAttr(self, name);
    }
    const enum Signals from = name == name_held ? SIGNALS_SEEN_BY_AN_ENTRY : SIGNALS_HELD;
    if (hook != NULL && hook->signals == from) {
        set_signals(hook, name == name_held ? SIGNALS_HELD : SIGNALS_SEEN_BY_AN_ENTRY);
        if (name == name_handled && any_signal_waits() && Py_MakePendingCalls() < 0) {
            return NULL;
        }
    }
    Py_RETURN_NONE;
}

static PyTypeObject Signals_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.Signals",
    .tp_doc =
        "Whether handlers of signals may run while the code of an entry runs: `seen` is read in front of an "
        "instruction of the program, and `held` behind it.",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_getattro = signals_getattro,
};

/* --- functions of the module -------------------------------------------------------------------------- */

static PyObject *set_file_owners(PyObject *module, PyObject *owners)
{
    int fits = PyTuple_CheckExact(owners);
    for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(owners); i++) {
        PyObject *pair = PyTuple_GET_ITEM(owners, i);
        fits = PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2
               && PyUnicode_CheckExact(PyTuple_GET_ITEM(pair, 0)) && PyBool_Check(PyTuple_GET_ITEM(pair, 1));
    }
    if (!fits) {
        PyErr_Format(PyExc_TypeError, "set_file_owners: expected a tuple of pairs (str, bool), not %R",
                     owners);
        return NULL;
    }
    Py_XSETREF(file_owners, Py_NewRef(owners));
    Py_RETURN_NONE;
}

static int raise_it(void *exception)
{
    PyObject *raised = exception;
    PyErr_Restore(Py_NewRef(Py_TYPE(raised)), raised, PyException_GetTraceback(raised));
    return -1;
}

static PyObject *raise_later(PyObject *module, PyObject *exception)
{
    if (!PyExceptionInstance_Check(exception)) {
        PyErr_Format(PyExc_TypeError, "raise_later: expected an exception, not %.200s",
                     Py_TYPE(exception)->tp_name);
        return NULL;
    }
    const int is_in_time = thread_hook != NULL && thread_hook->holds_signals;
    if (is_in_time && Py_AddPendingCall(raise_it, Py_NewRef(exception)) == 0) {
        Py_RETURN_TRUE;
    }
    if (is_in_time) { /* too many others wait */
        Py_DECREF(exception);
    }
    Py_RETURN_FALSE;
}

static PyObject *module_raised_by_handler(PyObject *module, PyObject *exception)
{
    return PyExceptionInstance_Check(exception)
               ? PyBool_FromLong(raised_by_handler(exception))
               : PyErr_Format(PyExc_TypeError, "raised_by_handler: expected an exception, not %.200s",
                              Py_TYPE(exception)->tp_name);
}

static PyMethodDef functions[] = {
    {"set_file_owners", set_file_owners, METH_O,
     "set_file_owners(((begin of a file's name, is_of_the_program), ...)): where a graph or an entry's code "
     "calls frames of files that are not the program's, signals wait. The first begin that fits counts."},
    {"raised_by_handler", module_raised_by_handler, METH_O,
     "raised_by_handler(exception) -> bool: whether the handler of a signal has raised it."},
    {"raise_later", raise_later, METH_O,
     "raise_later(exception) -> bool: where signals are held, the exception is raised at the program's next "
     "place that looks for signals. False: they are not held."},
    {NULL, NULL, 0, NULL},
};

int init_held_signals(PyObject *module)
{
    interpreter_signals = find_interpreter_signals();
    name_seen = PyUnicode_InternFromString("seen");
    name_handled = PyUnicode_InternFromString("handled");
    name_held = PyUnicode_InternFromString("held");
    if (name_seen == NULL || name_handled == NULL || name_held == NULL) {
        return -1;
    }
    PyObject *signals = PyType_Ready(&Signals_Type) < 0 ? NULL : PyObject_New(PyObject, &Signals_Type);
    if (signals == NULL || PyModule_AddObjectRef(module, "SIGNALS", signals) < 0) {
        Py_XDECREF(signals);
        return -1;
    }
    Py_DECREF(signals);
    return PyModule_AddFunctions(module, functions);
}
