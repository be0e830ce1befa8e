/* _capture.Segment: a part of a graph's backward, run by one node of autograd's graph.
 *
 * In:  how the part lies in the graph: its slots, its edges, what its node saves.
 * Out: what a node (autograd_apply.c) reads.
 *
 *     h = f(x);  return h, g(h)      Segment for h: edge to x;  Segment for g(h): edge to h's slot
 */
#include "autograd/autograd_node.h"
#include "capture_native.h"
#include "tensors/tensor_access.h"

static PyTypeObject SegmentType;

enum { SLOTS, SAVED_ARGUMENTS, SAVED_RESULTS, KEPT_APART, EDGES, LISTS };

static int read_lists(Segment *segment, PyObject *const lists[LISTS])
{
    const int64_t **items[LISTS] = {&segment->slots, &segment->saved_arguments, &segment->saved_results,
                                    &segment->kept_apart, &segment->edges};
    Py_ssize_t total = 1;
    for (int i = 0; i < LISTS; i++) {
        total += PyTuple_GET_SIZE(lists[i]);
    }
    int64_t *next = segment->words = PyMem_New(int64_t, total);
    if (next == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < LISTS; i++) {
        *items[i] = next;
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(lists[i]); k++) {
            *next++ = PyLong_AsLongLong(PyTuple_GET_ITEM(lists[i], k));
        }
    }
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *segment_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"run_backward",    "slots",         "stand_ins",
                            "saved_arguments", "saved_results", "kept_apart",
                            "edges",           "needed_by",     NULL};
    PyObject *run_backward, *stand_ins, *needed_by, *lists[LISTS];
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "OO!O!O!O!O!O!S", names, &run_backward, &PyTuple_Type, &lists[SLOTS], &PyTuple_Type,
            &stand_ins, &PyTuple_Type, &lists[SAVED_ARGUMENTS], &PyTuple_Type, &lists[SAVED_RESULTS],
            &PyTuple_Type, &lists[KEPT_APART], &PyTuple_Type, &lists[EDGES], &needed_by)) {
        return NULL;
    }
    Segment *segment = (Segment *)type->tp_alloc(type, 0);
    if (segment == NULL) {
        return NULL;
    }
    segment->run_backward = Py_NewRef(run_backward);
    segment->stand_ins = Py_NewRef(stand_ins);
    segment->needed_by = Py_NewRef(needed_by);
    segment->nslots = PyTuple_GET_SIZE(lists[SLOTS]);
    segment->nsaved_arguments = PyTuple_GET_SIZE(lists[SAVED_ARGUMENTS]);
    segment->nsaved_results = PyTuple_GET_SIZE(lists[SAVED_RESULTS]);
    segment->nedges = PyTuple_GET_SIZE(lists[EDGES]);
    segment->first_slot = -1;
    if (PyTuple_GET_SIZE(lists[KEPT_APART]) != segment->nsaved_results) {
        PyErr_SetString(PyExc_ValueError, "kept_apart and saved_results differ in length");
    }
    int64_t rows = segment->nsaved_arguments + segment->nsaved_results;
    if (PyBytes_GET_SIZE(needed_by) != rows * needed_by_row(segment->nedges)) {
        PyErr_SetString(PyExc_ValueError, "needed_by has another size than the edges of all that is saved");
    }
    if (PyErr_Occurred() || read_lists(segment, lists) < 0) {
        Py_DECREF(segment);
        return NULL;
    }
    return (PyObject *)segment;
}

/* --- as a part of a function ------------------------------------------------------------------------- */

static bool all_below(const int64_t *items, int64_t count, int64_t least, int64_t limit)
{
    for (int64_t i = 0; i < count; i++) {
        if (items[i] < least || items[i] >= limit) {
            return false;
        }
    }
    return true;
}

/* A slot has a result, or a tensor that stands in for a value of the graph. */
static bool slots_fit(const Segment *segment, int64_t given)
{
    if (segment->nslots == 0 || PyTuple_GET_SIZE(segment->stand_ins) != segment->nslots
        || !all_below(segment->slots, segment->nslots, -1, given)) {
        return false;
    }
    for (int64_t i = 0; i < segment->nslots; i++) {
        if (segment->slots[i] < 0 && !tensor_check(PyTuple_GET_ITEM(segment->stand_ins, i))) {
            return false;
        }
    }
    return true;
}

int segment_attach(PyObject *object, int64_t arguments, int64_t views, int64_t given, int64_t slots)
{
    if (Py_TYPE(object) != &SegmentType) {
        PyErr_Format(PyExc_TypeError, "expected a Segment, got %R", object);
        return -1;
    }
    Segment *segment = (Segment *)object;
    if (segment->first_slot >= 0 || !slots_fit(segment, given)
        || !all_below(segment->saved_arguments, segment->nsaved_arguments, 0, arguments)
        || !all_below(segment->saved_results, segment->nsaved_results, 0, given)
        || !all_below(segment->edges, segment->nedges, 0, arguments + views + slots)) {
        PyErr_SetString(PyExc_ValueError, "a segment does not fit its function, or is part of another one");
        return -1;
    }
    segment->first_slot = slots;
    for (int64_t i = 0; i < segment->nslots; i++) {
        segment->holders += segment->slots[i] >= 0;
    }
    return 0;
}

/* --- the type ---------------------------------------------------------------------------------------- */

static int segment_traverse(Segment *segment, visitproc visit, void *arg)
{
    Py_VISIT(segment->backward);
    Py_VISIT(segment->run_backward);
    Py_VISIT(segment->stand_ins);
    return 0;
}

static int segment_clear(Segment *segment)
{
    Py_CLEAR(segment->backward); /* the rest stays: cycles go through `run_backward`, which can be cleared */
    return 0;
}

static void segment_dealloc(Segment *segment)
{
    PyObject_GC_UnTrack(segment);
    Py_CLEAR(segment->backward);
    Py_CLEAR(segment->run_backward);
    Py_CLEAR(segment->stand_ins);
    Py_CLEAR(segment->needed_by);
    PyMem_Free(segment->words);
    Py_TYPE(segment)->tp_free((PyObject *)segment);
}

static PyObject *get_backward(PyObject *self, void *unused)
{
    PyObject *backward = ((Segment *)self)->backward;
    return Py_NewRef(backward == NULL ? Py_None : backward);
}

static int set_backward(PyObject *self, PyObject *graph, void *unused)
{
    Segment *segment = (Segment *)self;
    if (graph == NULL || !compiled_graph_check(graph) || compiled_graph_nouts(graph) != segment->nedges) {
        PyErr_Format(PyExc_TypeError, "expected a CompiledGraph with %lld outputs",
                     (long long)segment->nedges);
        return -1;
    }
    Py_XSETREF(segment->backward, Py_NewRef(graph));
    return 0;
}

static PyGetSetDef segment_getset[] = {
    {"backward", get_backward, set_backward, "what a node runs; None until it is compiled", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject SegmentType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.Segment",
    .tp_doc =
        PyDoc_STR("Segment(run_backward, slots, stand_ins, saved_arguments, saved_results, kept_apart, "
                  "edges, needed_by)\n\nA part of a graph's backward, run by one node of autograd's graph."),
    .tp_basicsize = sizeof(Segment),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = segment_new,
    .tp_dealloc = (destructor)segment_dealloc,
    .tp_traverse = (traverseproc)segment_traverse,
    .tp_clear = (inquiry)segment_clear,
    .tp_getset = segment_getset,
};

int init_segment(PyObject *module)
{
    return PyModule_AddType(module, &SegmentType);
}
