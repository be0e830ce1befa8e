/* The launch plan of a compiled graph: what codegen/launch/plan.py writes compiled_graph_type.c reads and
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

#define PLAN_VERSION 3

/* Opcodes; operands in the order in which plan.py writes them. Keep equal to codegen/launch/plan.py. */
enum {
    OP_NEW = 1,   /* slot spec                       a new tensor */
    OP_WORKSPACE, /* slot offset                     a place in the workspace, in bytes */
    OP_CONSTANT,  /* slot object                     a tensor that the graph holds */
    OP_POINTER,   /* slot base bytes                 a place inside another slot */
    OP_VIEW,   /* slot base spec                  a tensor on the memory of another; the spec's offset counts
                  from the base's first element */
    OP_KERNEL, /* address end grain work name rows nbuffers nsizes buffers... sizes...    those of each row,
                  one row after the other */
    OP_GEMM,   /* see launch_gemm.c */
    OP_BIAS, /* dtype target bias rows columns row_stride column_stride     broadcast into a row-major target
              */
    OP_CALL, /* see launch_call.c */
    OP_DROP, /* slot */
    OP_BUMP, /* slot                            an argument was written: raise its version */
    OP_COUNT,
};

/* What an argument must be. */
enum {
    INPUT_TENSOR,  /* of exactly this spec */
    INPUT_INTEGER, /* equal to the value that the graph was compiled for */
    INPUT_UNUSED,
    INPUT_CONFORM, /* a tensor of this dtype and sizes; another layout is copied into the spec's */
};

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
    int64_t ninputs, nslots, noutputs, workspace_size, nspecs, no_grad;
    const int64_t *inputs, *outputs, *code, *end;
    TensorSpec *specs;
    Workspace *workspace;
    int64_t ninstructions;
    int64_t *timings; /* calls and nanoseconds of each instruction; NULL unless the graph is timed */
} CompiledGraph;

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
int run_bias(Run *run, const int64_t *operand);
int run_call(Run *run, const int64_t *operand);

/* 1 where the tensor is what the spec says, the stride of a dim of size 1 aside. */
int spec_matches(const TensorSpec *spec, PyObject *tensor, bool strides_too);
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
