/* What our autograd nodes do when autograd runs, releases or destroys them: the vtable of autograd_node.h.
 *
 * In:  gradients of the results, from the engine, without the GIL.
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

/* masks() -> (conflicts, needs), tuples of ints: one buffer. */
static int read_masks(TrainingFunction *function)
{
    int64_t counts[2] = {function->ndifferentiable, function->nsaved_arguments + function->nsaved_results};
    PyObject *masks = PyObject_CallNoArgs(function->masks), *tuples[2];
    uint64_t *words = PyMem_RawCalloc((size_t)(counts[0] + counts[1]), sizeof(uint64_t)), *next = words;
    if (words == NULL) {
        PyErr_NoMemory();
    }
    bool pair = masks != NULL && words != NULL
                && PyArg_ParseTuple(masks, "O!O!", &PyTuple_Type, &tuples[0], &PyTuple_Type, &tuples[1]);
    int status = pair ? 0 : -1;
    for (int t = 0; t < 2 && status == 0; t++) {
        if (PyTuple_GET_SIZE(tuples[t]) != counts[t]) {
            PyErr_Format(PyExc_ValueError, "expected %lld masks, got %R", (long long)counts[t], tuples[t]);
            status = -1;
        }
        for (int64_t i = 0; i < counts[t] && status == 0; i++) {
            *next++ = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(tuples[t], i));
            status = PyErr_Occurred() ? -1 : 0;
        }
    }
    Py_XDECREF(masks);
    if (status < 0 || function->conflicts != NULL) { /* unless another thread was quicker */
        PyMem_RawFree(words);
        return status;
    }
    function->needs = words + counts[0];
    __atomic_store_n(&function->conflicts, words, __ATOMIC_RELEASE);
    return 0;
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

/* --- backwards that start from some of the results --------------------------------------------------- */

/* Takes the GIL. May throw. */
static void learn_masks(TrainingFunction *function)
{
    PyGILState_STATE gil CLEANUP(release_gil) = PyGILState_Ensure();
    if (function->conflicts == NULL && read_masks(function) < 0) {
        throw_python_error();
    }
}

static Progress *progress_of(const Node *node)
{
    return node->saved == node->saved_end || node->function->ndifferentiable > MANY_RESULTS
               ? NULL
               : (Progress *)node->saved_end;
}

static uint64_t all_results(const TrainingFunction *function)
{
    return ~0ull >> (64 - function->ndifferentiable);
}

/* The results that a backward may still start from. */
static uint64_t results_left(const TrainingFunction *function, uint64_t spent)
{
    uint64_t left = 0;
    for (int64_t i = 0; i < function->ndifferentiable; i++) {
        left |= (uint64_t)(((function->conflicts[i] | 1ull << i) & spent) == 0) << i;
    }
    return left;
}

static bool were_freed(const TrainingFunction *function, uint64_t sent, uint64_t spent)
{
    for (int64_t i = 0; i < function->ndifferentiable; i++) {
        if ((sent >> i & 1) && (function->conflicts[i] & spent) != 0) {
            return true;
        }
    }
    return false;
}

static void free_all(Node *node)
{
    for (char *saved = node->saved; saved != node->saved_end; saved += saved_bytes) {
        autograd_symbols.reset_saved(saved);
    }
}

/* The results whose gradients came, noted for `node_release`; ~0 where everything that is saved is wanted and
 * still there. */
static uint64_t note_sent(Node *node, const TensorVector *grads)
{
    TrainingFunction *function = node->function;
    Progress *progress = progress_of(node);
    if (progress == NULL) {
        return ~0ull;
    }
    uint64_t sent = 0;
    for (int64_t i = 0; i < function->ndifferentiable; i++) {
        sent |= (uint64_t)(grads->begin[i] != no_tensor) << i;
    }
    if (sent != all_results(function) && function->conflicts == NULL) {
        learn_masks(function);
    }
    pthread_mutex_lock(&node->mutex);
    progress->sent = sent;
    if (progress->spent != 0 && were_freed(function, sent, progress->spent)) {
        free_all(node); /* then unpacking throws what eager throws */
    }
    bool all = progress->spent == 0 || sent == all_results(function) || torch_symbols.grad_mode();
    pthread_mutex_unlock(&node->mutex);
    return all ? ~0ull : sent;
}

/* A result was saved without its node: `unpack` gives the node back to it, and takes over the reference.
 * Where a tensor was freed already, `unpack` throws before it looks. Where only results that are not `sent`
 * lead back to a tensor, it is no_tensor. */
static void unpack_saved(Node *node, uint64_t sent, Tensors *out)
{
    const TrainingFunction *function = node->function;
    pthread_mutex_t *locked CLEANUP(unlock) = &node->mutex;
    pthread_mutex_lock(locked);
    for (char *saved = node->saved; saved != node->saved_end; saved += saved_bytes) {
        if (sent != ~0ull && (function->needs[out->count] & sent) == 0) {
            out->items[out->count++] = no_tensor;
            continue;
        }
        bool own = out->count >= function->nsaved_arguments
                   && is_differentiable_result(
                       function, function->saved_results[out->count - function->nsaved_arguments]);
        Node *taken = own && *(TensorPointer *)saved != no_tensor ? new_reference(node) : NULL;
        autograd_symbols.unpack(&out->items[out->count], saved,
                                &taken); /* throws where the tensor was written to or freed */
        out->count++;
    }
}

/* The saved tensors, then the gradients of the differentiable results. A gradient that nobody sent is NULL.
 */
static int wrap_arguments(const TrainingFunction *function, Tensors *saved, const TensorVector *grads,
                          Objects *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < saved->count; i++, n++) {
        if (saved->items[i] != no_tensor) {
            out->items[n] = torch_symbols.wrap((Handle)&saved->items[i]);
            if (out->items[n] == NULL) {
                return -1;
            }
        }
    }
    for (int64_t i = 0; i < function->ndifferentiable; i++) {
        if (grads->begin[i] != no_tensor) {
            out->items[n] = torch_symbols.wrap((Handle)&grads->begin[i]);
            if (out->items[n] == NULL) {
                return -1;
            }
        }
        n++;
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

/* Python runs the backward the first time, under create_graph, and where a gradient is missing or is no plain
 * tensor. */
static int run_in_python(Node *node, const Objects *arguments, Objects *out)
{
    TrainingFunction *function = node->function;
    int64_t nsaved = function->nsaved_arguments + function->nsaved_results;
    PyObject *saved = tuple_of(arguments->items, nsaved),
             *tangents = tuple_of(arguments->items + nsaved, function->ndifferentiable);
    PyObject *edges = saved == NULL || tangents == NULL ? NULL : tensors_at_edges(node);
    PyObject *grads =
        edges == NULL ? NULL
                      : PyObject_CallFunctionObjArgs(function->run_backward, saved, tangents, edges, NULL);
    Py_XDECREF(saved);
    Py_XDECREF(tangents);
    Py_XDECREF(edges);
    if (grads != NULL && !(PyTuple_Check(grads) && PyTuple_GET_SIZE(grads) == function->arguments)) {
        PyErr_Format(PyExc_TypeError, "run_backward gave %R, expected a tuple of %lld items", grads,
                     (long long)function->arguments);
        Py_CLEAR(grads);
    }
    for (int64_t i = 0; grads != NULL && i < function->arguments; i++) {
        out->items[i] = Py_NewRef(PyTuple_GET_ITEM(grads, i));
    }
    int status = grads == NULL ? -1 : 0;
    Py_XDECREF(grads);
    return status;
}

/* Fills in zeros for the gradients that nobody sent; the graph's plan says how each is laid out. 0: done; 1:
 * Python has to do it; -1: an exception. */
static int add_zeros(const TrainingFunction *function, Objects *arguments, uint64_t missing)
{
    int64_t first = arguments->count - function->ndifferentiable;
    for (int64_t i = 0; i < function->ndifferentiable; i++) {
        if (missing >> i & 1
            && (arguments->items[first + i] = compiled_graph_zeros(function->backward, first + i)) == NULL) {
            for (int64_t made = 0; made < i; made++) {
                if (missing >> made & 1) {
                    Py_CLEAR(arguments->items[first + made]);
                }
            }
            return PyErr_Occurred() ? -1 : 1;
        }
    }
    return 0;
}

/* As in eager, an argument gets None where its gradient would come from results that have none. */
static void drop_without_source(const TrainingFunction *function, uint64_t missing, Objects *grads)
{
    for (int64_t i = 0; i < function->arguments; i++) {
        uint64_t sources = function->sources[i];
        if (sources != 0 && (sources & ~missing) == 0) {
            Py_XSETREF(grads->items[i], Py_NewRef(Py_None));
        }
    }
}

static int run_backward(Node *node, bool whole, Objects *arguments, Objects *out)
{
    TrainingFunction *function = node->function;
    int64_t first = arguments->count - function->ndifferentiable;
    bool native = whole && function->backward != NULL && !torch_symbols.grad_mode();
    uint64_t missing = 0;
    for (int64_t i = 0; i < function->ndifferentiable && native; i++) {
        PyObject *tangent = arguments->items[first + i];
        if (tangent != NULL) {
            native = tensor_is_plain(tangent);
        } else if (function->sources != NULL) {
            missing |= (uint64_t)1 << i;
        } else {
            native = false;
        }
    }
    int status = native ? add_zeros(function, arguments, missing) : 1;
    if (status == 1) {
        return run_in_python(node, arguments, out);
    }
    if (status < 0
        || compiled_graph_run(function->backward, arguments->items, arguments->count, out->items) < 0) {
        return -1;
    }
    if (missing != 0) {
        drop_without_source(function, missing, out);
    }
    return 0;
}

/* May throw. */
static void give_grads(const TrainingFunction *function, const Objects *grads, TensorVector *out)
{
    size_t count = (size_t)function->nwanted, capacity = count > 0 ? count : 1;
    TensorPointer *memory = allocate_for_torch(capacity * sizeof(TensorPointer));
    if (memory == NULL) {
        PyErr_NoMemory();
        throw_python_error();
    }
    *out = (TensorVector){memory, memory + count, memory + capacity};
    for (size_t i = 0; i < count; i++) {
        PyObject *grad = grads->items[function->wanted[i]];
        out->begin[i] = no_tensor;
        if (grad != Py_None) {
            autograd_symbols.assign(tensor_handle(grad), &out->begin[i]);
        }
    }
}

static TensorVector *node_apply(TensorVector *out, Node *node, TensorVector *grads)
{
    TrainingFunction *function = node->function;
    Tensors saved CLEANUP(tensors_end);
    tensors_start(&saved, function->nsaved_arguments + function->nsaved_results);
    uint64_t sent = note_sent(node, grads);
    unpack_saved(node, sent, &saved);
    PyGILState_STATE gil CLEANUP(release_gil) = PyGILState_Ensure();
    Objects arguments CLEANUP(objects_end) = {.count = 0, .items = arguments.few};
    Objects results CLEANUP(objects_end) = {.count = 0, .items = results.few};
    if (objects_start(&arguments, saved.count + function->ndifferentiable) < 0
        || objects_start(&results, function->arguments) < 0
        || wrap_arguments(function, &saved, grads, &arguments) < 0
        || run_backward(node, sent == ~0ull, &arguments, &results) < 0) {
        throw_python_error();
    }
    give_grads(function, &results, out);
    return out;
}

/* Frees what no other result needs. */
static void node_release(Node *node)
{
    const TrainingFunction *function = node->function;
    Progress *progress = progress_of(node);
    pthread_mutex_lock(&node->mutex);
    uint64_t left = 0;
    if (progress != NULL && function->conflicts != NULL) {
        progress->spent |= progress->sent;
        left = results_left(function, progress->spent);
    }
    for (char *saved = node->saved; saved != node->saved_end; saved += saved_bytes) {
        if (left == 0 || (function->needs[(saved - node->saved) / (int64_t)saved_bytes] & left) == 0) {
            autograd_symbols.reset_saved(saved);
        }
    }
    pthread_mutex_unlock(&node->mutex);
}

/* --- the end of a node ------------------------------------------------------------------------------- */

/* The last node that is alive lets go of the function. */
static void let_go(TrainingFunction *function)
{
    if (__atomic_sub_fetch(&function->nodes, 1, __ATOMIC_ACQ_REL) == 0 && Py_IsInitialized()) {
        PyGILState_STATE gil = PyGILState_Ensure();
        Py_DECREF(function);
        PyGILState_Release(gil);
    }
}

static void node_destroy(Node *node)
{
    TrainingFunction *function = node->function;
    ((void (*)(Node *))autograd_symbols.index_vtable[DESTROY])(node);
    let_go(function);
}

static void node_delete(Node *node)
{
    TrainingFunction *function = node->function;
    ((void (*)(Node *))autograd_symbols.index_vtable[DELETE])(node);
    let_go(function);
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
