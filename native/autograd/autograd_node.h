/* A node of torch's autograd graph, built in C.
 *
 * The object that autograd sees is a `torch::autograd::generated::IndexBackward0`. It is the simplest of
 * torch's own nodes that has a list of saved tensors. Its memory layout, its destructor and its
 * SavedVariables are torch's; the virtual functions `apply` and `release_variables` are ours
 * (native/autograd/autograd_apply.c). So a saved tensor is checked for writes, goes through the user's
 * saved-tensor hooks, and is freed as in eager.
 */
#ifndef CAPTURE_AUTOGRAD_NODE_H
#define CAPTURE_AUTOGRAD_NODE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef void *TensorPointer; /* at::Tensor: a pointer to its TensorImpl */
typedef struct Node Node;

typedef struct { /* std::vector<at::Tensor> */
    TensorPointer *begin, *end, *capacity;
} TensorVector;

typedef struct { /* torch::autograd::Edge */
    Node *function;
    uint32_t input;
} Edge;

/* A part of a graph's backward: what its nodes in autograd's graph run. Gradients come in at its slots, and
 * go out along its edges. Positions of results are those in all that the graph's forward gives. */
typedef struct {
    PyObject_HEAD
    PyObject *backward; /* CompiledGraph: saved, tangents of the slots -> a gradient or None for each edge;
                           NULL until it is compiled */
    PyObject *run_backward; /* run_backward(segment, saved, tangents, edges): if that is not enough */
    PyObject *stand_ins;    /* a tuple: for each slot None, or a tensor with the layout of what is there */
    PyObject *needed_by;    /* bytes: for each saved tensor a row of bits, the edges that need it */
    int64_t *words;         /* the five lists below */
    int64_t nslots, nsaved_arguments, nsaved_results, nedges;
    const int64_t *slots; /* the result of each slot; -1: a value that only other parts read */
    const int64_t *saved_arguments, *saved_results;
    const int64_t *kept_apart; /* for each saved result: would it hold this part's node? Then it is saved
                                  without its place in autograd's graph */
    const int64_t *edges; /* below the count of arguments: an argument; then a view of TrainingFunction; the
                             others are slots, counted through the parts */
    int64_t first_slot;   /* the number of its first slot, counted so */
    int64_t holders;      /* results and edges that lead to a new node */
    int64_t nodes;        /* that are alive: together they hold one reference to this object */
} Segment;

/* Bytes of a row of `needed_by`. */
static inline int64_t needed_by_row(int64_t nedges)
{
    return (nedges + 7) / 8;
}

/* The callable that makes nodes. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *forward;  /* CompiledGraph: arguments -> results, then values to save */
    PyObject *wrap;     /* wrap(all that the forward gave, *args): the results with nodes made in Python */
    PyObject *segments; /* a tuple; each comes after those that its edges lead to */
    int64_t nsegments;
    int64_t arguments, given, results;
    int64_t views; /* made between nodes, which lead to some of them: only `wrap` does so */
} TrainingFunction;

#define METADATA_BYTES 96
#define FEW_METADATA 2

typedef struct { /* std::unordered_map */
    void **buckets;
    uint64_t nbuckets;
    void *first;
    uint64_t count;
    float load;
    uint64_t next_resize;
    void *single;
} HashTable;

struct Node { /* IndexBackward0; autograd_layout.c verifies it against a real one */
    void *const *vtable;
    uint64_t references; /* weak in the upper half, strong in the lower */
    uint64_t sequence, topological;
    bool has_parent;
    uint64_t thread;
    pthread_mutex_t mutex;
    Edge *edges, *edges_end, *edges_capacity;
    void *pyobj, *anomaly;
    void *pre_hooks[3], *tensor_pre_hooks[3];
    HashTable retains_grad_hooks; /* empty */
    void *post_hooks[3];
    char *metadata; /* c10::SmallVector<InputMetadata, 2> */
    uint32_t nmetadata, metadata_capacity;
    _Alignas(8) char few_metadata[FEW_METADATA * METADATA_BYTES];
    char *saved, *saved_end, *saved_capacity; /* std::vector<SavedVariable> */
    bool released;
    Segment *segment; /* where torch keeps the TensorOptions of an index: plain bytes */
    void *sizes[3];
};

/* torch's functions that work on nodes, by name in torch's libraries. */
typedef struct {
    void **node_vtable, **index_vtable, **index_type;
    void (*gradient_edge)(Edge *out, const void *tensor);
    void (*set_gradient_edge)(const void *tensor, Edge *moved);
    void (*new_metadata)(void *place, const void *tensor);
    void (*new_saved)(void *place, const void *tensor, bool is_output, bool is_inplace_on_view);
    void (*unpack)(TensorPointer *out, const void *saved, Node **saved_for);
    void (*reset_saved)(void *saved);
    uint64_t (*next_sequence)(void), (*thread)(void);
    const void *(*saved_hooks)(void);
    const HashTable *(*asked_nodes)(void); /* of the running backward; NULL: none runs; empty: asks for all */
    const bool *anomaly_mode;
    int (*assign)(const void *from, void *to);         /* *to = *from, of at::Tensor */
    void *(*new_or_null)(size_t, const char *nothrow); /* operator new that does not throw */
    void (*delete_memory)(void *);
} AutogradSymbols;
extern AutogradSymbols autograd_symbols;

/* Memory that torch's destructors free; NULL where there is none. */
static inline void *allocate_for_torch(size_t bytes)
{
    return autograd_symbols.new_or_null(bytes, "an argument that nobody reads");
}

extern size_t saved_bytes;          /* sizeof(SavedVariable) */
extern size_t saved_version_offset; /* in SavedVariable */
extern void *plain_meta;            /* the vtable of AutogradMeta: of tensors that are no views */
extern TensorPointer no_tensor;

/* Can nodes be built here? 1; 0 where this torch is another one than expected; -1 with an exception. Looks
 * once. */
int autograd_layout_ready(void);
/* Do saved tensors go through hooks of the user on this thread? */
bool saved_tensor_hooks_active(void);
/* Has the tensor a forward-mode gradient? */
bool has_forward_grad(PyObject *tensor);

/* Throws the Python exception that is set, as the C++ exception that torch turns into a Python exception
 * again. Does not return. Needs the GIL. */
_Noreturn void throw_python_error(void);

/* An empty tensor that stands where `tensor` does in autograd's graph. New reference; only where
 * autograd_layout_ready() is 1. */
PyObject *edge_to(PyObject *tensor);

/* segment.c: makes the segment a part of a function with these counts, `slots` of them in earlier segments.
 * -1 with an exception where it does not fit, or belongs to another function. */
int segment_attach(PyObject *segment, int64_t arguments, int64_t views, int64_t given, int64_t slots);
int init_segment(PyObject *module);

/* written_input.c */
int init_written_input(PyObject *module);

/* asked.c: for each edge, does the running backward ask for gradients that it leads to? NULL where it asks
 * for all (or there is no memory). The caller frees it. */
bool *asked_edges(const Node *node);
/* Does an edge that is asked for (or one that is not, if `which` is false) need the saved tensor `number`? */
bool needed_by_edges(const Segment *segment, int64_t number, const bool *asked, bool which);

/* autograd_apply.c: the virtual functions of our nodes. */
void **autograd_vtable(void);

#endif
