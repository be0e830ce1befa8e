/* What our autograd nodes do when autograd runs, releases or destroys them: the vtable of autograd_node.h.
 *
 * In:  gradients of the slots, from the engine, without the GIL.
 * Out: a gradient for each edge.
 *
 * A C++ exception passes through these functions when a saved tensor was written to, when a backward runs for
 * the second time, or when Python raises. Cleanup attributes let go of what a function holds; the compiler
 * turns them into landing pads (-fexceptions).
 */
#include "autograd/autograd_node.h"

#include <string.h>

#include "capture_native.h"
#include "tensors/tensor_access.h"
#include "tensors/torch_symbols.h"

#define CLEANUP(function) __attribute__((cleanup(function)))
#define FEW 16

/* --- things held while an exception may pass --------------------------------------------------------- */

static void unlock(pthread_mutex_t **mutex)
{
    pthread_mutex_unlock(*mutex);
}
static void free_flags(bool **flags)
{
    free(*flags);
}
static void release_gil(PyGILState_STATE *state)
{
    PyGILState_Release(*state);
}

typedef struct {
    TensorPointer few[FEW], *items;
    int64_t count;
} Tensors;

/* Takes the GIL. Throws MemoryError. */
static void throw_no_memory(void)
{
    PyGILState_STATE gil CLEANUP(release_gil) = PyGILState_Ensure();
    PyErr_NoMemory();
    throw_python_error();
}

/* May throw. */
static void tensors_start(Tensors *tensors, int64_t capacity)
{
    tensors->count = 0;
    tensors->items = capacity <= FEW ? tensors->few : malloc((size_t)capacity * sizeof(TensorPointer));
    if (tensors->items == NULL) {
        throw_no_memory();
    }
}

static void tensors_end(Tensors *tensors)
{
    for (int64_t i = 0; i < tensors->count; i++) {
        if (tensors->items[i] != no_tensor) {
            autograd_symbols.assign(&no_tensor, &tensors->items[i]);
        }
    }
    if (tensors->items != tensors->few) {
        free(tensors->items);
    }
}

typedef struct {
    PyObject *few[2 * FEW], **items;
    int64_t count;
} Objects;

static int objects_start(Objects *objects, int64_t count)
{
    objects->count = 0;
    objects->items = count <= 2 * FEW ? objects->few : PyMem_New(PyObject *, count);
    if (objects->items == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memset(objects->items, 0, (size_t)count * sizeof(PyObject *));
    objects->count = count;
    return 0;
}

static void objects_end(Objects *objects)
{
    for (int64_t i = 0; i < objects->count; i++) {
        Py_XDECREF(objects->items[i]);
    }
    if (objects->items != objects->few) {
        PyMem_Free(objects->items);
    }
}

/* --- apply ------------------------------------------------------------------------------------------- */

enum { TYPE = 1, DESTROY, DELETE, INCREF_PYOBJECT = 5, RELEASE_VARIABLES = 11, APPLY = 18, VTABLE_WORDS };

/* Adds a reference, as c10::intrusive_ptr does. The second reference of an object with a Python half keeps
 * that half alive. The engine has the first one. */
static Node *new_reference(Node *node)
{
    int64_t references = (int64_t)__atomic_add_fetch(&node->references, 1, __ATOMIC_RELAXED);
    if (references < 0 && (uint32_t)references == 2) {
        ((void (*)(const Node *))node->vtable[INCREF_PYOBJECT - 2])(node);
    }
    return node;
}

/* Was the tensor freed, or written since? Then `unpack` throws. */
static bool is_gone(const char *saved)
{
    const char *tensor = *(TensorPointer *)saved;
    if (tensor == no_tensor) {
        return true;
    }
    const char *counter = TENSOR_FIELD(tensor, tensor_offsets.version_counter, char *);
    if (counter == NULL) { /* an inference tensor */
        return false;
    }
    uint32_t version =
        __atomic_load_n(&TENSOR_FIELD(counter, tensor_offsets.version_value, uint32_t), __ATOMIC_RELAXED);
    return version != TENSOR_FIELD(saved, saved_version_offset, uint32_t);
}

/* A result that was saved without its node gets this node: `unpack` takes over the reference. Where a tensor
 * was freed already, `unpack` throws before it looks. What is gone, and is not needed for the gradients that
 * are asked for, stays away; but a derivative of the gradients would need it. */
static void unpack_saved(Node *node, Tensors *out)
{
    const Segment *segment = node->segment;
    pthread_mutex_t *locked CLEANUP(unlock) = &node->mutex;
    pthread_mutex_lock(locked);
    bool *asked CLEANUP(free_flags) = torch_symbols.grad_mode() ? NULL : asked_edges(node);
    for (char *saved = node->saved; saved != node->saved_end; saved += saved_bytes) {
        if (asked != NULL && is_gone(saved) && !needed_by_edges(segment, out->count, asked, true)) {
            out->items[out->count++] = no_tensor;
            continue;
        }
        bool apart = out->count >= segment->nsaved_arguments
                     && segment->kept_apart[out->count - segment->nsaved_arguments];
        Node *taken = apart && *(TensorPointer *)saved != no_tensor ? new_reference(node) : NULL;
        autograd_symbols.unpack(&out->items[out->count], saved,
                                &taken); /* throws where the tensor was written to or freed */
        out->count++;
    }
}

static int wrap_argument(const TensorPointer *tensor, PyObject **out)
{
    *out = *tensor == no_tensor ? NULL : torch_symbols.wrap((Handle)tensor);
    return *tensor != no_tensor && *out == NULL ? -1 : 0;
}

/* The saved tensors, then the gradients of the slots. NULL: a gradient that nobody sent, or what is gone. */
static int wrap_arguments(const Segment *segment, const Tensors *saved, const TensorVector *grads,
                          Objects *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < saved->count; i++, n++) {
        if (wrap_argument(&saved->items[i], &out->items[n]) < 0) {
            return -1;
        }
    }
    for (int64_t i = 0; i < segment->nslots; i++, n++) {
        if (wrap_argument(&grads->begin[i], &out->items[n]) < 0) {
            return -1;
        }
    }
    return 0;
}

static PyObject *tuple_of(PyObject *const *items, int64_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int64_t i = 0; tuple != NULL && i < count; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(items[i] == NULL ? Py_None : items[i]));
    }
    return tuple;
}

/* Makes an empty tensor at this place in autograd's graph. Takes over the edge. */
static PyObject *tensor_at(Edge edge)
{
    static const int64_t zero = 0, one = 1;
    PyObject *tensor = tensor_new_strided(DTYPE_FLOAT32, 1, &zero, &one);
    if (tensor != NULL && edge.function != NULL) {
        autograd_symbols.set_gradient_edge(tensor_handle(tensor), &edge);
    }
    return tensor;
}

static PyObject *tensors_at_edges(const Node *node)
{
    int64_t count = torch_symbols.grad_mode() ? node->edges_end - node->edges : 0;
    PyObject *tensors = PyTuple_New(count);
    for (int64_t i = 0; tensors != NULL && i < count; i++) {
        Edge edge = node->edges[i];
        PyObject *tensor =
            tensor_at((Edge){edge.function == NULL ? NULL : new_reference(edge.function), edge.input});
        if (tensor == NULL) {
            Py_CLEAR(tensors);
        } else {
            PyTuple_SET_ITEM(tensors, i, tensor);
        }
    }
    return tensors;
}

PyObject *edge_to(PyObject *tensor)
{
    Edge edge = {NULL, 0};
    if (tensor_requires_grad(tensor)) {
        autograd_symbols.gradient_edge(&edge, tensor_handle(tensor));
    }
    return tensor_at(edge);
}

/* Trace and profile functions of the thread do not see it: the first run compiles the backward. */
static PyObject *call_run_backward(Segment *segment, PyObject *saved, PyObject *tangents, PyObject *edges)
{
    PyThreadState *tstate = PyThreadState_Get();
    PyThreadState_EnterTracing(tstate);
    PyObject *grads = PyObject_CallFunctionObjArgs(segment->run_backward, (PyObject *)segment, saved,
                                                   tangents, edges, NULL);
    PyThreadState_LeaveTracing(tstate);
    return grads;
}

/* Python runs the backward the first time, under create_graph, and where something is missing or a gradient
 * is no plain tensor, or has other strides than before. */
static int run_in_python(Node *node, const Objects *arguments, Objects *out)
{
    Segment *segment = node->segment;
    int64_t nsaved = segment->nsaved_arguments + segment->nsaved_results;
    PyObject *saved = tuple_of(arguments->items, nsaved),
             *tangents = tuple_of(arguments->items + nsaved, segment->nslots);
    PyObject *edges = saved == NULL || tangents == NULL ? NULL : tensors_at_edges(node);
    PyObject *grads = edges == NULL ? NULL : call_run_backward(segment, saved, tangents, edges);
    Py_XDECREF(saved);
    Py_XDECREF(tangents);
    Py_XDECREF(edges);
    if (grads != NULL && !(PyTuple_Check(grads) && PyTuple_GET_SIZE(grads) == segment->nedges)) {
        PyErr_Format(PyExc_TypeError, "run_backward gave %R, expected a tuple of %lld items", grads,
                     (long long)segment->nedges);
        Py_CLEAR(grads);
    }
    for (int64_t i = 0; grads != NULL && i < segment->nedges; i++) {
        out->items[i] = Py_NewRef(PyTuple_GET_ITEM(grads, i));
    }
    int status = grads == NULL ? -1 : 0;
    Py_XDECREF(grads);
    return status;
}

static int run_backward(Node *node, Objects *arguments, Objects *out)
{
    const Segment *segment = node->segment;
    PyObject **tangents = arguments->items + arguments->count - segment->nslots;
    bool native = segment->backward != NULL && !torch_symbols.grad_mode();
    for (PyObject **saved = arguments->items; saved != tangents && native; saved++) {
        native = *saved != NULL;
    }
    for (int64_t i = 0; i < segment->nslots && native; i++) {
        native = tangents[i] != NULL && tensor_is_plain(tangents[i]);
    }
    native = native && compiled_graph_expects(segment->backward, tangents, segment->nslots);
    return native ? compiled_graph_run(segment->backward, arguments->items, arguments->count, out->items)
                  : run_in_python(node, arguments, out);
}

/* May throw. */
static void give_grads(const Segment *segment, const Objects *grads, TensorVector *out)
{
    size_t count = (size_t)segment->nedges, capacity = count > 0 ? count : 1;
    TensorPointer *memory = allocate_for_torch(capacity * sizeof(TensorPointer));
    if (memory == NULL) {
        PyErr_NoMemory();
        throw_python_error();
    }
    *out = (TensorVector){memory, memory + count, memory + capacity};
    for (size_t i = 0; i < count; i++) {
        out->begin[i] = no_tensor;
        if (grads->items[i] != Py_None) {
            autograd_symbols.assign(tensor_handle(grads->items[i]), &out->begin[i]);
        }
    }
}

static TensorVector *node_apply(TensorVector *out, Node *node, TensorVector *grads)
{
    const Segment *segment = node->segment;
    Tensors saved CLEANUP(tensors_end);
    tensors_start(&saved, segment->nsaved_arguments + segment->nsaved_results);
    unpack_saved(node, &saved);
    PyGILState_STATE gil CLEANUP(release_gil) = PyGILState_Ensure();
    Objects arguments CLEANUP(objects_end) = {.count = 0, .items = arguments.few};
    Objects results CLEANUP(objects_end) = {.count = 0, .items = results.few};
    if (objects_start(&arguments, saved.count + segment->nslots) < 0
        || objects_start(&results, segment->nedges) < 0
        || wrap_arguments(segment, &saved, grads, &arguments) < 0
        || run_backward(node, &arguments, &results) < 0) {
        throw_python_error();
    }
    give_grads(segment, &results, out);
    return out;
}

/* What gradients need that the backward did not ask for stays, as what operations saved that did not run. */
static void node_release(Node *node)
{
    pthread_mutex_lock(&node->mutex);
    bool *asked CLEANUP(free_flags) = asked_edges(node);
    int64_t number = 0;
    for (char *saved = node->saved; saved != node->saved_end; saved += saved_bytes, number++) {
        if (asked == NULL || !needed_by_edges(node->segment, number, asked, false)) {
            autograd_symbols.reset_saved(saved);
        }
    }
    pthread_mutex_unlock(&node->mutex);
}

/* --- the end of a node ------------------------------------------------------------------------------- */

/* The last node that is alive lets go of the segment. */
static void let_go(Segment *segment)
{
    if (__atomic_sub_fetch(&segment->nodes, 1, __ATOMIC_ACQ_REL) == 0 && Py_IsInitialized()) {
        PyGILState_STATE gil = PyGILState_Ensure();
        Py_DECREF(segment);
        PyGILState_Release(gil);
    }
}

static void node_destroy(Node *node)
{
    Segment *segment = node->segment;
    ((void (*)(Node *))autograd_symbols.index_vtable[DESTROY])(node);
    let_go(segment);
}

static void node_delete(Node *node)
{
    Segment *segment = node->segment;
    ((void (*)(Node *))autograd_symbols.index_vtable[DELETE])(node);
    let_go(segment);
}

void **autograd_vtable(void)
{
    static void *vtable[VTABLE_WORDS], *type[3];
    if (vtable[APPLY] == NULL) {
        memcpy(vtable, autograd_symbols.node_vtable, sizeof vtable);
        memcpy(type, autograd_symbols.index_type, sizeof type); /* the class, name and base of the node */
        type[1] = "21CapturedGraphBackward";                    /* what grad_fn.name() tells */
        vtable[TYPE] = type;
        vtable[DESTROY] = (void *)node_destroy;
        vtable[DELETE] = (void *)node_delete;
        vtable[RELEASE_VARIABLES] = (void *)node_release;
        vtable[APPLY] = (void *)node_apply;
    }
    return vtable + 2;
}
