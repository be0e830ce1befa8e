/* What torch's autograd nodes look like, verified against a real one: see autograd_node.h.
 *
 * In:  an IndexBackward0 made by Python, with properties that Python tells.
 * Out: `autograd_layout_ready()`: 1 where every field stands where `Node` says. Else
 *      torch.autograd.Function makes the nodes.
 */
#include "autograd/autograd_node.h"

#include <dlfcn.h>
#include <string.h>

#include "tensors/tensor_access.h"
#include "tensors/torch_symbols.h"

AutogradSymbols autograd_symbols;
size_t saved_bytes, saved_version_offset;
void *plain_meta;
TensorPointer no_tensor;
static size_t forward_grad_offset; /* in AutogradMeta */
static Node *thrower; /* a node whose first saved tensor has an unpack hook that raises `pending` */
static PyObject *thrower_object, *pending[3];

#define CPU "libtorch_cpu.so"

static const struct {
    const char *library, *name;
    void **target;
} WANTED[] = {
    {CPU, "_ZTVN5torch8autograd4NodeE", (void **)&autograd_symbols.node_vtable},
    {CPU, "_ZTVN5torch8autograd9generated14IndexBackward0E", (void **)&autograd_symbols.index_vtable},
    {CPU, "_ZTIN5torch8autograd9generated14IndexBackward0E", (void **)&autograd_symbols.index_type},
    {CPU, "_ZN5torch8autograd4impl13gradient_edgeERKN2at6TensorE", (void **)&autograd_symbols.gradient_edge},
    {CPU, "_ZN5torch8autograd4impl17set_gradient_edgeERKN2at6TensorENS0_4EdgeE",
     (void **)&autograd_symbols.set_gradient_edge},
    {CPU, "_ZN5torch8autograd13InputMetadataC1ERKN2at6TensorE", (void **)&autograd_symbols.new_metadata},
    {CPU, "_ZN5torch8autograd13SavedVariableC1ERKN2at6TensorEbb", (void **)&autograd_symbols.new_saved},
    {CPU,
     "_ZNK5torch8autograd13SavedVariable6unpackEN3c1013intrusive_ptrINS0_4NodeENS2_6detail34intrusive_target_"
     "default_null_typeIS4_EEEE",
     (void **)&autograd_symbols.unpack},
    {CPU, "_ZN5torch8autograd13SavedVariable10reset_dataEv", (void **)&autograd_symbols.reset_saved},
    {CPU, "_ZN2at15sequence_number17get_and_incrementEv", (void **)&autograd_symbols.next_sequence},
    {CPU, "_ZN2at14RecordFunction15currentThreadIdEv", (void **)&autograd_symbols.thread},
    {CPU, "_ZN2at23SavedTensorDefaultHooks13get_tls_stateEv", (void **)&autograd_symbols.saved_hooks},
    {CPU, "_ZN5torch8autograd32get_current_graph_task_exec_infoEv", (void **)&autograd_symbols.asked_nodes},
    {CPU, "_ZN5torch8autograd11AnomalyMode8_enabledE", (void **)&autograd_symbols.anomaly_mode},
    {CPU, "aoti_torch_assign_tensors", (void **)&autograd_symbols.assign},
};

/* The operator new whose operator delete torch's destructors call. The linker looks for a name that
 * libtorch_cpu uses among what the process has loaded first (an allocator, a sanitizer), then among the
 * library's own dependencies. */
static void *allocator(void *library, const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    return found != NULL ? found : dlsym(library, name);
}

static bool find_allocators(void)
{
    void *library = dlopen(CPU, RTLD_NOLOAD | RTLD_LAZY);
    autograd_symbols.new_or_null = allocator(library, "_ZnwmRKSt9nothrow_t");
    autograd_symbols.delete_memory = allocator(library, "_ZdlPv");
    return autograd_symbols.new_or_null != NULL && autograd_symbols.delete_memory != NULL;
}

static bool find_symbols(void)
{
#if !defined(__x86_64__)
    return false; /* only the C++ ABI of x86-64 passes the place of a result in memory as an ordinary first
                     argument */
#endif
    for (size_t i = 0; i < sizeof WANTED / sizeof *WANTED; i++) {
        void *library = dlopen(WANTED[i].library, RTLD_NOLOAD | RTLD_LAZY);
        *WANTED[i].target = library == NULL ? NULL : dlsym(library, WANTED[i].name);
        if (*WANTED[i].target == NULL) {
            return false;
        }
    }
    return find_allocators();
}

/* --- a real node ------------------------------------------------------------------------------------- */

/* `node` saves two index tensors of x[i, j]; `dual` has a forward gradient, `leaf` has none. torch's function
   for it in torch.autograd.forward_ad would first compile a dozen functions by torch.jit: 0.2 s, and
   warnings. */
static const char SAMPLE_CODE[] =
    "import torch\n"
    "from torch._C import _autograd as hooks\n"
    "forbidden = hooks._saved_tensors_hooks_get_disabled_error_message()\n"
    "hooks._saved_tensors_hooks_enable()\n"
    "with torch.inference_mode(False), torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(lambda "
    "t: t, lambda t: t):\n"
    "    inside = probe()\n"
    "if forbidden is not None: hooks._saved_tensors_hooks_disable(forbidden)\n"
    "outside = probe()\n"
    "with torch.inference_mode(False), torch.enable_grad():\n"
    "    leaf = torch.zeros(7, 11, device='cpu', dtype=torch.float32, requires_grad=True)\n"
    "    index = torch.zeros(3, device='cpu', dtype=torch.int64)\n"
    "    torch._C._autograd._unsafe_set_version_counter((index,), (7919,))\n"
    "    out = leaf[index, index]\n"
    "    node = out.grad_fn\n"
    "    sequence = node._sequence_nr()\n"
    "    for saved in node._raw_saved_indices: saved.register_hooks(lambda t: t, unpack)\n"
    "    level = torch._C._enter_dual_level()\n"
    "    try:\n"
    "        dual = torch._VF._make_dual(torch.zeros(2, device='cpu').requires_grad_(), torch.ones(2, "
    "device='cpu'), level=level)\n"
    "        examine()\n"
    "    finally:\n"
    "        torch._C._exit_dual_level(level=level)\n";

static char *meta_of(PyObject *tensor)
{
    return TENSOR_FIELD(TENSOR_IMPL(tensor), tensor_offsets.autograd_meta, char *);
}

static bool node_fits(const Node *node, uint64_t sequence, const Node *accumulator)
{
    return node->vtable == autograd_symbols.index_vtable + 2 && node->sequence == sequence
           && node->topological == 1 && node->thread == autograd_symbols.thread()
           && node->edges_end == node->edges + 1 && node->edges->function == accumulator
           && node->edges->input == 0 && node->metadata == node->few_metadata && node->nmetadata == 1
           && node->metadata_capacity == FEW_METADATA
           && node->retains_grad_hooks.buckets == &node->retains_grad_hooks.single
           && node->retains_grad_hooks.nbuckets == 1 && node->retains_grad_hooks.load == 1.0f
           && node->retains_grad_hooks.count == 0 && node->anomaly == NULL && !node->released
           && (char *)node->sizes[1] == (char *)node->sizes[0] + 2 * sizeof(int64_t)
           && ((int64_t *)node->sizes[0])[0] == 7 && ((int64_t *)node->sizes[0])[1] == 11;
}

#define SAMPLE_VERSION 7919

/* Pointers stand before the version; 0 if it is not found. */
static size_t find_saved_version(const char *saved)
{
    size_t offset = sizeof(void *);
    while (offset < saved_bytes && TENSOR_FIELD(saved, offset, uint32_t) != SAMPLE_VERSION) {
        offset += sizeof(uint32_t);
    }
    return offset < saved_bytes ? offset : 0;
}

static const char *examined_problem;

static PyObject *examine(PyObject *space, PyObject *unused)
{
    PyObject *leaf = PyDict_GetItemString(space, "leaf"), *dual = PyDict_GetItemString(space, "dual"),
             *out = PyDict_GetItemString(space, "out");
    PyObject *sequence = PyDict_GetItemString(space, "sequence");
    plain_meta = *(void **)meta_of(leaf);
    const Node *accumulator = TENSOR_FIELD(meta_of(leaf), tensor_offsets.meta_grad_fn + 8, Node *);
    Node *node = TENSOR_FIELD(meta_of(out), tensor_offsets.meta_grad_fn, Node *);
    forward_grad_offset = (size_t)tensor_offsets.meta_grad_fn + 16;
    size_t bytes = (size_t)(node->saved_end - node->saved);
    saved_bytes = bytes / 2;
    if (!node_fits(node, PyLong_AsUnsignedLongLong(sequence), accumulator)) {
        examined_problem = "a field of torch's node is elsewhere";
    } else if (bytes % 16 != 0 || saved_bytes < 32 || saved_bytes > 256) {
        examined_problem = "the size of a saved variable";
    } else if (!has_forward_grad(dual) || has_forward_grad(leaf) || has_forward_grad(out)) {
        examined_problem = "forward gradients are elsewhere";
    } else {
        saved_version_offset = find_saved_version(node->saved);
        bool is_same = find_saved_version(node->saved + saved_bytes) == saved_version_offset;
        examined_problem = saved_version_offset > 0 && is_same ? NULL : "the version of a saved variable";
    }
    thrower = node;
    Py_RETURN_NONE;
}

static PyObject *probe(PyObject *unused, PyObject *unused_too)
{
    return PyBool_FromLong(saved_tensor_hooks_active());
}

static PyObject *raise_pending(PyObject *unused, PyObject *packed)
{
    PyErr_Restore(pending[0], pending[1], pending[2]);
    memset(pending, 0, sizeof pending);
    return NULL;
}

static int add_function(PyObject *space, PyMethodDef *method)
{
    PyObject *function = PyCFunction_New(method, space);
    int status = function == NULL ? -1 : PyDict_SetItemString(space, method->ml_name, function);
    Py_XDECREF(function);
    return status;
}

static int run_sample(PyObject *space)
{
    static PyMethodDef functions[] = {{"examine", examine, METH_NOARGS, NULL},
                                      {"probe", probe, METH_NOARGS, NULL},
                                      {"unpack", raise_pending, METH_O, NULL}};
    if (PyDict_SetItemString(space, "__builtins__", PyEval_GetBuiltins()) < 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (add_function(space, &functions[i]) < 0) {
            return -1;
        }
    }
    PyObject *ran = PyRun_String(SAMPLE_CODE, Py_file_input, space, space);
    if (ran == NULL) {
        return -1;
    }
    Py_DECREF(ran);
    if (PyDict_GetItemString(space, "inside") != Py_True
        || PyDict_GetItemString(space, "outside") != Py_False) {
        examined_problem = "saved tensor hooks are elsewhere";
    }
    thrower_object = Py_XNewRef(PyDict_GetItemString(space, "node")); /* lives as long as the process */
    return examined_problem == NULL;
}

static int examine_torch(void)
{
    if (!tensor_offsets.by_offset || torch_symbols.undefined_tensor == NULL || !find_symbols()) {
        return 0;
    }
    no_tensor = torch_symbols.undefined_tensor;
    PyObject *space = PyDict_New();
    int status = space == NULL ? -1 : run_sample(space);
    if (space != NULL) {
        PyDict_Clear(space); /* the functions in it refer to it */
        Py_DECREF(space);
    }
    return status;
}

int autograd_layout_ready(void)
{
    static int ready = -2; /* nobody has looked yet */
    if (!tensor_access_ready()) {
        PyErr_SetString(PyExc_RuntimeError, "call _capture.calibrate() first");
        return -1;
    }
    if (ready == -2) {
        int status = examine_torch();
        if (status < 0) {
            return -1;
        }
        ready = status;
    }
    return ready;
}

/* --- state ------------------------------------------------------------------------------------------- */

bool saved_tensor_hooks_active(void)
{
    void *const *stack =
        autograd_symbols.saved_hooks(); /* std::deque: map, its size, then two iterators of four pointers */
    return stack[2] != stack[6];
}

bool has_forward_grad(PyObject *tensor)
{
    char *meta = meta_of(tensor);
    return meta != NULL && *(void **)(meta + forward_grad_offset) != NULL;
}

_Noreturn void throw_python_error(void)
{
    PyErr_Fetch(&pending[0], &pending[1], &pending[2]);
    TensorPointer out;
    autograd_symbols.unpack(&out, thrower->saved,
                            &thrower); /* calls the unpack hook: torch throws what that raises */
    Py_FatalError("a hook that raises did not raise");
}
