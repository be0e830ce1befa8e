/* _capture.PlanTemplate: a launch plan whose sizes are open.
 *
 * In:  a CompiledGraph that was planned for some ints; how each word of its plan that depends on them is
 *      computed; conditions under which the plan is right for other ints (codegen/kernel/open_numbers.py
 *      records both).
 * Out: graph(*ints) -> the CompiledGraph for these ints, or None where a condition does not hold.
 *
 *     rows:       0: input 0   1: constant 8   2: row 0 * row 1
 *     open words: (17, 2)
 *     graph(5):   the plan with word 17 = 40; it takes some microseconds
 */
#include "graph/plan_template.h"

#include <string.h>
#include <structmember.h>

#include "capture_native.h"
#include "graph/compiled_graph.h"

/* Keep equal to codegen/kernel/open_numbers.py. */
enum { ROW_INPUT, ROW_CONSTANT, ROW_ADD, ROW_SUB, ROW_MUL, ROW_FLOORDIV, ROW_MOD, ROW_MAX };
enum { CHECK_LT, CHECK_LE, CHECK_EQ, CHECK_NE };

typedef struct {
    int64_t operation, left, right;
} Row;

typedef struct {
    int64_t place, row;
} OpenPlace;

typedef struct {
    PyObject_HEAD
    PyObject *first;                                         /* the CompiledGraph that the others are like */
    PyObject *rows, *conditions, *open_words, *open_objects; /* bytes */
    Py_ssize_t ninputs;
} PlanTemplate;

static PyTypeObject PlanTemplateType;

#define ITEMS(bytes, type) ((const type *)PyBytes_AS_STRING(bytes))
#define COUNT(bytes, type) (PyBytes_GET_SIZE(bytes) / (Py_ssize_t)sizeof(type))

/* --- numbers ----------------------------------------------------------------------------------------- */

/* 1, or 0 where the result does not fit into 64 bits. */
static int compute(const Row *row, const int64_t *key, const int64_t *values, int64_t *result)
{
    if (row->operation == ROW_INPUT) {
        *result = key[row->left];
        return 1;
    }
    if (row->operation == ROW_CONSTANT) {
        *result = row->left;
        return 1;
    }
    int64_t left = values[row->left], right = values[row->right];
    switch (row->operation) {
    case ROW_ADD:
        return !__builtin_add_overflow(left, right, result);
    case ROW_SUB:
        return !__builtin_sub_overflow(left, right, result);
    case ROW_MUL:
        return !__builtin_mul_overflow(left, right, result);
    case ROW_MAX:
        *result = left > right ? left : right;
        return 1;
    default: /* rounded down, as in Python */
        if (right == 0 || (right == -1 && left == INT64_MIN)) {
            return 0;
        }
        int64_t quotient = left / right, rest = left % right;
        int is_off = rest != 0 && (rest < 0) != (right < 0);
        *result = row->operation == ROW_FLOORDIV ? quotient - is_off : rest + (is_off ? right : 0);
        return 1;
    }
}

static int holds(const Row *condition, const int64_t *values)
{
    int64_t left = values[condition->left], right = values[condition->right];
    switch (condition->operation) {
    case CHECK_LT:
        return left < right;
    case CHECK_LE:
        return left <= right;
    case CHECK_EQ:
        return left == right;
    default:
        return left != right;
    }
}

static int compute_all(const PlanTemplate *self, const int64_t *key, int64_t *values)
{
    const Row *rows = ITEMS(self->rows, Row), *conditions = ITEMS(self->conditions, Row);
    for (Py_ssize_t i = 0; i < COUNT(self->rows, Row); i++) {
        if (!compute(&rows[i], key, values, &values[i])) {
            return 0;
        }
    }
    for (Py_ssize_t i = 0; i < COUNT(self->conditions, Row); i++) {
        if (!holds(&conditions[i], values)) {
            return 0;
        }
    }
    return 1;
}

/* --- the plan with these numbers --------------------------------------------------------------------- */

static PyObject *filled_words(const PlanTemplate *self, const int64_t *values)
{
    PyObject *words = ((CompiledGraph *)self->first)->words;
    PyObject *result = PyBytes_FromStringAndSize(PyBytes_AS_STRING(words), PyBytes_GET_SIZE(words));
    if (result != NULL) {
        const OpenPlace *open = ITEMS(self->open_words, OpenPlace);
        for (Py_ssize_t i = 0; i < COUNT(self->open_words, OpenPlace); i++) {
            ((int64_t *)PyBytes_AS_STRING(result))[open[i].place] = values[open[i].row];
        }
    }
    return result;
}

static PyObject *filled_objects(const PlanTemplate *self, const int64_t *values)
{
    PyObject *objects = ((CompiledGraph *)self->first)->objects;
    const OpenPlace *open = ITEMS(self->open_objects, OpenPlace);
    Py_ssize_t nopen = COUNT(self->open_objects, OpenPlace);
    if (nopen == 0) {
        return Py_NewRef(objects);
    }
    PyObject *result = PyTuple_New(PyTuple_GET_SIZE(objects));
    if (result == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(objects); i++) {
        PyTuple_SET_ITEM(result, i, Py_NewRef(PyTuple_GET_ITEM(objects, i)));
    }
    for (Py_ssize_t i = 0; i < nopen; i++) {
        PyObject *number = PyLong_FromLongLong(values[open[i].row]);
        if (number == NULL) {
            Py_DECREF(result);
            return NULL;
        }
        Py_SETREF(((PyTupleObject *)result)->ob_item[open[i].place], number);
    }
    return result;
}

PyObject *plan_template_graph(PyObject *object, const int64_t *key)
{
    PlanTemplate *self = (PlanTemplate *)object;
    int64_t *values = PyMem_New(int64_t, (size_t)COUNT(self->rows, Row) + 1);
    if (values == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *words = NULL, *objects = NULL, *graph = NULL;
    if (!compute_all(self, key, values)) {
        graph = Py_NewRef(Py_None);
    } else if ((words = filled_words(self, values)) != NULL
               && (objects = filled_objects(self, values)) != NULL) {
        graph = compiled_graph_like(self->first, words, objects);
    }
    PyMem_Free(values);
    Py_XDECREF(words);
    Py_XDECREF(objects);
    return graph;
}

Py_ssize_t plan_template_ninputs(PyObject *object)
{
    return ((PlanTemplate *)object)->ninputs;
}

int plan_template_check(PyObject *object)
{
    return Py_IS_TYPE(object, &PlanTemplateType);
}

/* --- the type ---------------------------------------------------------------------------------------- */

static PyObject *template_graph(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    PlanTemplate *self = (PlanTemplate *)object;
    if (nargs != self->ninputs) {
        return PyErr_Format(PyExc_TypeError, "the plan takes %zd ints, got %zd", self->ninputs, nargs);
    }
    int64_t *key = PyMem_New(int64_t, (size_t)nargs + 1);
    if (key == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *graph = NULL;
    Py_ssize_t i = 0;
    while (i < nargs && ((key[i] = PyLong_AsLongLong(args[i])) != -1 || !PyErr_Occurred())) {
        i++;
    }
    if (i == nargs) {
        graph = plan_template_graph(object, key);
    }
    PyMem_Free(key);
    return graph;
}

static PyObject *template_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *first, *rows, *conditions, *open_words, *open_objects;
    Py_ssize_t ninputs;
    if (!PyArg_ParseTuple(args, "OnSSSS", &first, &ninputs, &rows, &conditions, &open_words, &open_objects)) {
        return NULL;
    }
    if (!compiled_graph_check(first) || ninputs < 0) {
        PyErr_Format(PyExc_TypeError,
                     "a plan template is made from a CompiledGraph and at least 0 ints, got %R and %zd",
                     first, ninputs);
        return NULL;
    }
    PlanTemplate *self = (PlanTemplate *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->first = Py_NewRef(first);
        self->ninputs = ninputs;
        self->rows = Py_NewRef(rows);
        self->conditions = Py_NewRef(conditions);
        self->open_words = Py_NewRef(open_words);
        self->open_objects = Py_NewRef(open_objects);
    }
    return (PyObject *)self;
}

static int template_traverse(PlanTemplate *self, visitproc visit, void *arg)
{
    Py_VISIT(self->first);
    return 0;
}

static void template_dealloc(PlanTemplate *self)
{
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->first);
    Py_CLEAR(self->rows);
    Py_CLEAR(self->conditions);
    Py_CLEAR(self->open_words);
    Py_CLEAR(self->open_objects);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef template_methods[] = {
    {"graph", (PyCFunction)(void (*)(void))template_graph, METH_FASTCALL,
     "graph(*ints): the CompiledGraph for them; None where the plan is not right for them"},
    {NULL, NULL, 0, NULL},
};

/* For the store of compiled graphs (codegen/stored/sizes.py). */
static PyMemberDef template_members[] = {
    {"first", T_OBJECT, offsetof(PlanTemplate, first), READONLY, "the graph that the others are like"},
    {"ninputs", T_PYSSIZET, offsetof(PlanTemplate, ninputs), READONLY, "the number of ints"},
    {"rows", T_OBJECT, offsetof(PlanTemplate, rows), READONLY, NULL},
    {"conditions", T_OBJECT, offsetof(PlanTemplate, conditions), READONLY, NULL},
    {"open_words", T_OBJECT, offsetof(PlanTemplate, open_words), READONLY, NULL},
    {"open_objects", T_OBJECT, offsetof(PlanTemplate, open_objects), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject PlanTemplateType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.PlanTemplate",
    .tp_doc = PyDoc_STR("PlanTemplate(first, ninputs, rows, conditions, open_words, open_objects)\n\nA "
                        "launch plan whose sizes are open."),
    .tp_basicsize = sizeof(PlanTemplate),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = template_new,
    .tp_dealloc = (destructor)template_dealloc,
    .tp_traverse = (traverseproc)template_traverse,
    .tp_methods = template_methods,
    .tp_members = template_members,
};

int init_plan_template(PyObject *module)
{
    return PyModule_AddType(module, &PlanTemplateType);
}
