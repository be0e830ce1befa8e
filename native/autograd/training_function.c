/* _capture.TrainingFunction: a compiled forward whose results have gradients.
 *
 * In:  the graph's arguments.
 * Out: a tuple of its results, joined to autograd's graph by one node.
 *
 *     y, = TrainingFunction(forward, wrap, run_backward, ...)(x, w);  y.sum().backward()
 *
 * The node is built here (autograd_node.h) in the ordinary case. `wrap` makes it with torch.autograd.Function
 * in anomaly mode, under forward-mode gradients, where an argument or a result is a view, and with another
 * torch than expected. Under hooks on saved tensors the call raises _capture.CheckFailed, and the program
 * runs eagerly: a checkpoint finds a tensor again by its place among the saved ones, and another graph may
 * run the second time.
 */
#include "autograd/autograd_node.h"

#include <structmember.h>
#include <string.h>

#include "capture_native.h"
#include "tensors/tensor_access.h"
#include "tensors/torch_symbols.h"

#define FEW 24

static PyTypeObject TrainingFunctionType;

static char *meta_of(PyObject *tensor)
{
    return TENSOR_FIELD(TENSOR_IMPL(tensor), tensor_offsets.autograd_meta, char *);
}

/* --- may the node be built here? --------------------------------------------------------------------- */

/* An edge to a view can throw: torch makes the history of a view anew after a write to it. */
static bool is_simple(PyObject *tensor)
{
    char *meta = meta_of(tensor);
    return meta == NULL || (*(void **)meta == plain_meta && !has_forward_grad(tensor));
}

static bool arguments_fit(const TrainingFunction *function, PyObject *const *args)
{
    bool any = false;
    for (int64_t i = 0; i < function->nwanted; i++) {
        PyObject *argument = args[function->wanted[i]];
        if (!is_simple(argument)) {
            return false;
        }
        any |= tensor_requires_grad(argument);
    }
    for (int64_t i = 0; i < function->arguments; i++) {
        if (tensor_check(args[i]) && has_forward_grad(args[i])) {
            return false;
        }
    }
    for (int64_t i = 0; i < function->nsaved_arguments;
         i++) { /* an inference tensor can't be saved: torch says so */
        if ((tensor_dispatch_keys(args[function->saved_arguments[i]]) & torch_symbols.grad_keys)
            != torch_symbols.grad_keys) {
            return false;
        }
    }
    return any;
}

static bool is_ordinary(const TrainingFunction *function, PyObject *const *args, PyObject *const *given)
{
    if (autograd_layout_ready() != 1 || *autograd_symbols.anomaly_mode || !torch_symbols.grad_mode()
        || saved_tensor_hooks_active() || !arguments_fit(function, args)) {
        return false;
    }
    for (int64_t i = 0; i < function->given; i++) {
        if (!tensor_check(given[i]) || Py_REFCNT(given[i]) != 1
            || meta_of(given[i]) != NULL) { /* a view, or a tensor that others know */
            return false;
        }
    }
    return true;
}

/* --- the node ---------------------------------------------------------------------------------------- */

static size_t bytes_to_save(const TrainingFunction *function)
{
    return (size_t)(function->nsaved_arguments + function->nsaved_results) * saved_bytes;
}

static void free_node(Node *node)
{
    free(node->metadata);
    autograd_symbols.delete_memory(node->saved);
    autograd_symbols.delete_memory(node->edges);
    autograd_symbols.delete_memory(node);
}

/* All memory that a node needs, before any tensor knows it: then nothing can fail. NULL: there is none. */
static Node *allocate_node(const TrainingFunction *function)
{
    Node *node = allocate_for_torch(sizeof(Node));
    if (node == NULL) {
        return NULL;
    }
    memset(node, 0, sizeof(Node));
    size_t count = (size_t)function->ndifferentiable, bytes = bytes_to_save(function);
    bool many = count > FEW_METADATA, saves = bytes > 0;
    node->metadata = many ? malloc(count * METADATA_BYTES) : NULL; /* freed by SmallVector */
    node->edges = allocate_for_torch((size_t)function->nwanted * sizeof(Edge));
    node->saved = saves ? allocate_for_torch(bytes + saved_bytes) : NULL; /* one more: the Progress */
    if (node->edges == NULL || (many && node->metadata == NULL) || (saves && node->saved == NULL)) {
        free_node(node);
        return NULL;
    }
    node->metadata = many ? node->metadata : node->few_metadata;
    node->metadata_capacity = many ? (uint32_t)count : FEW_METADATA;
    return node;
}

static Node *new_node(TrainingFunction *function)
{
    Node *node = allocate_node(function);
    if (node == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    node->vtable = autograd_vtable();
    node->references = 1ull << 32 | 1;
    node->sequence = autograd_symbols.next_sequence();
    node->thread = autograd_symbols.thread();
    node->retains_grad_hooks.buckets = &node->retains_grad_hooks.single;
    node->retains_grad_hooks.nbuckets = 1;
    node->retains_grad_hooks.load = 1.0f;
    node->function = function;
    if (__atomic_fetch_add(&function->nodes, 1, __ATOMIC_ACQ_REL) == 0) {
        Py_INCREF(function);
    }
    return node;
}

static void add_edges(Node *node, PyObject *const *args)
{
    const TrainingFunction *function = node->function;
    node->edges_end = node->edges_capacity = node->edges + function->nwanted;
    for (int64_t i = 0; i < function->nwanted; i++) {
        Edge *edge = &node->edges[i];
        *edge = (Edge){NULL, 0};
        if (!tensor_requires_grad(args[function->wanted[i]])) {
            continue;
        }
        autograd_symbols.gradient_edge(edge, tensor_handle(args[function->wanted[i]]));
        if (edge->function != NULL) {
            edge->function->has_parent = true;
            node->topological = edge->function->topological >= node->topological
                                    ? edge->function->topological + 1
                                    : node->topological;
        }
    }
}

/* The node's inputs are the differentiable results; each result holds the node. */
static void join_results(Node *node, PyObject *const *results)
{
    const TrainingFunction *function = node->function;
    uint32_t count = (uint32_t)function->ndifferentiable;
    node->references = 1ull << 32 | count;
    node->nmetadata = count;
    for (uint32_t i = 0; i < count; i++) {
        const void *tensor = tensor_handle(results[function->differentiable[i]]);
        autograd_symbols.new_metadata(node->metadata + i * METADATA_BYTES, tensor);
        autograd_symbols.set_gradient_edge(tensor, &(Edge){node, i});
    }
}

static void save(Node *node, PyObject *const *args, PyObject *const *given)
{
    const TrainingFunction *function = node->function;
    size_t bytes = bytes_to_save(function);
    if (bytes == 0) {
        return;
    }
    node->saved_end = node->saved;
    node->saved_capacity = node->saved + bytes + saved_bytes;
    *(Progress *)(node->saved + bytes) = (Progress){0, 0};
    for (int64_t i = 0; i < function->nsaved_arguments; i++, node->saved_end += saved_bytes) {
        autograd_symbols.new_saved(node->saved_end, tensor_handle(args[function->saved_arguments[i]]), false,
                                   false);
    }
    for (int64_t i = 0; i < function->nsaved_results; i++, node->saved_end += saved_bytes) {
        int64_t index = function->saved_results[i];
        autograd_symbols.new_saved(node->saved_end, tensor_handle(given[index]),
                                   is_differentiable_result(function, index), false);
    }
}

/* --- a call ------------------------------------------------------------------------------------------ */

static PyObject *tuple_of(PyObject *const *items, int64_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int64_t i = 0; tuple != NULL && i < count; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(items[i]));
    }
    return tuple;
}

static PyObject *wrap_in_python(TrainingFunction *function, PyObject *const *args, PyObject *const *given)
{
    PyObject *few[FEW],
        **all = function->arguments < FEW ? few : PyMem_New(PyObject *, function->arguments + 1);
    PyObject *results = NULL;
    if (all == NULL) {
        return PyErr_NoMemory();
    }
    all[0] = tuple_of(given, function->given);
    if (all[0] != NULL) {
        memcpy(all + 1, args, (size_t)function->arguments * sizeof(PyObject *));
        results = PyObject_Vectorcall(function->wrap, all, (size_t)function->arguments + 1, NULL);
        Py_DECREF(all[0]);
    }
    if (all != few) {
        PyMem_Free(all);
    }
    return results;
}

static PyObject *join(TrainingFunction *function, PyObject *const *args, PyObject *const *given)
{
    if (!is_ordinary(function, args, given)) {
        return PyErr_Occurred() ? NULL : wrap_in_python(function, args, given);
    }
    Node *node = new_node(function);
    if (node == NULL) {
        return NULL;
    }
    add_edges(node, args);
    join_results(node, given);
    save(node, args, given); /* after join_results: the results know their node */
    return tuple_of(given, function->results);
}

static PyObject *function_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf,
                                     PyObject *kwnames)
{
    TrainingFunction *function = (TrainingFunction *)object;
    if (kwnames != NULL && PyTuple_GET_SIZE(kwnames) != 0) {
        PyErr_SetString(PyExc_TypeError, "a training function takes no keyword arguments");
        return NULL;
    }
    if (autograd_layout_ready() == 1 && torch_symbols.grad_mode() && saved_tensor_hooks_active()) {
        compiled_graph_refuse("hooks see what eager saves, in its order");
        return NULL;
    }
    PyObject *few[FEW], **given = function->given <= FEW ? few : PyMem_New(PyObject *, function->given);
    if (given == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *results = NULL;
    if (compiled_graph_run(function->forward, args, PyVectorcall_NARGS(nargsf), given) == 0) {
        results = join(function, args, given);
        for (int64_t i = 0; i < function->given; i++) {
            Py_DECREF(given[i]);
        }
    }
    if (given != few) {
        PyMem_Free(given);
    }
    return results;
}

/* --- the type ---------------------------------------------------------------------------------------- */

/* Reads a list of positions, each below `limit`, and appends them to the function's words. */
static int read_positions(PyObject *tuple, int64_t limit, int64_t **next, const int64_t **items,
                          int64_t *count)
{
    *items = *next;
    *count = PyTuple_GET_SIZE(tuple);
    for (Py_ssize_t i = 0; i < *count; i++) {
        int64_t position = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
        if (PyErr_Occurred() || position < 0 || position >= limit) {
            PyErr_Format(PyExc_ValueError, "expected positions below %lld, got %R", (long long)limit, tuple);
            return -1;
        }
        *(*next)++ = position;
    }
    return 0;
}

static int read_lists(TrainingFunction *function, PyObject *const lists[4])
{
    Py_ssize_t total = 1;
    for (int i = 0; i < 4; i++) {
        total += PyTuple_GET_SIZE(lists[i]);
    }
    int64_t *next = function->words = PyMem_New(int64_t, total);
    if (next == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return read_positions(lists[0], function->results, &next, &function->differentiable,
                          &function->ndifferentiable)
                       < 0
                   || read_positions(lists[1], function->arguments, &next, &function->saved_arguments,
                                     &function->nsaved_arguments)
                          < 0
                   || read_positions(lists[2], function->given, &next, &function->saved_results,
                                     &function->nsaved_results)
                          < 0
                   || read_positions(lists[3], function->arguments, &next, &function->wanted,
                                     &function->nwanted)
                          < 0
               ? -1
               : 0;
}

static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"forward", "wrap",           "run_backward",    "masks",         "arguments",
                            "results", "differentiable", "saved_arguments", "saved_results", "wanted",
                            NULL};
    PyObject *forward, *wrap, *run_backward, *masks, *lists[4];
    long long arguments, results;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOOLLO!O!O!O!", names, &forward, &wrap, &run_backward,
                                     &masks, &arguments, &results, &PyTuple_Type, &lists[0], &PyTuple_Type,
                                     &lists[1], &PyTuple_Type, &lists[2], &PyTuple_Type, &lists[3])) {
        return NULL;
    }
    if (!compiled_graph_check(forward) || results > compiled_graph_nouts(forward)) {
        return PyErr_Format(PyExc_TypeError, "expected a CompiledGraph with %lld results or more, got %R",
                            results, forward);
    }
    if (autograd_layout_ready() < 0) {
        return NULL;
    }
    TrainingFunction *function = (TrainingFunction *)type->tp_alloc(type, 0);
    if (function == NULL) {
        return NULL;
    }
    function->vectorcall = function_vectorcall;
    function->forward = Py_NewRef(forward);
    function->wrap = Py_NewRef(wrap);
    function->run_backward = Py_NewRef(run_backward);
    function->masks = Py_NewRef(masks);
    function->arguments = arguments;
    function->given = compiled_graph_nouts(forward);
    function->results = results;
    if (read_lists(function, lists) < 0) {
        Py_DECREF(function);
        return NULL;
    }
    return (PyObject *)function;
}

static int function_traverse(TrainingFunction *function, visitproc visit, void *arg)
{
    Py_VISIT(function->forward);
    Py_VISIT(function->backward);
    Py_VISIT(function->wrap);
    Py_VISIT(function->run_backward);
    Py_VISIT(function->masks);
    return 0;
}

static int function_clear(TrainingFunction *function)
{
    Py_CLEAR(function->backward); /* the rest stays: cycles go through `wrap` and `run_backward`, whose
                                     closures can be cleared */
    return 0;
}

static void function_dealloc(TrainingFunction *function)
{
    PyObject_GC_UnTrack(function);
    Py_CLEAR(function->backward);
    Py_CLEAR(function->forward);
    Py_CLEAR(function->wrap);
    Py_CLEAR(function->run_backward);
    Py_CLEAR(function->masks);
    PyMem_Free(function->words);
    PyMem_Free(function->sources);
    PyMem_RawFree(function->conflicts);
    Py_TYPE(function)->tp_free((PyObject *)function);
}

static PyObject *get_backward(PyObject *self, void *unused)
{
    PyObject *backward = ((TrainingFunction *)self)->backward;
    return Py_NewRef(backward == NULL ? Py_None : backward);
}

static int set_backward(PyObject *self, PyObject *graph, void *unused)
{
    TrainingFunction *function = (TrainingFunction *)self;
    if (graph == NULL || !compiled_graph_check(graph) || compiled_graph_nouts(graph) != function->arguments) {
        PyErr_Format(PyExc_TypeError, "expected a CompiledGraph with %lld outputs",
                     (long long)function->arguments);
        return -1;
    }
    Py_XSETREF(function->backward, Py_NewRef(graph));
    return 0;
}

static PyObject *get_sources(PyObject *self, void *unused)
{
    return PyBool_FromLong(((TrainingFunction *)self)->sources != NULL);
}

static int set_sources(PyObject *self, PyObject *tuple, void *unused)
{
    TrainingFunction *function = (TrainingFunction *)self;
    if (tuple == NULL || !PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != function->arguments
        || function->ndifferentiable > 64 || function->sources != NULL) {
        PyErr_SetString(PyExc_ValueError,
                        "expected, once, a tuple with an int of at most 64 bits for each argument");
        return -1;
    }
    uint64_t *sources = PyMem_New(uint64_t, function->arguments + 1);
    if (sources == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int64_t i = 0; i < function->arguments; i++) {
        sources[i] = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(tuple, i));
    }
    if (PyErr_Occurred()) {
        PyMem_Free(sources);
        return -1;
    }
    function->sources = sources;
    return 0;
}

static PyGetSetDef function_getset[] = {
    {"backward", get_backward, set_backward, "what a node runs; None until it is compiled", NULL},
    {"sources", get_sources, set_sources,
     "set, once: which results (bits) the gradient of each argument comes from. Then nodes fill in gradients "
     "that nobody sent. Reads as whether it is set",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject TrainingFunctionType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.TrainingFunction",
    .tp_doc = PyDoc_STR(
        "TrainingFunction(forward, wrap, run_backward, masks, arguments, results, differentiable, "
        "saved_arguments, saved_results, wanted)\n\n"
        "A compiled forward whose results have gradients; its node in autograd's graph runs `backward`."),
    .tp_basicsize = sizeof(TrainingFunction),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = function_new,
    .tp_dealloc = (destructor)function_dealloc,
    .tp_traverse = (traverseproc)function_traverse,
    .tp_clear = (inquiry)function_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(TrainingFunction, vectorcall),
    .tp_getset = function_getset,
};

static PyObject *layout_ready(PyObject *module, PyObject *unused)
{
    int ready = autograd_layout_ready();
    return ready < 0 ? NULL : PyBool_FromLong(ready);
}

static PyObject *edge_to_argument(PyObject *module, PyObject *tensor)
{
    if (!tensor_check(tensor)) {
        return PyErr_Format(PyExc_TypeError, "expected a tensor, got %R", tensor);
    }
    int ready = autograd_layout_ready();
    return ready == 1 ? edge_to(tensor) : ready < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"edge_to", edge_to_argument, METH_O,
     "An empty tensor that stands where the given one does in autograd's graph; None where nodes are not "
     "built in C."},
    {"autograd_nodes_native", layout_ready, METH_NOARGS,
     "Are nodes of autograd's graph built in C, with this build of torch?"},
    {NULL, NULL, 0, NULL},
};

int init_autograd_node(PyObject *module)
{
    return PyModule_AddFunctions(module, methods) < 0 ? -1 : PyModule_AddType(module, &TrainingFunctionType);
}
