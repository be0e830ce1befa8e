/* Runs a launch plan: what a call of _capture.CompiledGraph does. (The type: compiled_graph_type.c.)
 *
 * In:  the graph's arguments, in the order of its placeholders.
 * Out: a tuple of its outputs: new tensors, the arguments themselves, constants.
 *
 *     graph = CompiledGraph(words, objects, fallback)      codegen/launch/plan.py writes `words`
 *     graph(x, y)  ->  (x * y + 1,)                        takes pointers, allocates, calls machine code,
 * wraps
 *
 * Several threads may run one graph: all state of a run is in `Run`; the workspace that is kept between calls
 * goes to the first, others get one of their own. The plan is trusted: only codegen/launch/plan.py writes it.
 */
#include "graph/compiled_graph.h"

#include <dlfcn.h>
#include <string.h>

#include "capture_native.h"
#include "tensors/huge_pages.h"
#include "graph/clock.h"
#include "graph/parallel.h"
#include "graph/profiled.h"
#include "tensors/tensor_access.h"

#define FEW_SLOTS 48
#define FEW_BUFFERS 24
#define WORKSPACE_ALIGNMENT 64

static PyObject *check_failed; /* _capture.CheckFailed */
static bool (*grad_enabled)(void);
static void (*set_grad_enabled)(bool);

/* --- instructions ------------------------------------------------------------------------------------ */

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
    int64_t address, end, grain, work, name, rows, nbuffers, nsizes;
    int64_t rest[];
} KernelLaunch;

typedef struct {
    KernelFunction function;
    void **buffers;
    const int64_t *sizes;
    int64_t nbuffers, nsizes; /* of a row */
} KernelCall;

static int32_t call_kernel(const void *data, int64_t begin, int64_t end)
{
    const KernelCall *call = data;
    return call->function(call->buffers, call->sizes, begin, end);
}

/* The rows from begin to end of a table: what the kernel is called with in each. */
static int32_t call_rows(const void *data, int64_t begin, int64_t end)
{
    const KernelCall *call = data;
    for (int64_t row = begin; row < end; row++) {
        int32_t code =
            call->function(call->buffers + row * call->nbuffers, call->sizes + row * call->nsizes, 0, 0);
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

void compiled_graph_refuse(const char *why)
{
    PyErr_SetString(check_failed, why);
}

static int set_check_failure(Run *run, const KernelLaunch *launch, int32_t code)
{
    run->failed_check = code;
    PyErr_Format(check_failed, "check %d failed in the compiled kernel %S (an index out of range?)",
                 (int)code, PyTuple_GET_ITEM(run->graph->objects, launch->name));
    return -1;
}

static int run_kernel(Run *run, const int64_t *operand)
{
    const KernelLaunch *launch = (const KernelLaunch *)operand;
    int64_t nbuffers = launch->nbuffers * launch->rows;
    void *few[FEW_BUFFERS];
    void **buffers = nbuffers <= FEW_BUFFERS ? few : PyMem_New(void *, nbuffers);
    if (buffers == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int64_t i = 0; i < nbuffers; i++) {
        buffers[i] = run->slots[launch->rest[i]].data;
    }
    KernelCall call = {(KernelFunction)(uintptr_t)launch->address, buffers, launch->rest + nbuffers,
                       launch->nbuffers, launch->nsizes};
    RangeFunction function = launch->rows == 1 ? call_kernel : call_rows;
    int64_t parts = parallel_parts(launch->end, launch->grain);
    int32_t code;
    if (launch->work < LONG_WORK) {
        code = parallel_run(function, &call, launch->end, parts);
    } else {
        Py_BEGIN_ALLOW_THREADS code = parallel_run(function, &call, launch->end, parts);
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
#define X(name, function, operands) [OP_##name] = run_##function,
    PLAN_INSTRUCTIONS(X)
#undef X
};

/* --- one execution ----------------------------------------------------------------------------------- */

static char *new_memory(size_t size)
{
    char *memory = aligned_alloc(WORKSPACE_ALIGNMENT, size);
    if (memory == NULL) {
        PyErr_NoMemory();
    }
    welcome_huge_pages(memory, size);
    return memory;
}

static int take_workspace(Run *run)
{
    Workspace *kept = run->graph->workspace;
    size_t size =
        ((size_t)run->graph->workspace_size + WORKSPACE_ALIGNMENT - 1) & ~(size_t)(WORKSPACE_ALIGNMENT - 1);
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
    PyErr_Format(PyExc_TypeError, "argument %lld: the graph was compiled for %lld, got %R",
                 (long long)position, (long long)expected, argument);
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
            PyObject *tensor = spec_conform(&run->graph->specs[value], args[i], "argument", i);
            if (tensor == NULL) {
                return -1;
            }
            if (kind == INPUT_TENSOR) { /* a copy would hide writes and aliases */
                Py_DECREF(tensor);
                PyErr_Format(PyExc_TypeError,
                             "argument %lld: the strides are not those that the graph was compiled for",
                             (long long)i);
                return -1;
            }
            slot_set(slot, tensor);
        }
    }
    return 0;
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

/* With a range of the profiler for each instruction that has a name. */
static int run_profiled(Run *run)
{
    PyObject *names = run->graph->kernels;
    Py_ssize_t position = 0;
    for (const int64_t *word = run->graph->code; word < run->graph->end; word += 2 + word[1], position++) {
        PyObject *name = position < PyTuple_GET_SIZE(names) ? PyTuple_GET_ITEM(names, position) : Py_None;
        void *range = name == Py_None ? NULL : range_begin(name);
        int status = instructions[word[0]](run, word + 2);
        range_end(range);
        if (status < 0) {
            return -1;
        }
    }
    return 0;
}

static int run_instructions(Run *run)
{
    if (run->graph->timings != NULL) {
        return run_timed(run);
    }
    if (run->graph->kernels != NULL && PyTuple_Check(run->graph->kernels) && profiler_runs()) {
        return run_profiled(run);
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
        outs[i] =
            Py_NewRef(is_object ? PyTuple_GET_ITEM(run->graph->objects, index) : run->slots[index].tensor);
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

/* A check failed (an index out of range), or an operator raised: nothing has been written yet. The fallback
   runs the graph in eager, which raises its own error, with what eager has written by then. */
static int run_fallback(CompiledGraph *graph, PyObject *const *args, PyObject **outs)
{
    PyObject *result = PyObject_Vectorcall(graph->fallback, args, (size_t)graph->ninputs, NULL);
    if (result == NULL) {
        return -1;
    }
    if (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != graph->noutputs) {
        PyErr_Format(PyExc_TypeError,
                     "the fallback of a compiled graph gave %.200s, expected a tuple of %lld items",
                     Py_TYPE(result)->tp_name, (long long)graph->noutputs);
        Py_DECREF(result);
        return -1;
    }
    for (int64_t i = 0; i < graph->noutputs; i++) {
        outs[i] = Py_NewRef(PyTuple_GET_ITEM(result, i));
    }
    Py_DECREF(result);
    return 0;
}

static int run_graph(CompiledGraph *graph, PyObject *const *args, Py_ssize_t nargs, PyObject **outs)
{
    if (nargs != graph->ninputs) {
        PyErr_Format(PyExc_TypeError, "the compiled graph takes %lld arguments, got %zd",
                     (long long)graph->ninputs, nargs);
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
    int status = run_plan(&run, args, outs);
    if (slots != few) {
        PyMem_Free(slots);
    }
    if (status == 0 && graph->views != NULL && graph->views != Py_None
        && (status = finish_views(graph, outs, grad_enabled())) < 0) {
        for (int64_t i = 0; i < graph->noutputs; i++) {
            Py_CLEAR(outs[i]);
        }
    }
    if (status < 0 && run.failed_check != 0 && graph->fallback != NULL) {
        PyErr_Clear();
        status = run_fallback(graph, args, outs);
    }
    return status;
}

int compiled_graph_run(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject **outs)
{
    CompiledGraph *graph = (CompiledGraph *)Py_NewRef(object); /* Python code that runs here may drop it */
    int status;
    if (profiler_runs()) {
        void *range = range_begin(graph->name);
        status = run_graph(graph, args, nargs, outs);
        range_end(range);
    } else {
        status = run_graph(graph, args, nargs, outs);
    }
    Py_DECREF(graph);
    return status;
}

int compiled_graph_expects(PyObject *object, PyObject *const *last, int64_t count)
{
    const CompiledGraph *graph = (const CompiledGraph *)object;
    int64_t first = graph->ninputs - count;
    for (int64_t i = 0; i < count && first >= 0; i++) {
        const int64_t *input = &graph->inputs[2 * (first + i)];
        if (input[0] == INPUT_CONFORM && !spec_takes(&graph->specs[input[1]], last[i])) {
            return false;
        }
    }
    return true;
}

/* --- what is looked up once -------------------------------------------------------------------------- */

int init_grad_mode(void)
{
    void *library = dlopen("libc10.so", RTLD_NOLOAD | RTLD_LAZY);
    if (library != NULL) {
        grad_enabled = (bool (*)(void))dlsym(library, "_ZN3c108GradMode10is_enabledEv");
        set_grad_enabled = (void (*)(bool))dlsym(library, "_ZN3c108GradMode11set_enabledEb");
    }
    if (grad_enabled == NULL || set_grad_enabled == NULL) {
        PyErr_SetString(PyExc_ImportError,
                        "libc10.so is not loaded or has no c10::GradMode: import torch first");
        return -1;
    }
    return 0;
}

int init_check_failed(PyObject *module)
{
    check_failed = PyErr_NewExceptionWithDoc("_capture.CheckFailed",
                                             "A check in a compiled kernel failed: eager would raise here.",
                                             PyExc_RuntimeError, NULL);
    return check_failed == NULL ? -1 : PyModule_AddObjectRef(module, "CheckFailed", check_failed);
}
