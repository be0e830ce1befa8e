/* _capture.SizedGraph: the graph for the ints among the arguments.
 *
 * In:  arguments of a graph with symbolic sizes; those at `positions` are ints.
 * Out: what the graph for these ints returns.
 *
 *     sized = SizedGraph((0,), 64, prepare)
 *     sized(7, x[7])     ->     prepare(7, x)(7, x)
 *     sized(7, y[7])     ->     the same graph, found by 7
 *
 * At the first call with new ints, one of the plan templates that were added makes the graph, or
 * `prepare(*args)` gives it. `limit` graphs are kept, most recently used first.
 */
#include "capture_native.h"

#include <stdint.h>
#include <string.h>
#include <structmember.h>

#include "graph/plan_template.h"

#define MAX_KEYS 4096 /* they lie on the stack during a call */
#define MAX_TEMPLATES 8

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *prepare;
    Py_ssize_t nkeys, limit, count;
    Py_ssize_t *positions;
    int64_t *keys;     /* nkeys for each graph */
    PyObject **graphs; /* strong references */
    Py_ssize_t ntemplates;
    PyObject *templates[MAX_TEMPLATES]; /* the newest first */
} SizedGraph;

/* 1 and the ints. 0 where an argument is no int of 64 bits: then the graph is not kept. */
static int read_key(const SizedGraph *self, PyObject *const *args, Py_ssize_t nargs, int64_t *key)
{
    for (Py_ssize_t i = 0; i < self->nkeys; i++) {
        int overflow = 0;
        if (self->positions[i] >= nargs || !PyLong_CheckExact(args[self->positions[i]])) {
            return 0;
        }
        key[i] = PyLong_AsLongLongAndOverflow(args[self->positions[i]], &overflow);
        if (overflow) {
            return 0;
        }
    }
    return 1;
}

/* Moves place `from` to the front. */
static void to_front(SizedGraph *self, Py_ssize_t from)
{
    size_t width = (size_t)self->nkeys * sizeof(int64_t);
    int64_t key[self->nkeys];
    PyObject *graph = self->graphs[from];
    memcpy(key, self->keys + from * self->nkeys, width);
    memmove(self->keys + self->nkeys, self->keys, (size_t)from * width);
    memmove(self->graphs + 1, self->graphs, (size_t)from * sizeof(PyObject *));
    memcpy(self->keys, key, width);
    self->graphs[0] = graph;
}

/* A new reference, or NULL without an exception. */
static PyObject *find(SizedGraph *self, const int64_t *key)
{
    for (Py_ssize_t i = 0; i < self->count; i++) {
        if (memcmp(self->keys + i * self->nkeys, key, (size_t)self->nkeys * sizeof(int64_t)) == 0) {
            if (i > 0) {
                to_front(self, i);
            }
            return Py_NewRef(self->graphs[0]);
        }
    }
    return NULL;
}

/* Keeps `graph` at the front. Where there is no room, the least recently used one goes. */
static void keep(SizedGraph *self, const int64_t *key, PyObject *graph)
{
    PyObject *dropped = NULL;
    if (self->count == self->limit) {
        dropped = self->graphs[self->count - 1];
    } else {
        self->count++;
    }
    Py_ssize_t last = self->count - 1;
    memcpy(self->keys + last * self->nkeys, key, (size_t)self->nkeys * sizeof(int64_t));
    self->graphs[last] = Py_NewRef(graph);
    to_front(self, last);
    Py_XDECREF(dropped); /* may run code, and that code finds the table whole */
}

/* A new reference to a graph that a template makes. NULL without an exception where none does, or with one.
 */
static PyObject *from_template(SizedGraph *self, const int64_t *key)
{
    for (Py_ssize_t i = 0; i < self->ntemplates; i++) {
        PyObject *template =
            Py_NewRef(self->templates[i]); /* garbage collection may run code that drops it */
        PyObject *graph = plan_template_graph(template, key);
        Py_DECREF(template);
        if (graph != Py_None) {
            return graph;
        }
        Py_DECREF(graph);
    }
    return NULL;
}

static PyObject *call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    SizedGraph *self = (SizedGraph *)object;
    int64_t key[self->nkeys];
    int keyed = read_key(self, args, PyVectorcall_NARGS(nargsf), key);
    PyObject *graph = keyed ? find(self, key) : NULL;
    if (graph == NULL && keyed && (graph = from_template(self, key)) != NULL) {
        keep(self, key, graph);
    }
    if (graph == NULL && PyErr_Occurred()) {
        return NULL;
    }
    if (graph == NULL) {
        graph = PyObject_Vectorcall(self->prepare, args, nargsf & ~PY_VECTORCALL_ARGUMENTS_OFFSET, kwnames);
        if (graph == NULL) {
            return NULL;
        }
        if (keyed) {
            keep(self, key, graph);
        }
    }
    PyObject *result = PyObject_Vectorcall(graph, args, nargsf, kwnames);
    Py_DECREF(graph);
    return result;
}

static PyObject *add_template(SizedGraph *self, PyObject *template)
{
    if (!plan_template_check(template) || plan_template_ninputs(template) != self->nkeys) {
        return PyErr_Format(PyExc_TypeError, "expected a PlanTemplate of %zd ints, got %R", self->nkeys,
                            template);
    }
    PyObject *dropped = NULL;
    if (self->ntemplates == MAX_TEMPLATES) {
        dropped = self->templates[--self->ntemplates];
    }
    memmove(self->templates + 1, self->templates, (size_t)self->ntemplates * sizeof(PyObject *));
    self->templates[0] = Py_NewRef(template);
    self->ntemplates++;
    Py_XDECREF(dropped);
    Py_RETURN_NONE;
}

/* --- the type ---------------------------------------------------------------------------------------- */

static int read_positions(SizedGraph *self, PyObject *positions)
{
    self->nkeys = PyTuple_GET_SIZE(positions);
    if (self->nkeys < 1 || self->nkeys > MAX_KEYS) {
        PyErr_Format(PyExc_ValueError, "a sized graph takes 1 to %d ints, got %zd", MAX_KEYS, self->nkeys);
        return -1;
    }
    self->positions = PyMem_New(Py_ssize_t, (size_t)self->nkeys);
    if (self->positions == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < self->nkeys; i++) {
        self->positions[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(positions, i));
        if (self->positions[i] < 0) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_ValueError, "a position is at least 0, got %zd", self->positions[i]);
            }
            return -1;
        }
    }
    return 0;
}

static PyObject *sized_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *positions, *prepare;
    Py_ssize_t limit;
    if (!PyArg_ParseTuple(args, "O!nO", &PyTuple_Type, &positions, &limit, &prepare)) {
        return NULL;
    }
    if (limit < 1 || !PyCallable_Check(prepare)) {
        PyErr_SetString(PyExc_ValueError,
                        "a sized graph keeps at least one graph, and `prepare` is callable");
        return NULL;
    }
    SizedGraph *self = (SizedGraph *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = call;
    self->prepare = Py_NewRef(prepare);
    self->limit = limit;
    if (read_positions(self, positions) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    self->keys = PyMem_New(int64_t, (size_t)(limit * self->nkeys));
    self->graphs = PyMem_New(PyObject *, (size_t)limit);
    if (self->keys == NULL || self->graphs == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static int sized_traverse(SizedGraph *self, visitproc visit, void *arg)
{
    Py_VISIT(self->prepare);
    for (Py_ssize_t i = 0; i < self->count; i++) {
        Py_VISIT(self->graphs[i]);
    }
    for (Py_ssize_t i = 0; i < self->ntemplates; i++) {
        Py_VISIT(self->templates[i]);
    }
    return 0;
}

/* `prepare` stays until the end: a graph that can be called needs it. The object that owns it breaks cycles
 * through it. */
static int sized_clear(SizedGraph *self)
{
    while (self->count > 0) {
        Py_DECREF(self->graphs[--self->count]);
    }
    while (self->ntemplates > 0) {
        Py_DECREF(self->templates[--self->ntemplates]);
    }
    return 0;
}

static void sized_dealloc(SizedGraph *self)
{
    PyObject_GC_UnTrack(self);
    sized_clear(self);
    Py_CLEAR(self->prepare);
    PyMem_Free(self->positions);
    PyMem_Free(self->keys);
    PyMem_Free(self->graphs);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef sized_members[] = {
    {"kept", T_PYSSIZET, offsetof(SizedGraph, count), READONLY, "how many graphs are kept"},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef sized_methods[] = {
    {"add_template", (PyCFunction)add_template, METH_O,
     "add_template(template): makes graphs for new ints from now on; the newest few are kept"},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject SizedGraphType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.SizedGraph",
    .tp_doc = PyDoc_STR("SizedGraph(positions, limit, prepare)\n\nCalls the graph that prepare(*args) gave "
                        "for the ints at `positions`."),
    .tp_basicsize = sizeof(SizedGraph),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = sized_new,
    .tp_dealloc = (destructor)sized_dealloc,
    .tp_traverse = (traverseproc)sized_traverse,
    .tp_clear = (inquiry)sized_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(SizedGraph, vectorcall),
    .tp_members = sized_members,
    .tp_methods = sized_methods,
};

int init_sized_graph(PyObject *module)
{
    return PyModule_AddType(module, &SizedGraphType);
}
