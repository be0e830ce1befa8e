/* _capture.CompiledGraph: runs a launch plan.
 *
 * In:  the graph's arguments, in the order of its placeholders.
 * Out: a tuple of its outputs: new tensors, the arguments themselves, constants.
 *
 *     graph = CompiledGraph(words, objects, fallback)      codegen/plan.py writes `words`
 *     graph(x, y)  ->  (x * y + 1,)                        takes pointers, allocates, calls machine code, wraps
 *
 * Several threads may run one graph: all state of a run is in `Run`; the workspace that is kept between calls goes to the first, others get one
 * of their own. The plan is trusted: only codegen/plan.py writes it.
 */
#include "compiled_graph.h"

#include <dlfcn.h>
#include <structmember.h>
#include <string.h>
#include <time.h>

#include "capture_native.h"
#include "parallel.h"
#include "tensor_access.h"

#define FEW_SLOTS 48
#define FEW_BUFFERS 24
#define WORKSPACE_ALIGNMENT 64

static PyTypeObject CompiledGraphType;
static PyObject *check_failed; /* _capture.CheckFailed */
static bool (*grad_enabled)(void);
static void (*set_grad_enabled)(bool);

/* --- instructions -------------------------------------------------------------------------------------------------------- */

static int run_new(Run *run, const int64_t *operand)
{
    const TensorSpec *spec = &run->graph->specs[operand[1]];
    PyObject *tensor = tensor_new_strided((int)spec->dtype, (int)spec->ndim, spec->sizes, spec->strides);
    if (tensor == NULL) {
        return -1;
    }
    slot_set(&run->slots[operand[0]], tensor);
    return 0;
}

static int run_workspace(Run *run, const int64_t *operand)
{
    run->slots[operand[0]].data = run->workspace + operand[1];
    return 0;
}

static int run_constant(Run *run, const int64_t *operand)
{
    slot_set(&run->slots[operand[0]], Py_NewRef(PyTuple_GET_ITEM(run->graph->objects, operand[1])));
    return 0;
}

static int run_pointer(Run *run, const int64_t *operand)
{
    run->slots[operand[0]].data = (char *)run->slots[operand[1]].data + operand[2];
    return 0;
}

static int run_view(Run *run, const int64_t *operand)
{
    const TensorSpec *spec = &run->graph->specs[operand[2]];
    PyObject *base = run->slots[operand[1]].tensor;
    int64_t offset = tensor_storage_offset(base) + spec->offset;
    PyObject *view = tensor_as_view(base, (int)spec->ndim, spec->sizes, spec->strides, offset);
    if (view == NULL) {
        return -1;
    }
    slot_set(&run->slots[operand[0]], view);
    return 0;
}

typedef int32_t (*KernelFunction)(void **buffers, const int64_t *sizes, int64_t begin, int64_t end);

typedef struct {
    int64_t address, end, grain, work, name, nbuffers, nsizes;
    int64_t rest[];
} KernelLaunch;

typedef struct {
    KernelFunction function;
    void **buffers;
    const int64_t *sizes;
} KernelCall;

static int32_t call_kernel(const void *data, int64_t begin, int64_t end)
{
    const KernelCall *call = data;
    return call->function(call->buffers, call->sizes, begin, end);
}

void compiled_graph_refuse(const char *why) { PyErr_SetString(check_failed, why); }

static int set_check_failure(Run *run, const KernelLaunch *launch, int32_t code)
{
    run->failed_check = code;
    PyErr_Format(check_failed, "check %d failed in the compiled kernel %S (an index out of range?)", (int)code,
                 PyTuple_GET_ITEM(run->graph->objects, launch->name));
    return -1;
}

static int run_kernel(Run *run, const int64_t *operand)
{
    const KernelLaunch *launch = (const KernelLaunch *)operand;
    void *few[FEW_BUFFERS];
    void **buffers = launch->nbuffers <= FEW_BUFFERS ? few : PyMem_New(void *, launch->nbuffers);
    if (buffers == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int64_t i = 0; i < launch->nbuffers; i++) {
        buffers[i] = run->slots[launch->rest[i]].data;
    }
    KernelCall call = {(KernelFunction)(uintptr_t)launch->address, buffers, launch->rest + launch->nbuffers};
    int64_t parts = parallel_parts(launch->end, launch->grain);
    int32_t code;
    if (launch->work < LONG_WORK) {
        code = parallel_run(call_kernel, &call, launch->end, parts);
    } else {
        Py_BEGIN_ALLOW_THREADS
        code = parallel_run(call_kernel, &call, launch->end, parts);
        Py_END_ALLOW_THREADS
    }
    if (buffers != few) {
        PyMem_Free(buffers);
    }
    return code == 0 ? 0 : set_check_failure(run, launch, code);
}

static int run_drop(Run *run, const int64_t *operand)
{
    Slot *slot = &run->slots[operand[0]];
    if (slot->owned) {
        slot->owned = false;
        Py_CLEAR(slot->tensor);
    }
    return 0;
}

static int run_bump(Run *run, const int64_t *operand)
{
    tensor_bump_version(run->slots[operand[0]].tensor);
    return 0;
}

typedef int (*Instruction)(Run *run, const int64_t *operand);
static const Instruction instructions[OP_COUNT] = {
    [OP_NEW] = run_new,       [OP_WORKSPACE] = run_workspace, [OP_CONSTANT] = run_constant, [OP_POINTER] = run_pointer,
    [OP_VIEW] = run_view,     [OP_KERNEL] = run_kernel,       [OP_GEMM] = run_gemm,         [OP_BIAS] = run_bias,
    [OP_CALL] = run_call,     [OP_DROP] = run_drop,           [OP_BUMP] = run_bump,
};

/* --- one execution ------------------------------------------------------------------------------------------------------- */

static char *new_memory(size_t size)
{
    char *memory = aligned_alloc(WORKSPACE_ALIGNMENT, size);
    if (memory == NULL) {
        PyErr_NoMemory();
    }
    return memory;
}

static int take_workspace(Run *run)
{
    Workspace *kept = run->graph->workspace;
    size_t size = ((size_t)run->graph->workspace_size + WORKSPACE_ALIGNMENT - 1) & ~(size_t)(WORKSPACE_ALIGNMENT - 1);
    if (size == 0) {
        return 0;
    }
    if (kept->taken) {
        run->workspace = new_memory(size);
        return run->workspace == NULL ? -1 : 0;
    }
    if (kept->size < size) {
        free(kept->memory);
        kept->memory = new_memory(size);
        kept->size = kept->memory == NULL ? 0 : size;
        if (kept->memory == NULL) {
            return -1;
        }
    }
    kept->taken = true;
    run->workspace = kept->memory;
    return 0;
}

static void give_workspace(Run *run)
{
    Workspace *kept = run->graph->workspace;
    if (run->workspace == NULL) {
        return;
    }
    if (run->workspace == kept->memory) {
        kept->taken = false;
    } else {
        free(run->workspace);
    }
}

static int bad_integer(PyObject *argument, int64_t expected, int64_t position)
{
    long long value = PyLong_CheckExact(argument) ? PyLong_AsLongLong(argument) : -1;
    if (PyErr_Occurred()) {
        PyErr_Clear(); /* too large for int64: not the expected one */
    } else if (PyLong_CheckExact(argument) && value == expected) {
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "argument %lld: the graph was compiled for %lld, got %R", (long long)position, (long long)expected, argument);
    return -1;
}

static int take_inputs(Run *run, PyObject *const *args)
{
    for (int64_t i = 0; i < run->graph->ninputs; i++) {
        int64_t kind = run->graph->inputs[2 * i], value = run->graph->inputs[2 * i + 1];
        Slot *slot = &run->slots[i];
        if (kind == INPUT_TENSOR && spec_matches(&run->graph->specs[value], args[i], true)) {
            slot->tensor = args[i];
            slot->data = tensor_data_ptr(args[i]);
        } else if (kind == INPUT_INTEGER) {
            if (bad_integer(args[i], value, i) < 0) {
                return -1;
            }
        } else if (kind != INPUT_UNUSED) {
            char what[40];
            PyOS_snprintf(what, sizeof(what), "argument %lld", (long long)i);
            PyObject *tensor = spec_conform(&run->graph->specs[value], args[i], what);
            if (tensor == NULL) {
                return -1;
            }
            if (kind == INPUT_TENSOR) { /* a copy would hide writes and aliases */
                Py_DECREF(tensor);
                PyErr_Format(PyExc_TypeError, "%s: the strides are not those that the graph was compiled for", what);
                return -1;
            }
            slot_set(slot, tensor);
        }
    }
    return 0;
}

static int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int run_timed(Run *run)
{
    int64_t *timing = run->graph->timings, before = nanoseconds();
    for (const int64_t *word = run->graph->code; word < run->graph->end; word += 2 + word[1], timing += 2) {
        if (instructions[word[0]](run, word + 2) < 0) {
            return -1;
        }
        int64_t after = nanoseconds();
        timing[0]++;
        timing[1] += after - before;
        before = after;
    }
    return 0;
}

static int run_instructions(Run *run)
{
    if (run->graph->timings != NULL) {
        return run_timed(run);
    }
    for (const int64_t *word = run->graph->code; word < run->graph->end; word += 2 + word[1]) {
        if (instructions[word[0]](run, word + 2) < 0) {
            return -1;
        }
    }
    return 0;
}

static void give_outputs(Run *run, PyObject **outs)
{
    for (int64_t i = 0; i < run->graph->noutputs; i++) {
        int64_t is_object = run->graph->outputs[2 * i], index = run->graph->outputs[2 * i + 1];
        outs[i] = Py_NewRef(is_object ? PyTuple_GET_ITEM(run->graph->objects, index) : run->slots[index].tensor);
    }
}

static int run_plan(Run *run, PyObject *const *args, PyObject **outs)
{
    int status = take_workspace(run);
    if (status == 0) {
        bool restore = run->graph->no_grad && grad_enabled();
        if (restore) {
            set_grad_enabled(false);
        }
        status = take_inputs(run, args) < 0 ? -1 : run_instructions(run);
        if (restore) {
            set_grad_enabled(true);
        }
        if (status == 0) {
            give_outputs(run, outs);
        }
        give_workspace(run);
    }
    for (int64_t i = 0; i < run->graph->nslots; i++) {
        if (run->slots[i].owned) {
            Py_DECREF(run->slots[i].tensor);
        }
    }
    return status;
}

/* A check failed (an index out of range), or an operator raised: nothing has been written yet. The fallback runs the graph in eager, which
   raises its own error, with what eager has written by then. */
static int run_fallback(CompiledGraph *graph, PyObject *const *args, PyObject **outs)
{
    PyObject *result = PyObject_Vectorcall(graph->fallback, args, (size_t)graph->ninputs, NULL);
    if (result == NULL) {
        return -1;
    }
    if (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != graph->noutputs) {
        PyErr_Format(PyExc_TypeError, "the fallback of a compiled graph gave %.200s, expected a tuple of %lld items", Py_TYPE(result)->tp_name,
                     (long long)graph->noutputs);
        Py_DECREF(result);
        return -1;
    }
    for (int64_t i = 0; i < graph->noutputs; i++) {
        outs[i] = Py_NewRef(PyTuple_GET_ITEM(result, i));
    }
    Py_DECREF(result);
    return 0;
}

int compiled_graph_run(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject **outs)
{
    CompiledGraph *graph = (CompiledGraph *)object;
    if (nargs != graph->ninputs) {
        PyErr_Format(PyExc_TypeError, "the compiled graph takes %lld arguments, got %zd", (long long)graph->ninputs, nargs);
        return -1;
    }
    Slot few[FEW_SLOTS];
    Slot *slots = graph->nslots <= FEW_SLOTS ? few : PyMem_New(Slot, graph->nslots);
    if (slots == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memset(slots, 0, (size_t)graph->nslots * sizeof(Slot));
    Run run = {.graph = graph, .slots = slots};
    Py_INCREF(graph); /* an operator may run Python code that drops it */
    int status = run_plan(&run, args, outs);
    if (slots != few) {
        PyMem_Free(slots);
    }
    if (status < 0 && run.failed_check != 0 && graph->fallback != NULL) {
        PyErr_Clear();
        status = run_fallback(graph, args, outs);
    }
    Py_DECREF(graph);
    return status;
}

Py_ssize_t compiled_graph_nouts(PyObject *graph) { return (Py_ssize_t)((CompiledGraph *)graph)->noutputs; }

int compiled_graph_check(PyObject *object) { return PyObject_TypeCheck(object, &CompiledGraphType); }

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
    if (compiled_graph_run(object, args, PyVectorcall_NARGS(nargsf), ((PyTupleObject *)result)->ob_item) < 0) {
        Py_DECREF(result); /* its items are NULL still */
        return NULL;
    }
    return result;
}

/* --- the type ------------------------------------------------------------------------------------------------------------ */

enum { HEAD_VERSION, HEAD_INPUTS, HEAD_SLOTS, HEAD_OUTPUTS, HEAD_WORKSPACE, HEAD_SPECS, HEAD_NO_GRAD, HEAD_WORDS };

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
            PyErr_Format(PyExc_ValueError, "the launch plan has a bad instruction %lld of %lld words", (long long)word[0], (long long)word[1]);
            return -1;
        }
        graph->ninstructions++;
    }
    return 0;
}

static int find_grad_mode(void)
{
    void *library = dlopen("libc10.so", RTLD_NOLOAD | RTLD_LAZY);
    if (library != NULL) {
        grad_enabled = (bool (*)(void))dlsym(library, "_ZN3c108GradMode10is_enabledEv");
        set_grad_enabled = (void (*)(bool))dlsym(library, "_ZN3c108GradMode11set_enabledEb");
    }
    if (grad_enabled == NULL || set_grad_enabled == NULL) {
        PyErr_SetString(PyExc_ImportError, "libc10.so is not loaded or has no c10::GradMode: import torch first");
        return -1;
    }
    return 0;
}

static PyObject *new_graph(PyTypeObject *type, PyObject *words, PyObject *objects, PyObject *fallback, CompiledGraph *beside)
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
    if (!PyArg_ParseTuple(args, "O!O!|OO!", &PyBytes_Type, &words, &PyTuple_Type, &objects, &fallback, &CompiledGraphType, &beside)) {
        return NULL;
    }
    if (!tensor_access_ready()) {
        PyErr_SetString(PyExc_RuntimeError, "call _capture.calibrate() before a compiled graph is made");
        return NULL;
    }
    if (init_gemm() < 0 || find_grad_mode() < 0) {
        return NULL;
    }
    init_parallel();
    return new_graph(type, words, objects, fallback == Py_None ? NULL : fallback, beside);
}

PyObject *compiled_graph_like(PyObject *object, PyObject *words, PyObject *objects)
{
    CompiledGraph *first = (CompiledGraph *)object;
    PyObject *graph = new_graph(Py_TYPE(object), words, objects, first->fallback, first);
    if (graph != NULL) {
        ((CompiledGraph *)graph)->dict = Py_XNewRef(first->dict);
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
    return 0; /* the objects stay: a graph that can be called needs them. Cycles through them are broken at `dict` or `fallback`. */
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
    {"workspace_size", T_LONGLONG, offsetof(CompiledGraph, workspace_size), READONLY, "bytes of the workspace"},
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
        PyObject *item = Py_BuildValue("LL", (long long)graph->timings[2 * i], (long long)graph->timings[2 * i + 1]);
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

static PyMethodDef graph_methods[] = {
    {"start_timing", start_timing, METH_NOARGS, "Count the calls and the time of each instruction from now on."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef graph_getset[] = {
    {"timings", get_timings, NULL, "(calls, nanoseconds) of each instruction of the plan; None unless start_timing() was called", NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject CompiledGraphType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.CompiledGraph",
    .tp_doc = PyDoc_STR("CompiledGraph(words, objects, fallback=None, beside=None)\n\nA launch plan, callable with the arguments of the graph; gives a "
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

int init_compiled_graph(PyObject *module)
{
    check_failed = PyErr_NewExceptionWithDoc("_capture.CheckFailed", "A check in a compiled kernel failed: eager would raise here.",
                                             PyExc_RuntimeError, NULL);
    if (check_failed == NULL || PyModule_AddObjectRef(module, "CheckFailed", check_failed) < 0) {
        return -1;
    }
    return PyModule_AddType(module, &CompiledGraphType);
}
