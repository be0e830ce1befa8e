/* Frame: a snapshot of a frame before its first instruction, for the callback.
 *
 * In:  the interpreter's frame (a code object and a FrameState).
 * Out: an object with plain attributes.
 *
 *     f(1, k=2) of `def f(a, *, k): b = a`     ->     Frame.locals == (1, 2, _capture.NULL) */

#include "frame/frame.h"

#include "frame/pyversion.h"

#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *code;
    PyObject *function;
    PyObject *globals;
    PyObject *builtins;
    PyObject *locals;
    PyObject *failures;
} Frame;

static PyObject *unbound; /* _capture.NULL */

/* --- _capture.NULL ----------------------------------------------------------------------------------- */

static PyObject *unbound_repr(PyObject *self)
{
    return PyUnicode_FromString("_capture.NULL");
}

static PyObject *unbound_reduce(PyObject *self, PyObject *ignored)
{
    return PyUnicode_FromString("NULL"); /* pickle and copy use the name: there is one object */
}

static PyMethodDef unbound_methods[] = {
    {"__reduce__", unbound_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject Unbound_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.NullType",
    .tp_doc = "Type of _capture.NULL, which stands for an unbound local variable.",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_repr = unbound_repr,
    .tp_methods = unbound_methods,
};

/* --- Frame ------------------------------------------------------------------------------------------- */

static int frame_traverse(Frame *self, visitproc visit, void *arg)
{
    Py_VISIT(self->code);
    Py_VISIT(self->function);
    Py_VISIT(self->globals);
    Py_VISIT(self->builtins);
    Py_VISIT(self->locals);
    Py_VISIT(self->failures);
    return 0;
}

static int frame_clear(Frame *self)
{
    Py_CLEAR(self->code);
    Py_CLEAR(self->function);
    Py_CLEAR(self->globals);
    Py_CLEAR(self->builtins);
    Py_CLEAR(self->locals);
    Py_CLEAR(self->failures);
    return 0;
}

static void frame_dealloc(Frame *self)
{
    PyObject_GC_UnTrack(self);
    frame_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *frame_repr(Frame *self)
{
    return PyUnicode_FromFormat("<_capture.Frame of %R>", self->function);
}

static PyMemberDef frame_members[] = {
    {"code", T_OBJECT, offsetof(Frame, code), READONLY, "the code object"},
    {"function", T_OBJECT, offsetof(Frame, function), READONLY, "the function that was called"},
    {"globals", T_OBJECT, offsetof(Frame, globals), READONLY, "its global variables, a dict"},
    {"builtins", T_OBJECT, offsetof(Frame, builtins), READONLY, "its builtins, a dict"},
    {"locals", T_OBJECT, offsetof(Frame, locals), READONLY,
     "one item for each of co_nlocalsplus; NULL where unbound"},
    {"failures", T_OBJECT, offsetof(Frame, failures), READONLY,
     "(entry, index of the failed guard) for the entries tried"},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject Frame_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.Frame",
    .tp_doc = "A frame before its first instruction, for the callback.",
    .tp_basicsize = sizeof(Frame),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)frame_dealloc,
    .tp_traverse = (traverseproc)frame_traverse,
    .tp_clear = (inquiry)frame_clear,
    .tp_repr = (reprfunc)frame_repr,
    .tp_members = frame_members,
};

static PyObject *locals_tuple(const FrameState *state)
{
    PyObject *locals = PyTuple_New(state->nlocals);
    for (Py_ssize_t i = 0; locals != NULL && i < state->nlocals; i++) {
        PyObject *value = state->locals[i] == NULL ? unbound : state->locals[i];
        PyTuple_SET_ITEM(locals, i, Py_NewRef(value));
    }
    return locals;
}

PyObject *frame_snapshot(PyCodeObject *code, const FrameState *state, PyObject *failures)
{
    PyObject *locals = failures == NULL ? NULL : locals_tuple(state);
    Frame *self = locals == NULL ? NULL : PyObject_GC_New(Frame, &Frame_Type);
    if (self == NULL) {
        Py_XDECREF(locals);
        Py_XDECREF(failures);
        return NULL;
    }
    self->code = Py_NewRef(code);
    self->function = Py_NewRef(state->function);
    self->globals = Py_NewRef(state->globals);
    self->builtins = Py_NewRef(state->builtins);
    self->locals = locals;
    self->failures = failures;
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

/* --- a frame that runs ------------------------------------------------------------------------------- */

static PyObject *stack_item(PyObject *module, PyObject *args)
{
    PyObject *frame;
    Py_ssize_t place;
    if (!PyArg_ParseTuple(args, "O!n:stack_item", &PyFrame_Type, &frame, &place)) {
        return NULL;
    }
    PyObject *item = frame_stack_item(frame, place);
    if (item == NULL) {
        PyErr_Format(PyExc_ValueError, "stack_item: the frame has no item at place %zd", place);
        return NULL;
    }
    return Py_NewRef(item);
}

static PyObject *local_item(PyObject *module, PyObject *args)
{
    PyObject *frame;
    Py_ssize_t place;
    if (!PyArg_ParseTuple(args, "O!n:local_item", &PyFrame_Type, &frame, &place)) {
        return NULL;
    }
    PyObject *item = frame_local_item(frame, place);
    return Py_NewRef(item == NULL ? unbound : item);
}

static PyMethodDef methods[] = {
    {"stack_item", stack_item, METH_VARARGS,
     "stack_item(frame, place) -> what lies at that place of the stack of a frame that runs. "
     "The caller knows that something lies there."},
    {"local_item", local_item, METH_VARARGS,
     "local_item(frame, place) -> what the frame that runs holds at that place of its locals, or the cell "
     "there; NULL: nothing. Unlike f_locals it keeps nothing alive."},
    {NULL, NULL, 0, NULL},
};

int init_frame(PyObject *module)
{
    if (PyType_Ready(&Unbound_Type) < 0 || PyModule_AddType(module, &Frame_Type) < 0
        || PyModule_AddFunctions(module, methods) < 0) {
        return -1;
    }
    unbound = PyObject_New(PyObject, &Unbound_Type);
    return unbound == NULL ? -1 : PyModule_AddObjectRef(module, "NULL", unbound);
}
