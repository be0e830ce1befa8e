/* _capture.CompiledGraph, the type: reads a launch plan when it is made, owns the plan and the workspace,
 * times the instructions.
 *
 * What a call does is in compiled_graph.c.
 */
#include "graph/compiled_graph.h"

#include <structmember.h>

#include "capture_native.h"
#include "graph/parallel.h"
#include "graph/profiled.h"
#include "tensors/tensor_access.h"

static PyTypeObject CompiledGraphType;

Py_ssize_t compiled_graph_nouts(PyObject *graph)
{
    return (Py_ssize_t)((CompiledGraph *)graph)->noutputs;
}

int compiled_graph_check(PyObject *object)
{
    return PyObject_TypeCheck(object, &CompiledGraphType);
}

static PyObject *graph_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    CompiledGraph *graph = (CompiledGraph *)object;
    if (kwnames != NULL && PyTuple_GET_SIZE(kwnames) != 0) {
        PyErr_SetString(PyExc_TypeError, "a compiled graph takes no keyword arguments");
        return NULL;
    }
    PyObject *result = PyTuple_New((Py_ssize_t)graph->noutputs);
    if (result == NULL) {
        return NULL;
    }
    if (compiled_graph_run(object, args, PyVectorcall_NARGS(nargsf), ((PyTupleObject *)result)->ob_item)
        < 0) {
        Py_DECREF(result); /* its items are NULL still */
        return NULL;
    }
    return result;
}

enum {
    HEAD_VERSION,
    HEAD_INPUTS,
    HEAD_SLOTS,
    HEAD_OUTPUTS,
    HEAD_WORKSPACE,
    HEAD_SPECS,
    HEAD_NO_GRAD,
    HEAD_WORDS
};

static int read_plan(CompiledGraph *graph)
{
    const int64_t *word = (const int64_t *)PyBytes_AS_STRING(graph->words);
    Py_ssize_t count = PyBytes_GET_SIZE(graph->words) / (Py_ssize_t)sizeof(int64_t);
    if (count < HEAD_WORDS || word[HEAD_VERSION] != PLAN_VERSION) {
        PyErr_SetString(PyExc_ValueError, "the launch plan is of another version of this extension");
        return -1;
    }
    graph->end = word + count;
    graph->ninputs = word[HEAD_INPUTS];
    graph->nslots = word[HEAD_SLOTS];
    graph->noutputs = word[HEAD_OUTPUTS];
    graph->workspace_size = word[HEAD_WORKSPACE];
    graph->nspecs = word[HEAD_SPECS];
    graph->no_grad = word[HEAD_NO_GRAD];
    graph->inputs = word + HEAD_WORDS;
    graph->outputs = graph->inputs + 2 * graph->ninputs;
    word = graph->outputs + 2 * graph->noutputs;
    graph->specs = PyMem_New(TensorSpec, graph->nspecs > 0 ? graph->nspecs : 1);
    if (graph->specs == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int64_t i = 0; i < graph->nspecs; i++) {
        graph->specs[i] = (TensorSpec){word[0], word[1], word[2], word[3], word + 4, word + 4 + word[1]};
        word += 4 + 2 * word[1];
    }
    graph->code = word;
    for (; word < graph->end; word += 2 + word[1]) {
        if (word[0] <= 0 || word[0] >= OP_COUNT || word[1] < 0 || word[1] > graph->end - word - 2) {
            PyErr_Format(PyExc_ValueError, "the launch plan has a bad instruction %lld of %lld words",
                         (long long)word[0], (long long)word[1]);
            return -1;
        }
        graph->ninstructions++;
    }
    return 0;
}

static PyObject *new_graph(PyTypeObject *type, PyObject *words, PyObject *objects, PyObject *fallback,
                           CompiledGraph *beside)
{
    CompiledGraph *graph = (CompiledGraph *)type->tp_alloc(type, 0);
    if (graph == NULL) {
        return NULL;
    }
    graph->vectorcall = graph_vectorcall;
    graph->words = Py_NewRef(words);
    graph->objects = Py_NewRef(objects);
    graph->fallback = Py_XNewRef(fallback);
    graph->workspace = beside != NULL ? beside->workspace : PyMem_Calloc(1, sizeof(Workspace));
    if (graph->workspace == NULL) {
        Py_DECREF(graph);
        return PyErr_NoMemory();
    }
    graph->workspace->owners++;
    if (read_plan(graph) < 0) {
        Py_DECREF(graph);
        return NULL;
    }
    return (PyObject *)graph;
}

static PyObject *graph_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *words, *objects, *fallback = Py_None;
    CompiledGraph *beside = NULL;
    if (!PyArg_ParseTuple(args, "O!O!|OO!", &PyBytes_Type, &words, &PyTuple_Type, &objects, &fallback,
                          &CompiledGraphType, &beside)) {
        return NULL;
    }
    if (!tensor_access_ready()) {
        PyErr_SetString(PyExc_RuntimeError, "call _capture.calibrate() before a compiled graph is made");
        return NULL;
    }
    if (init_gemm() < 0 || init_grad_mode() < 0) {
        return NULL;
    }
    init_parallel();
    init_profiled();
    return new_graph(type, words, objects, fallback == Py_None ? NULL : fallback, beside);
}

PyObject *compiled_graph_like(PyObject *object, PyObject *words, PyObject *objects)
{
    CompiledGraph *first = (CompiledGraph *)object;
    PyObject *graph = new_graph(Py_TYPE(object), words, objects, first->fallback, first);
    if (graph != NULL) {
        ((CompiledGraph *)graph)->dict = Py_XNewRef(first->dict);
        ((CompiledGraph *)graph)->views = Py_XNewRef(first->views);
        ((CompiledGraph *)graph)->name = Py_XNewRef(first->name);
        ((CompiledGraph *)graph)->kernels = Py_XNewRef(first->kernels);
    }
    return graph;
}

static int graph_traverse(CompiledGraph *graph, visitproc visit, void *arg)
{
    Py_VISIT(graph->objects);
    Py_VISIT(graph->fallback);
    Py_VISIT(graph->dict);
    return 0;
}

static int graph_clear(CompiledGraph *graph)
{
    Py_CLEAR(graph->fallback);
    Py_CLEAR(graph->dict);
    return 0; /* the objects stay: a graph that can be called needs them. Cycles through them are broken at
                 `dict` or `fallback`. */
}

static void graph_dealloc(CompiledGraph *graph)
{
    PyObject_GC_UnTrack(graph);
    if (graph->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)graph);
    }
    graph_clear(graph);
    Py_CLEAR(graph->objects);
    Py_CLEAR(graph->words);
    Py_CLEAR(graph->views);
    Py_CLEAR(graph->name);
    Py_CLEAR(graph->kernels);
    PyMem_Free(graph->specs);
    PyMem_Free(graph->timings);
    if (graph->workspace != NULL && --graph->workspace->owners == 0) {
        free(graph->workspace->memory);
        PyMem_Free(graph->workspace);
    }
    Py_TYPE(graph)->tp_free((PyObject *)graph);
}

static PyMemberDef graph_members[] = {
    {"objects", T_OBJECT, offsetof(CompiledGraph, objects), READONLY, "constants and operators of the plan"},
    {"plan", T_OBJECT, offsetof(CompiledGraph, words), READONLY, "the launch plan: int64 words"},
    {"fallback", T_OBJECT, offsetof(CompiledGraph, fallback), 0,
     "what is called with the arguments where a check fails, before anything is written"},
    {"views", T_OBJECT, offsetof(CompiledGraph, views), 0,
     "a byte for each output: 0 no view, 1 a view, 2 detached, 3 one of several views; None: no output is "
     "one"},
    {"name", T_OBJECT, offsetof(CompiledGraph, name), 0, "what the profiler calls a run of the graph"},
    {"kernel_names", T_OBJECT, offsetof(CompiledGraph, kernels), 0,
     "a tuple: what the profiler calls each instruction, None where it does not show it"},
    {"workspace_size", T_LONGLONG, offsetof(CompiledGraph, workspace_size), READONLY,
     "bytes of the workspace"},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(CompiledGraph, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *get_timings(PyObject *self, void *unused)
{
    CompiledGraph *graph = (CompiledGraph *)self;
    if (graph->timings == NULL) {
        Py_RETURN_NONE;
    }
    PyObject *list = PyList_New((Py_ssize_t)graph->ninstructions);
    for (int64_t i = 0; list != NULL && i < graph->ninstructions; i++) {
        PyObject *item =
            Py_BuildValue("LL", (long long)graph->timings[2 * i], (long long)graph->timings[2 * i + 1]);
        if (item == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, i, item);
        }
    }
    return list;
}

static PyObject *start_timing(PyObject *self, PyObject *unused)
{
    CompiledGraph *graph = (CompiledGraph *)self;
    if (graph->timings == NULL) {
        graph->timings = PyMem_Calloc((size_t)graph->ninstructions * 2 + 1, sizeof(int64_t));
    }
    if (graph->timings == NULL) {
        return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

static PyObject *expects(PyObject *self, PyObject *last)
{
    if (!PyTuple_Check(last)) {
        PyErr_Format(PyExc_TypeError, "expected a tuple of tensors, got %R", last);
        return NULL;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(last);
    PyObject **items = ((PyTupleObject *)last)->ob_item;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!tensor_is_plain(items[i])) {
            PyErr_Format(PyExc_TypeError, "expected plain tensors, got %R", last);
            return NULL;
        }
    }
    return PyBool_FromLong(compiled_graph_expects(self, items, count));
}

static PyMethodDef graph_methods[] = {
    {"expects", expects, METH_O,
     "expects(tensors): whether it was made for last arguments that lie like these. Expanded ones, and those "
     "with gaps, do: they are copied."},
    {"start_timing", start_timing, METH_NOARGS,
     "Count the calls and the time of each instruction from now on."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef graph_getset[] = {
    {"timings", get_timings, NULL,
     "(calls, nanoseconds) of each instruction of the plan; None unless start_timing() was called", NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject CompiledGraphType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.CompiledGraph",
    .tp_doc = PyDoc_STR("CompiledGraph(words, objects, fallback=None, beside=None)\n\nA launch plan, "
                        "callable with the arguments of the graph; gives a "
                        "tuple. It shares the workspace of the graph `beside`."),
    .tp_basicsize = sizeof(CompiledGraph),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = graph_new,
    .tp_dealloc = (destructor)graph_dealloc,
    .tp_traverse = (traverseproc)graph_traverse,
    .tp_clear = (inquiry)graph_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(CompiledGraph, vectorcall),
    .tp_dictoffset = offsetof(CompiledGraph, dict),
    .tp_weaklistoffset = offsetof(CompiledGraph, weakrefs),
    .tp_members = graph_members,
    .tp_methods = graph_methods,
    .tp_getset = graph_getset,
};

/* The numbers of a plan by name, for who writes plans. 0, or -1 with an exception. */
static int add_plan_tables(PyObject *module)
{
    PyObject *instructions = Py_BuildValue("{"
#define X(name, function, operands) "s(is)"
                                           PLAN_INSTRUCTIONS(X) "}",
#undef X
#define X(name, function, operands) #name, OP_##name, operands,
                                           PLAN_INSTRUCTIONS(X) NULL);
#undef X
#define FORMAT(name) "si"
#define INPUT(name) #name, INPUT_##name,
#define ARGUMENT(name) #name, ARG_##name,
    PyObject *inputs = Py_BuildValue("{" PLAN_INPUTS(FORMAT) "}", PLAN_INPUTS(INPUT) NULL);
    PyObject *arguments = Py_BuildValue("{" PLAN_ARGUMENTS(FORMAT) "}", PLAN_ARGUMENTS(ARGUMENT) NULL);
    int failed = instructions == NULL || inputs == NULL || arguments == NULL
                 || PyModule_AddIntConstant(module, "plan_version", PLAN_VERSION) < 0
                 || PyModule_AddObjectRef(module, "plan_instructions", instructions) < 0
                 || PyModule_AddObjectRef(module, "plan_inputs", inputs) < 0
                 || PyModule_AddObjectRef(module, "plan_arguments", arguments) < 0;
    Py_XDECREF(instructions);
    Py_XDECREF(inputs);
    Py_XDECREF(arguments);
    return failed ? -1 : 0;
}

int init_compiled_graph(PyObject *module)
{
    if (init_check_failed(module) < 0 || add_plan_tables(module) < 0) {
        return -1;
    }
    return PyModule_AddType(module, &CompiledGraphType);
}
