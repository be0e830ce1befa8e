/* Entry: one captured version of a code object. Guards and key say when it holds; code, or graph and result,
 * run then. */

#ifndef CAPTURE_ENTRY_H
#define CAPTURE_ENTRY_H

#include "capture_native.h"
#include "frame/result_recipe.h"

/* The time of some runs of a frame. */
typedef struct {
    Py_ssize_t runs;
    long long ns;
    long long least_ns; /* of one run */
} Timing;

static inline void timing_add(Timing *timing, long long ns)
{
    timing->least_ns = timing->runs == 0 || ns < timing->least_ns ? ns : timing->least_ns;
    timing->ns += ns;
    timing->runs++;
}

/* The times of some steps of a training, in order. */
enum { MOST_OF_A_KIND = 8 };

typedef struct {
    int count;
    long long ns[MOST_OF_A_KIND];
} Steps;

/* Steps with their backward at one place of the program: the frames of an entry, and the backward. */
typedef struct {
    uint64_t place;
    int seen;
    Steps python, own;
} KindOfSteps;

enum { MOST_KINDS_OF_STEPS = 4 };

/* Steps of which Python has the frames of an entry are compared with others (trial.c). */
typedef struct {
    KindOfSteps kinds[MOST_KINDS_OF_STEPS];
    int count;               /* of kinds */
    unsigned long long step; /* of the hook: the present one */
    long long frames_ns;     /* of the present step, without backwards in frames */
    long long captures_ns;   /* of the hook when it began: a step with a capture does not count */
    int begun;               /* steps */
    char is_open;
    char is_whole; /* the present step was seen from its begin on */
    char is_done;
} StepTrial;

/* What an entry is compared with. The judge answers with one of the last two: once more, with these. */
enum Compared {
    COMPARED_EARLIER = 0,  /* the frames of its code before it */
    COMPARED_FITTING = -1, /* frames that fit it, which Python runs */
    COMPARED_STEPS = -2,   /* the same, with the backwards behind them */
};

/* Whether an entry pays shows in its first runs (trial.c). */
typedef struct {
    Timing python; /* the frames before it; no runs: there is nothing to compare */
    Timing own;
    char runs;    /* of the entry: the first ones do not count */
    char to_come; /* frames that fit the entry and that Python runs, for a second comparison */
    char fits;    /* `python` has such frames alone */
    StepTrial steps;
} Trial;

typedef struct {
    PyObject_HEAD
    PyObject *guards; /* a GuardProgram; NULL: no guards */
    PyObject *key;    /* NULL until __init__ has run */
    PyCodeObject *code;
    PyObject *graph;
    PyObject *result; /* the tuple that `recipe` borrows from */
    PyObject *on_failure;
    Py_ssize_t hits;
    long long cost_ns; /* of its capture; 0: it is free, or not known yet */
    Py_ssize_t nslots;
    Py_ssize_t ninputs; /* number of slots that the graph takes, the first ones */
    Py_ssize_t nouts;   /* of a native graph */
    char graph_is_native;
    char unhooked; /* Python runs the frame and all that it calls: no callback below */
    char sampled;  /* after many frames in a row that it left to Python, its guards run only now and then */
    Trial trial;
    Recipe recipe;
    PyObject *dict;
    PyObject *weakrefs;
} Entry;

extern PyTypeObject Entry_Type;

static inline int is_entry(PyObject *object)
{
    return PyObject_TypeCheck(object, &Entry_Type);
}

/* Its first runs are timed: these do not count, the next ones do. So many frames that fit it are timed in
 * Python if those before it took less. */
enum { RUNS_BEFORE_TRIAL = 2, RUNS_OF_TRIAL = 8, RUNS_IN_PYTHON = 4 };

static inline int entry_is_on_trial(const Entry *entry)
{
    return entry->trial.python.runs > 0 && entry->trial.runs < RUNS_BEFORE_TRIAL + RUNS_OF_TRIAL;
}

/* Under these guards Python runs the frame. Such an entry stands behind all that have something to run. */
static inline int entry_is_eager(const Entry *entry)
{
    return entry->code == NULL && entry->graph == NULL;
}

/* -1: the guards hold and `slots` (room for entry->nslots) has borrowed references; else the index of the
 * guard that failed. */
static inline int entry_guards_run(Entry *entry, const FrameState *state, PyObject **slots)
{
    return entry->guards == NULL ? -1 : guard_program_run(entry->guards, state, slots);
}

/* Whether this entry may replace `code`: 0, or -1 with an exception that says why not. */
int entry_fits(Entry *entry, PyCodeObject *code);

/* The number of a function's arguments: they are the first of its localsplus. */
int code_formals(const PyCodeObject *code);

/* The value of the frame by the entry's graph, or NULL with an exception. *failed: the graph itself raised.
 */
PyObject *entry_run_graph(Entry *entry, PyObject *const *slots, int *failed);

#endif
