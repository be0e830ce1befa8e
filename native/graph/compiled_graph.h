/* The launch plan of a compiled graph: what codegen/launch/plan.py writes, compiled_graph_type.c reads and
 * compiled_graph.c runs.
 *
 * A slot is a tensor of the graph while it runs: a pointer that kernels take, and a tensor object where
 * somebody needs one. The plan is a row of instructions over slots; slots 0 .. ninputs-1 are the arguments.
 */
#ifndef CAPTURE_COMPILED_GRAPH_H
#define CAPTURE_COMPILED_GRAPH_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#define PLAN_VERSION 4

/* The instructions: name, the function run_* that runs it, and its operands in their order ("..." is a list).
 * A new instruction is a row here and its function. `_capture.plan_instructions` tells them to
 * codegen/launch/plan.py. */
/* clang-format off */
#define PLAN_INSTRUCTIONS(X)                                                                                 \
    X(NEW, new, "slot spec") /* a new tensor */                                                              \
    X(WORKSPACE, workspace, "slot offset") /* a place in the workspace, in bytes */                          \
    X(CONSTANT, constant, "slot object") /* a tensor that the graph holds */                                 \
    X(POINTER, pointer, "slot base bytes") /* a place inside another slot */                                 \
    /* a tensor on the memory of another; the offset of the spec counts from its first element */            \
    X(VIEW, view, "slot base spec")                                                                          \
    /* then the buffers and the sizes of row 0, of row 1, ... */                                             \
    X(KERNEL, kernel, "address end grain work name rows nbuffers nsizes ...")                                \
    X(GEMM, gemm, "...") /* see launch_gemm.c */                                                             \
    X(CALL, call, "callable keywords npositional depth nwords nresults ...") /* see launch_call.c */         \
    X(DROP, drop, "slot") /* its tensor is released */                                                       \
    X(BUMP, bump, "slot") /* an argument was written: its version is raised */

/* What an argument of the graph must be: a tensor of exactly this spec; the integer that the graph was
 * compiled for; anything, for it is not read; a tensor of this dtype and sizes, where another layout is
 * copied into that of the spec. */
#define PLAN_INPUTS(X) X(TENSOR) X(INTEGER) X(UNUSED) X(CONFORM)

/* What a word pair in the arguments of a CALL stands for: a slot, an object, the last n arguments as a list
 * or as a tuple. */
#define PLAN_ARGUMENTS(X) X(SLOT) X(OBJECT) X(LIST) X(TUPLE)
/* clang-format on */

enum {
    OP_NONE,
#define X(name, function, operands) OP_##name,
    PLAN_INSTRUCTIONS(X)
#undef X
        OP_COUNT
};

#define X(name) INPUT_##name,
enum { PLAN_INPUTS(X) };
#undef X

#define X(name) ARG_##name,
enum { PLAN_ARGUMENTS(X) };
#undef X

typedef struct {
    int64_t dtype, ndim, numel, offset; /* dtype: c10::ScalarType */
    const int64_t *sizes, *strides;
} TensorSpec;

typedef struct {
    void *data;
    PyObject *tensor;
    bool owned; /* the reference to `tensor` is this slot's */
} Slot;

/* Memory for what lives within a run, kept between calls; taken by one run at a time. Graphs that are plans
 * of one program share one. */
typedef struct {
    int64_t owners;
    size_t size;
    char *memory;
    bool taken;
} Workspace;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *dict, *weakrefs;
    PyObject *words;    /* bytes: the plan */
    PyObject *objects;  /* tuple: constants, operators, keyword names */
    PyObject *fallback; /* callable or NULL: what to call when a kernel's check fails */
    PyObject *views;    /* bytes or NULL: what each output is in eager (view_outputs.c) */
    int64_t ninputs, nslots, noutputs, workspace_size, nspecs, no_grad;
    const int64_t *inputs, *outputs, *code, *end;
    TensorSpec *specs;
    Workspace *workspace;
    int64_t ninstructions;
    PyObject *name;    /* of the graph, for the profiler; or NULL */
    PyObject *kernels; /* tuple: the name of each instruction that the profiler shows, or None; or NULL */
    int64_t *timings;  /* calls and nanoseconds of each instruction; NULL unless the graph is timed */
} CompiledGraph;

/* view_outputs.c; `grad_mode`: that of the caller. -1 with an exception. */
int finish_views(const CompiledGraph *graph, PyObject **outs, bool grad_mode);

/* A new graph like `first` with another plan: it shares the workspace, the attributes and the fallback. */
PyObject *compiled_graph_like(PyObject *first, PyObject *words, PyObject *objects);

/* One execution. */
typedef struct {
    CompiledGraph *graph;
    Slot *slots;
    char *workspace;
    int failed_check; /* the code of the check that failed, -1 where an operator raised */
} Run;

/* Each runs one instruction: 0, or -1 with an exception. `operand` points behind opcode and length. */
int run_gemm(Run *run, const int64_t *operand);
int run_call(Run *run, const int64_t *operand);

/* 1 where the tensor is what the spec says, the stride of a dim of size 1 aside. */
int spec_matches(const TensorSpec *spec, PyObject *tensor, bool strides_too);
/* Whether its elements lie as the spec says, or with gaps or overlaps: no plan is made for these. */
bool spec_takes(const TensorSpec *spec, PyObject *tensor);
/* The tensor itself (new reference) where it matches; a copy in the spec's layout where only the strides
 * differ; NULL with an exception, whose text begins with `what` and its number. */
PyObject *spec_conform(const TensorSpec *spec, PyObject *tensor, const char *what, int64_t number);
/* Set a slot to a tensor whose reference is handed over. */
void slot_set(Slot *slot, PyObject *tensor);

int init_gemm(void);
/* torch's grad mode, which a run may turn off. */
int init_grad_mode(void);
/* Make the exception CheckFailed and add it to the module. */
int init_check_failed(PyObject *module);
/* Work (in elements or multiplications) above which the GIL is worth releasing: some 50 us. */
#define LONG_WORK 200000

#endif
