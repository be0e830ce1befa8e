/* Continuations: a frame that was split at a graph break continues, and no stack grows.
 *
 * In:  the value that an entry's code returned.
 * Out: the value of the user's function.
 *
 *     code of f: ...; return Continuation(resume_f, (x, y))
 *     ->  f's frame ends, then the hook calls resume_f(x, y) */

#include "frame/continuation.h"
#include "frame/thread_hook.h"

#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *fn;
    PyObject *args; /* a tuple */
} Continuation;

static PyObject *continuation_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"fn", "args", NULL};
    PyObject *fn, *call_args;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!:Continuation", names, &fn, &PyTuple_Type,
                                     &call_args)) {
        return NULL;
    }
    if (!PyCallable_Check(fn)) {
        return PyErr_Format(PyExc_TypeError, "Continuation: fn must be callable, not %.200s",
                            Py_TYPE(fn)->tp_name);
    }
    Continuation *self = (Continuation *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->fn = Py_NewRef(fn);
        self->args = Py_NewRef(call_args);
    }
    return (PyObject *)self;
}

/* The call in compiled bytecode: both arguments are positional, and nothing parses them. */
static PyObject *continuation_vectorcall(PyObject *type, PyObject *const *args, size_t nargsf,
                                         PyObject *kwnames)
{
    const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (nargs != 2 || (kwnames != NULL && PyTuple_GET_SIZE(kwnames) != 0) || !PyTuple_CheckExact(args[1])
        || !PyCallable_Check(args[0])) {
        return _PyObject_MakeTpCall(PyThreadState_Get(), type, args, nargs, kwnames);
    }
    Continuation *self = PyObject_GC_New(Continuation, &Continuation_Type);
    if (self != NULL) {
        self->fn = Py_NewRef(args[0]);
        self->args = Py_NewRef(args[1]);
        PyObject_GC_Track(self);
    }
    return (PyObject *)self;
}

static int continuation_traverse(Continuation *self, visitproc visit, void *arg)
{
    Py_VISIT(self->fn);
    Py_VISIT(self->args);
    return 0;
}

static int continuation_clear(Continuation *self)
{
    Py_CLEAR(self->fn);
    Py_CLEAR(self->args);
    return 0;
}

static void continuation_dealloc(Continuation *self)
{
    PyObject_GC_UnTrack(self);
    continuation_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *continuation_repr(Continuation *self)
{
    return PyUnicode_FromFormat("Continuation(%R, %R)", self->fn, self->args);
}

static PyMemberDef continuation_members[] = {
    {"fn", T_OBJECT, offsetof(Continuation, fn), READONLY, "what to call next"},
    {"args", T_OBJECT, offsetof(Continuation, args), READONLY, "its positional arguments, a tuple"},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject Continuation_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.Continuation",
    .tp_doc = "Continuation(fn, args): the code of a broken frame returns it, to continue with fn(*args).",
    .tp_basicsize = sizeof(Continuation),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = continuation_new,
    .tp_vectorcall = continuation_vectorcall,
    .tp_dealloc = (destructor)continuation_dealloc,
    .tp_traverse = (traverseproc)continuation_traverse,
    .tp_clear = (inquiry)continuation_clear,
    .tp_repr = (reprfunc)continuation_repr,
    .tp_members = continuation_members,
};

/* fn(*args). Takes over the reference. */
static PyObject *call_and_let_go(Continuation *continuation)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(continuation->args);
    PyObject *fn = Py_NewRef(continuation->fn);
    PyObject *args[count + 1];
    for (Py_ssize_t i = 0; i < count; i++) {
        args[i] = Py_NewRef(PyTuple_GET_ITEM(continuation->args, i));
    }
    Py_DECREF(continuation);
    PyObject *value = call_handing_over(fn, args, count);
    Py_DECREF(fn);
    return value;
}

PyObject *run_continuations(PyObject *value)
{
    while (is_continuation(value)) {
        value = call_and_let_go((Continuation *)value);
    }
    return value;
}

static PyObject *module_run_continuations(PyObject *module, PyObject *value)
{
    return run_continuations(Py_NewRef(value));
}

static PyMethodDef functions[] = {
    {"run_continuations", module_run_continuations, METH_O,
     "run_continuations(value): call fn(*args) while the value is a Continuation; returns the last value."},
    {NULL, NULL, 0, NULL},
};

int init_continuation(PyObject *module)
{
    return PyModule_AddType(module, &Continuation_Type) < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
