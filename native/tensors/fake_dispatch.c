/* `__torch_dispatch__` of the modes that see fake tensors, for the one operator that must not fail.
 *
 * torch asks a fake tensor for its device (`prim.device`) at each step of autograd, inside of functions that
 * are `noexcept`: a KeyboardInterrupt or MemoryError that arrives there ends the process. Python may raise at
 * the entry of each of its functions. So the answer is given here; what is left of Python on this way is
 * torch's own search for a rule.
 *
 *     mode, prim.device, types, (fake,)    ->    meta inside of a kernel, else fake._fake_device
 *     mode, any other operator, ...        ->    the function in Python */

#include "capture_native.h"

#include <stddef.h>

typedef struct {
    PyObject_HEAD
    PyObject *device_operator; /* prim.device */
    PyObject *meta;            /* torch.device("meta") */
    PyObject *otherwise;       /* function(mode, operator, types, args, kwargs) */
    PyObject *owner;           /* name of the attribute of the mode that is the FakeMode, or None: itself */
    vectorcallfunc vectorcall;
} FakeDispatch;

static PyObject *in_kernel_invocation, *fake_device; /* interned names */

static PyObject *device_of(const FakeDispatch *self, PyObject *mode, PyObject *fake)
{
    PyObject *fake_mode = self->owner == Py_None ? Py_NewRef(mode) : PyObject_GetAttr(mode, self->owner);
    PyObject *inside = fake_mode == NULL ? NULL : PyObject_GetAttr(fake_mode, in_kernel_invocation);
    Py_XDECREF(fake_mode);
    if (inside == NULL) {
        return NULL;
    }
    const int is_inside = inside == Py_True;
    Py_DECREF(inside);
    return is_inside ? Py_NewRef(self->meta) : PyObject_GetAttr(fake, fake_device);
}

static PyObject *dispatch(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    const FakeDispatch *self = (const FakeDispatch *)object;
    if (PyVectorcall_NARGS(nargsf) >= 4 && args[1] == self->device_operator && PyTuple_CheckExact(args[3])
        && PyTuple_GET_SIZE(args[3]) == 1) {
        return device_of(self, args[0], PyTuple_GET_ITEM(args[3], 0));
    }
    return PyObject_Vectorcall(self->otherwise, args, nargsf, kwnames);
}

static PyObject *fake_dispatch_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"device_operator", "meta", "otherwise", "owner", NULL};
    PyObject *device_operator, *meta, *otherwise, *owner = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|O:FakeDispatch", names, &device_operator, &meta,
                                     &otherwise, &owner)) {
        return NULL;
    }
    FakeDispatch *self = (FakeDispatch *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->device_operator = Py_NewRef(device_operator);
        self->meta = Py_NewRef(meta);
        self->otherwise = Py_NewRef(otherwise);
        self->owner = Py_NewRef(owner);
        self->vectorcall = dispatch;
    }
    return (PyObject *)self;
}

static int fake_dispatch_traverse(PyObject *object, visitproc visit, void *arg)
{
    FakeDispatch *self = (FakeDispatch *)object;
    Py_VISIT(self->device_operator);
    Py_VISIT(self->meta);
    Py_VISIT(self->otherwise);
    Py_VISIT(self->owner);
    return 0;
}

static int fake_dispatch_clear(PyObject *object)
{
    FakeDispatch *self = (FakeDispatch *)object;
    Py_CLEAR(self->device_operator);
    Py_CLEAR(self->meta);
    Py_CLEAR(self->otherwise);
    Py_CLEAR(self->owner);
    return 0;
}

static void fake_dispatch_dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    fake_dispatch_clear(object);
    Py_TYPE(object)->tp_free(object);
}

/* As a function in a class: mode.__torch_dispatch__ is bound to the mode. */
static PyObject *fake_dispatch_get(PyObject *self, PyObject *mode, PyObject *type)
{
    (void)type;
    return mode == NULL || mode == Py_None ? Py_NewRef(self) : PyMethod_New(self, mode);
}

static PyTypeObject FakeDispatch_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.FakeDispatch",
    .tp_doc = "FakeDispatch(device_operator, meta, otherwise, owner=None): __torch_dispatch__ of a mode.",
    .tp_basicsize = sizeof(FakeDispatch),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(FakeDispatch, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = fake_dispatch_get,
    .tp_new = fake_dispatch_new,
    .tp_traverse = fake_dispatch_traverse,
    .tp_clear = fake_dispatch_clear,
    .tp_dealloc = fake_dispatch_dealloc,
};

int init_fake_dispatch(PyObject *module)
{
    in_kernel_invocation = PyUnicode_InternFromString("in_kernel_invocation");
    fake_device = PyUnicode_InternFromString("_fake_device");
    if (in_kernel_invocation == NULL || fake_device == NULL) {
        return -1;
    }
    return PyModule_AddType(module, &FakeDispatch_Type);
}
