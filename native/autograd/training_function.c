/* _capture.TrainingFunction: a compiled forward whose results have gradients.
 *
 * In:  the graph's arguments.
 * Out: a tuple of its results, joined to autograd's graph by a node for each part of the backward
 * (segment.c).
 *
 *     y, = TrainingFunction(forward, wrap, (Segment(run_backward, ...),), ...)(x, w);  y.sum().backward()
 *
 * The nodes are built here (autograd_node.h) in the ordinary case. `wrap` makes them with
 * torch.autograd.Function in anomaly mode, under forward-mode gradients, where an argument or a result is a
 * view, where nodes lead to views of results or arguments, and with another torch than expected. Under hooks
 * on saved tensors the call raises _capture.CheckFailed, and the program runs eagerly: a checkpoint finds a
 * tensor again by its place among the saved ones, and another graph may run the second time.
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

static const Segment *segment_at(const TrainingFunction *function, int64_t number)
{
    return (const Segment *)PyTuple_GET_ITEM(function->segments, number);
}

/* 1 where an argument that gets a gradient from this part requires grad, 0 where none does; -1 where the node
 * can't be built here. */
static int edges_fit(const TrainingFunction *function, const Segment *segment, PyObject *const *args)
{
    int any = 0;
    for (int64_t i = 0; i < segment->nedges; i++) {
        if (segment->edges[i] < function->arguments) {
            PyObject *argument = args[segment->edges[i]];
            if (!is_simple(argument)) {
                return -1;
            }
            any |= tensor_requires_grad(argument);
        }
    }
    for (int64_t i = 0; i < segment->nsaved_arguments;
         i++) { /* an inference tensor can't be saved: torch says so */
        if ((tensor_dispatch_keys(args[segment->saved_arguments[i]]) & torch_symbols.grad_keys)
            != torch_symbols.grad_keys) {
            return -1;
        }
    }
    return any;
}

static bool arguments_fit(const TrainingFunction *function, PyObject *const *args)
{
    int any = 0;
    for (int64_t i = 0; i < function->nsegments; i++) {
        int fits = edges_fit(function, segment_at(function, i), args);
        if (fits < 0) {
            return false;
        }
        any |= fits;
    }
    for (int64_t i = 0; i < function->arguments && any; i++) {
        if (tensor_check(args[i]) && has_forward_grad(args[i])) {
            return false;
        }
    }
    return any;
}

/* Memory of the forward of which a result is a part is no tensor of the program, and has no gradient: such a
 * result is no view for autograd. Then it may be written to, as in eager. */
static int detach_views(const TrainingFunction *function, PyObject **given)
{
    for (int64_t i = 0; i < function->given; i++) {
        if (tensor_check(given[i]) && Py_REFCNT(given[i]) == 1 && meta_of(given[i]) != NULL
            && !tensor_requires_grad(given[i])) {
            PyObject *detached = tensor_detached(given[i]);
            if (detached == NULL) {
                return -1;
            }
            Py_SETREF(given[i], detached);
        }
    }
    return 0;
}

static bool is_ordinary(const TrainingFunction *function, PyObject *const *args, PyObject *const *given)
{
    if (function->views > 0 || autograd_layout_ready() != 1 || *autograd_symbols.anomaly_mode
        || !torch_symbols.grad_mode() || saved_tensor_hooks_active() || !arguments_fit(function, args)) {
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

/* --- the nodes --------------------------------------------------------------------------------------- */

static size_t bytes_to_save(const Segment *segment)
{
    return (size_t)(segment->nsaved_arguments + segment->nsaved_results) * saved_bytes;
}

static void free_node(Node *node)
{
    free(node->metadata);
    autograd_symbols.delete_memory(node->saved);
    autograd_symbols.delete_memory(node->edges);
    autograd_symbols.delete_memory(node);
}

/* All memory that a node needs. NULL: there is none. */
static Node *allocate_node(const Segment *segment)
{
    Node *node = allocate_for_torch(sizeof(Node));
    if (node == NULL) {
        return NULL;
    }
    memset(node, 0, sizeof(Node));
    size_t count = (size_t)segment->nslots, bytes = bytes_to_save(segment);
    bool many = count > FEW_METADATA, saves = bytes > 0;
    node->metadata = many ? malloc(count * METADATA_BYTES) : NULL; /* freed by SmallVector */
    node->edges = allocate_for_torch((size_t)segment->nedges * sizeof(Edge));
    node->saved = saves ? allocate_for_torch(bytes) : NULL;
    if (node->edges == NULL || (many && node->metadata == NULL) || (saves && node->saved == NULL)) {
        free_node(node);
        return NULL;
    }
    return node;
}

/* The memory of all nodes, before any tensor knows one: then nothing can fail. */
static int allocate_nodes(const TrainingFunction *function, Node **nodes)
{
    for (int64_t i = 0; i < function->nsegments; i++) {
        nodes[i] = allocate_node(segment_at(function, i));
        if (nodes[i] == NULL) {
            while (i > 0) {
                free_node(nodes[--i]);
            }
            PyErr_NoMemory();
            return -1;
        }
    }
    return 0;
}

static void start_node(Node *node, Segment *segment)
{
    bool many = segment->nslots > FEW_METADATA;
    node->metadata = many ? node->metadata : node->few_metadata;
    node->metadata_capacity = many ? (uint32_t)segment->nslots : FEW_METADATA;
    node->vtable = autograd_vtable();
    node->references = 1ull << 32 | (uint64_t)segment->holders;
    node->sequence = autograd_symbols.next_sequence();
    node->thread = autograd_symbols.thread();
    node->retains_grad_hooks.buckets = &node->retains_grad_hooks.single;
    node->retains_grad_hooks.nbuckets = 1;
    node->retains_grad_hooks.load = 1.0f;
    node->segment = segment;
    if (__atomic_fetch_add(&segment->nodes, 1, __ATOMIC_ACQ_REL) == 0) {
        Py_INCREF(segment);
    }
}

/* The place of slot `number`, in a node that has been built. Each such edge is one of the node's holders. */
static Edge edge_to_slot(const TrainingFunction *function, Node *const *nodes, int64_t number)
{
    int64_t owner = function->nsegments - 1;
    while (segment_at(function, owner)->first_slot > number) {
        owner--;
    }
    return (Edge){nodes[owner], (uint32_t)(number - segment_at(function, owner)->first_slot)};
}

static void add_edges(const TrainingFunction *function, Node *node, Node *const *nodes, PyObject *const *args)
{
    const Segment *segment = node->segment;
    node->edges_end = node->edges_capacity = node->edges + segment->nedges;
    for (int64_t i = 0; i < segment->nedges; i++) {
        Edge *edge = &node->edges[i];
        int64_t to = segment->edges[i];
        *edge = (Edge){NULL, 0};
        if (to >= function->arguments) {
            *edge = edge_to_slot(function, nodes, to - function->arguments);
        } else if (tensor_requires_grad(args[to])) {
            autograd_symbols.gradient_edge(edge, tensor_handle(args[to]));
        }
        if (edge->function != NULL) {
            edge->function->has_parent = true;
            node->topological = edge->function->topological >= node->topological
                                    ? edge->function->topological + 1
                                    : node->topological;
        }
    }
}

/* The node's inputs are the slots of its segment; each result in a slot holds the node. */
static void join_results(Node *node, PyObject *const *given)
{
    const Segment *segment = node->segment;
    uint32_t count = (uint32_t)segment->nslots;
    node->nmetadata = count;
    for (uint32_t i = 0; i < count; i++) {
        int64_t result = segment->slots[i];
        PyObject *tensor = result >= 0 ? given[result] : PyTuple_GET_ITEM(segment->stand_ins, i);
        autograd_symbols.new_metadata(node->metadata + i * METADATA_BYTES, tensor_handle(tensor));
        if (result >= 0) {
            autograd_symbols.set_gradient_edge(tensor_handle(tensor), &(Edge){node, i});
        }
    }
}

static void save(Node *node, PyObject *const *args, PyObject *const *given)
{
    const Segment *segment = node->segment;
    if (node->saved == NULL) {
        return;
    }
    node->saved_end = node->saved;
    node->saved_capacity = node->saved + bytes_to_save(segment);
    for (int64_t i = 0; i < segment->nsaved_arguments; i++, node->saved_end += saved_bytes) {
        autograd_symbols.new_saved(node->saved_end, tensor_handle(args[segment->saved_arguments[i]]), false,
                                   false);
    }
    for (int64_t i = 0; i < segment->nsaved_results; i++, node->saved_end += saved_bytes) {
        autograd_symbols.new_saved(node->saved_end, tensor_handle(given[segment->saved_results[i]]),
                                   segment->kept_apart[i], false);
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
    int64_t count = function->nsegments;
    Node *few[FEW], **nodes = count <= FEW ? few : PyMem_New(Node *, count);
    if (nodes == NULL) {
        return PyErr_NoMemory();
    }
    int status = allocate_nodes(function, nodes);
    for (int64_t i = 0; i < count && status == 0; i++) {
        start_node(nodes[i], (Segment *)PyTuple_GET_ITEM(function->segments, i));
        add_edges(function, nodes[i], nodes, args);
        join_results(nodes[i], given);
    }
    for (int64_t i = 0; i < count && status == 0; i++) { /* by now all results know their nodes */
        save(nodes[i], args, given);
    }
    if (nodes != few) {
        PyMem_Free(nodes);
    }
    return status < 0 ? NULL : tuple_of(given, function->results);
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
        results = detach_views(function, given) < 0 ? NULL : join(function, args, given);
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

/* Counts what will hold a node of each segment: results, and edges of later segments. */
static int take_segments(TrainingFunction *function)
{
    int64_t slots = 0;
    for (int64_t i = 0; i < function->nsegments; i++) {
        PyObject *segment = PyTuple_GET_ITEM(function->segments, i);
        if (segment_attach(segment, function->arguments, function->views, function->given, slots) < 0) {
            return -1;
        }
        const Segment *own = (Segment *)segment;
        for (int64_t e = 0; e < own->nedges; e++) {
            int64_t slot = own->edges[e] - function->arguments - function->views;
            for (int64_t to = i - 1; slot >= 0; to--) {
                Segment *target = (Segment *)PyTuple_GET_ITEM(function->segments, to);
                if (target->first_slot <= slot) {
                    target->holders++;
                    break;
                }
            }
        }
        slots += own->nslots;
    }
    for (int64_t i = 0; i < function->nsegments; i++) {
        if (segment_at(function, i)->holders == 0) { /* its node would never be freed */
            PyErr_SetString(PyExc_ValueError, "neither a result nor an edge leads to a segment");
            return -1;
        }
    }
    return 0;
}

static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"forward", "wrap", "segments", "arguments", "results", "views", NULL};
    PyObject *forward, *wrap, *segments;
    long long arguments, results, views = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO!LL|L", names, &forward, &wrap, &PyTuple_Type,
                                     &segments, &arguments, &results, &views)) {
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
    function->segments = Py_NewRef(segments);
    function->nsegments = PyTuple_GET_SIZE(segments);
    function->arguments = arguments;
    function->given = compiled_graph_nouts(forward);
    function->results = results;
    function->views = views;
    if (take_segments(function) < 0) {
        Py_DECREF(function);
        return NULL;
    }
    return (PyObject *)function;
}

static int function_traverse(TrainingFunction *function, visitproc visit, void *arg)
{
    Py_VISIT(function->forward);
    Py_VISIT(function->wrap);
    Py_VISIT(function->segments);
    return 0;
}

static void function_dealloc(TrainingFunction *function)
{
    PyObject_GC_UnTrack(function);
    Py_CLEAR(function->forward);
    Py_CLEAR(function->wrap);
    Py_CLEAR(function->segments);
    Py_TYPE(function)->tp_free((PyObject *)function);
}

static PyMemberDef function_members[] = {
    {"segments", T_OBJECT, offsetof(TrainingFunction, segments), READONLY,
     "the parts of the backward: each comes after those that its edges lead to"},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject TrainingFunctionType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.TrainingFunction",
    .tp_doc = PyDoc_STR("TrainingFunction(forward, wrap, segments, arguments, results, views=0)\n\n"
                        "A compiled forward whose results have gradients; the nodes in autograd's graph run "
                        "the segments."),
    .tp_basicsize = sizeof(TrainingFunction),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = function_new,
    .tp_dealloc = (destructor)function_dealloc,
    .tp_traverse = (traverseproc)function_traverse,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(TrainingFunction, vectorcall),
    .tp_members = function_members,
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
    return PyModule_AddFunctions(module, methods) < 0 || init_segment(module) < 0
                   || init_written_input(module) < 0
               ? -1
               : PyModule_AddType(module, &TrainingFunctionType);
}
