/* Loops of a script that ran before its block began. Nothing can move such a frame: its evaluator is
 * CPython's own. But the iterator of a `for` loop lies in its memory.
 *
 * In:  the frame of the script, and who is asked at each of its lines.
 * Out: in place of the iterator a `RestOfLoop`, whose next item is the whole rest of the loop.
 *
 *     with enable():
 *         for x in xs: step(x)     ->     one turn, then a function runs the others: it has begun in the
 * block
 *
 * The lines are seen by a trace function in C. It is set while the script itself runs, not in what it calls,
 * and for so many lines: a `while` loop has no iterator. */

#include "frame/running_loops.h"

#include <structmember.h>

enum { MOST_LINES = 1000 };

/* --- the rest of a loop ------------------------------------------------------------------------------ */

typedef struct {
    PyObject_HEAD
    PyObject *function; /* runs the rest; NULL: it has */
    PyObject *iterator;
    Py_ssize_t below; /* items below the iterator, for which the function has parameters, too */
} RestOfLoop;

static PyTypeObject RestOfLoop_Type;

static PyObject *rest_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *function, *iterator;
    Py_ssize_t below;
    if (!PyArg_ParseTuple(args, "OOn:RestOfLoop", &function, &iterator, &below)) {
        return NULL;
    }
    if (!PyCallable_Check(function) || below < 0) {
        return PyErr_Format(PyExc_ValueError, "RestOfLoop: no function for %zd items below", below);
    }
    RestOfLoop *self = (RestOfLoop *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->function = Py_NewRef(function);
        self->iterator = Py_NewRef(iterator);
        self->below = below;
    }
    return (PyObject *)self;
}

/* Ends the loop of the frame: without an exception there is no next item. */
static PyObject *rest_next(RestOfLoop *self)
{
    if (self->function == NULL) {
        return NULL;
    }
    PyObject *function = self->function, *args[self->below + 1];
    for (Py_ssize_t i = 0; i < self->below; i++) {
        args[i] = Py_NewRef(Py_None);
    }
    args[self->below] = self->iterator;
    self->function = self->iterator = NULL;
    PyObject *value = call_handing_over(function, args, self->below + 1);
    Py_DECREF(function);
    Py_XDECREF(value);
    return NULL;
}

static int rest_traverse(RestOfLoop *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->iterator);
    return 0;
}

static int rest_clear(RestOfLoop *self)
{
    Py_CLEAR(self->function);
    Py_CLEAR(self->iterator);
    return 0;
}

static void rest_dealloc(RestOfLoop *self)
{
    PyObject_GC_UnTrack(self);
    rest_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyTypeObject RestOfLoop_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.RestOfLoop",
    .tp_doc =
        "RestOfLoop(function, iterator, below): an iterator without items. Asked for the first, it calls "
        "function(*(None,) * below, iterator).",
    .tp_basicsize = sizeof(RestOfLoop),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = rest_new,
    .tp_dealloc = (destructor)rest_dealloc,
    .tp_traverse = (traverseproc)rest_traverse,
    .tp_clear = (inquiry)rest_clear,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = (iternextfunc)rest_next,
};

/* --- the frame that is followed ---------------------------------------------------------------------- */

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
}

static int at_event(PyObject *ignored, PyFrameObject *frame, int what, PyObject *arg)
{
    ThreadHook *hook = thread_hook;
    if (hook == NULL || (PyObject *)frame != hook->followed || hook->suspended) {
        return 0;
    }
    if (what == PyTrace_RETURN || hook->lines >= MOST_LINES) {
        stop_following(PyThreadState_Get(), hook);
        return 0;
    }
    if (what != PyTrace_LINE) {
        return 0;
    }
    hook->lines++;
    PyObject *on_line = Py_NewRef(hook->on_line);
    begin_callback(hook);
    PyObject *answer = PyObject_CallOneArg(on_line, (PyObject *)frame);
    end_callback(hook);
    Py_DECREF(on_line);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
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

/* follow_loops(frame, on_line) -> whether the frame is followed from now on; follow_loops(None, None) ends
 * it. */
static PyObject *follow_loops(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 2 || (args[0] != Py_None && (!PyFrame_Check(args[0]) || !PyCallable_Check(args[1])))) {
        PyErr_SetString(PyExc_TypeError, "follow_loops: expected a frame and a callable, or None and None");
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
    if (args[0] == Py_None || tstate->c_tracefunc != NULL || tstate->c_profilefunc != NULL) {
        Py_RETURN_FALSE;
    }
    hook->followed = Py_NewRef(args[0]);
    hook->on_line = Py_NewRef(args[1]);
    hook->lines = 0;
    hook->follows = FOLLOWS;
    trace(tstate);
    Py_RETURN_TRUE;
}

/* take_iterator(frame, place, rest) */
static PyObject *take_iterator(PyObject *module, PyObject *args)
{
    PyObject *frame, *rest;
    Py_ssize_t place;
    if (!PyArg_ParseTuple(args, "O!nO!:take_iterator", &PyFrame_Type, &frame, &place, &RestOfLoop_Type,
                          &rest)) {
        return NULL;
    }
    if (!frame_set_stack_item(frame, place, rest)) {
        return PyErr_Format(PyExc_ValueError, "take_iterator: the frame has no item at place %zd", place);
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"follow_loops", (PyCFunction)(void (*)(void))follow_loops, METH_FASTCALL,
     "follow_loops(frame, on_line): on_line(frame) is called at each line that this frame of this thread "
     "begins, until it returns, or follow_loops(None, None). False where somebody else traces, or where the "
     "frame is followed already."},
    {"take_iterator", take_iterator, METH_VARARGS,
     "take_iterator(frame, place, rest): a RestOfLoop in place of the iterator that lies there on the stack. "
     "The caller knows that it is the iterator of a loop in which the frame is."},
    {NULL, NULL, 0, NULL},
};

int init_running_loops(PyObject *module)
{
    const int failed = PyType_Ready(&RestOfLoop_Type) < 0 || PyModule_AddType(module, &RestOfLoop_Type) < 0;
    return failed ? -1 : PyModule_AddFunctions(module, functions);
}
