/* _capture.ConvertedInputs: a graph that takes tensors, called with what the frame has.
 *
 * In:  the graph, and for some of its places a function that makes the tensor of the argument at that place.
 * Out: a callable.
 *
 *     ConvertedInputs(graph, ((1, from_float),), from_float)(x, 0.5)     ->     graph(x, from_float(0.5))
 *
 * `from_float` makes a 0-d float64 tensor of a number. For an exact float this file does it in C. */

#include "capture_native.h"
#include "tensors/tensor_access.h"

#include <structmember.h>

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *graph, *places, *from_float;
} ConvertedInputs;

enum { FEW = 32 };

static PyObject *tensor_of(double value)
{
    PyObject *tensor = tensor_new_strided(DTYPE_FLOAT64, 0, NULL, NULL);
    if (tensor != NULL) {
        *(double *)tensor_data_ptr(tensor) = value;
    }
    return tensor;
}

static PyObject *convert(const ConvertedInputs *self, PyObject *conversion, PyObject *value)
{
    if (conversion == self->from_float && PyFloat_CheckExact(value) && tensor_access_ready()) {
        return tensor_of(PyFloat_AS_DOUBLE(value));
    }
    return PyObject_CallOneArg(conversion, value);
}

/* `given` starts as the arguments. `made` has the references of the tensors that are made here. */
static PyObject *call_converted(const ConvertedInputs *self, PyObject **given, Py_ssize_t count,
                                PyObject **made)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->places); i++) {
        PyObject *pair = PyTuple_GET_ITEM(self->places, i);
        const Py_ssize_t place = PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 0));
        if (place < 0 || place >= count) {
            return PyErr_Format(PyExc_TypeError,
                                "the graph is called with %zd arguments, the one at %zd is missing", count,
                                place);
        }
        made[i] = given[place] = convert(self, PyTuple_GET_ITEM(pair, 1), given[place]);
        if (made[i] == NULL) {
            return NULL;
        }
    }
    return PyObject_Vectorcall(self->graph, given, (size_t)count, NULL);
}

static PyObject *converted_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf,
                                      PyObject *kwnames)
{
    const ConvertedInputs *self = (ConvertedInputs *)object;
    const Py_ssize_t count = PyVectorcall_NARGS(nargsf), nmade = PyTuple_GET_SIZE(self->places);
    if (kwnames != NULL && PyTuple_GET_SIZE(kwnames) != 0) {
        return PyErr_Format(PyExc_TypeError, "a graph takes no keyword arguments");
    }
    PyObject *few[FEW] = {NULL},
             **all = count + nmade <= FEW ? few : PyMem_Calloc((size_t)(count + nmade), sizeof(PyObject *));
    if (all == NULL) {
        return PyErr_NoMemory();
    }
    PyObject **made = all + count;
    for (Py_ssize_t i = 0; i < count; i++) {
        all[i] = args[i];
    }
    Py_INCREF(object); /* the graph may run code that drops it */
    PyObject *result = call_converted(self, all, count, made);
    for (Py_ssize_t i = 0; i < nmade; i++) {
        Py_XDECREF(made[i]);
    }
    Py_DECREF(object);
    if (all != few) {
        PyMem_Free(all);
    }
    return result;
}

static int check_places(PyObject *places)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(places); i++) {
        PyObject *pair = PyTuple_GET_ITEM(places, i);
        if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2 || !PyLong_Check(PyTuple_GET_ITEM(pair, 0))
            || !PyCallable_Check(PyTuple_GET_ITEM(pair, 1))) {
            PyErr_Format(PyExc_TypeError, "ConvertedInputs: expected pairs of a place and a callable, got %R",
                         pair);
            return -1;
        }
    }
    return 0;
}

static PyObject *converted_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"graph", "places", "from_float", NULL};
    PyObject *graph, *places, *from_float;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!O:ConvertedInputs", names, &graph, &PyTuple_Type,
                                     &places, &from_float)
        || check_places(places) < 0) {
        return NULL;
    }
    ConvertedInputs *self = (ConvertedInputs *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = converted_vectorcall;
        self->graph = Py_NewRef(graph);
        self->places = Py_NewRef(places);
        self->from_float = Py_NewRef(from_float);
    }
    return (PyObject *)self;
}

static int converted_traverse(ConvertedInputs *self, visitproc visit, void *arg)
{
    Py_VISIT(self->graph);
    Py_VISIT(self->places);
    Py_VISIT(self->from_float);
    return 0;
}

/* The places stay: a later call looks at them. */
static int converted_clear(ConvertedInputs *self)
{
    Py_XSETREF(self->graph, Py_NewRef(Py_None));
    return 0;
}

static void converted_dealloc(ConvertedInputs *self)
{
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->graph);
    Py_CLEAR(self->places);
    Py_CLEAR(self->from_float);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *get_may_fail(ConvertedInputs *self, void *closure)
{
    PyObject *answer = PyObject_GetAttrString(self->graph, "may_fail");
    if (answer == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        return Py_NewRef(Py_True);
    }
    return answer;
}

static PyMemberDef converted_members[] = {
    {"graph", T_OBJECT, offsetof(ConvertedInputs, graph), READONLY, "what is called with the tensors"},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef converted_getset[] = {
    {"may_fail", (getter)get_may_fail, NULL, "may a call of the graph raise? True where it does not say",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject ConvertedInputs_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.ConvertedInputs",
    .tp_doc = "ConvertedInputs(graph, places, from_float): a graph called with arguments that are converted "
              "at these places.",
    .tp_basicsize = sizeof(ConvertedInputs),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(ConvertedInputs, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = converted_new,
    .tp_dealloc = (destructor)converted_dealloc,
    .tp_traverse = (traverseproc)converted_traverse,
    .tp_clear = (inquiry)converted_clear,
    .tp_members = converted_members,
    .tp_getset = converted_getset,
};

int init_converted_inputs(PyObject *module)
{
    return PyModule_AddType(module, &ConvertedInputs_Type);
}
