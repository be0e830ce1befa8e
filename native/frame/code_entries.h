/* What capture keeps on a code object: its entries, most recently hit first, and marks. */

#ifndef CAPTURE_CODE_ENTRIES_H
#define CAPTURE_CODE_ENTRIES_H

#include "capture_native.h"
#include "frame/entry.h"
#include "frame/pace.h"
#include "frame/pyversion.h"

enum {
    CODE_SKIPPED = 1, /* never call back, never run entries: skip_code */
    CODE_RESUME =
        2, /* the code of a resume function: it returns its Continuation to the loop that called it */
    CODE_OUTPUT = 4,      /* the code of an entry: the default evaluator runs it */
    CODE_BACKWARD = 8,    /* it computes gradients: see KIND_BACKWARD */
    CODE_WAITS = 16,      /* a resume function that is captured when it pays for itself */
    CODE_READS = 32,      /* its frames may read the variables of their callers */
    CODE_OF_PROGRAM = 64, /* whose code it is (held_signals.c); neither: nobody has asked */
    CODE_OF_OTHERS = 128,
    CODE_HOLDS_SIGNALS = 256,
};

/* What Python has to run before a frame is worth a capture depends on the kind of its code (patience.c). */
enum CodeKind {
    KIND_UNKNOWN,
    KIND_STRAIGHT, /* no loop */
    KIND_LOOP,     /* a loop: it may drive a program */
    KIND_FORWARD,  /* the forward function of a module, with or without a loop */
    KIND_NEVER,    /* not worth a capture, however often it runs */
    KIND_ASK,      /* the callback decides at the first frame */
    KIND_ONCE,     /* never, and nothing below it: it runs once in a program, or its graph did not pay */
    KIND_LEFT,     /* its capture did not pay; that of its callees may */
    KIND_STORED,   /* an earlier process has made its entry: the callback looks it up at the first frame */
    KIND_DOUBTED,  /* the same, but nobody knows that the entry pays: it is looked up when it can be tried */
    KIND_BACKWARD, /* it computes gradients; the callback decides at the first frame */
    KIND_IMPORT,   /* it imports a module: no frame below it is looked at */
    KIND_BRIEF,    /* a forward function that records more operations than its graph has */
    KIND_LAST = KIND_BRIEF,
};

static inline int is_looked_up(enum CodeKind kind)
{
    return kind == KIND_STORED || kind == KIND_DOUBTED;
}

/* The most frames of a code object that a Patience glances at in the last half of its wait. */
enum { MOST_GLANCES = 8 };

/* The frames of a code object that Python ran while no entry fitted. */
typedef struct {
    enum CodeKind kind;
    Py_ssize_t runs;
    Py_ssize_t far_runs; /* > 0: after so many runs it showed that the capture is far off (patience.c) */
    int glances;         /* of the Patience at the arguments */
    int forecast_is_due; /* it was time for one at a frame of the other grad mode */
    long long ns; /* without captures and entries below them; with the share of a backward behind them */
    long long mode_ns[2];   /* of `ns`: without and with grad mode, where that could be read */
    long long first_ns;     /* of the first run, which pays for what is lazy below it */
    long long postponed_ns; /* > 0: hot code was not captured, and waits until `ns` is so much */
    long long surcharge_ns; /* what the capture costs beside, as far as it was asked for */
    long long next_look_ns; /* of `ns`, before the next look for what an earlier process has made */
    long long units;        /* code units of the frames, and of all below them that a capture would inline */
    Timing whole;           /* without captures; without the first run */
    Pace pace;              /* of the runs, in the loops around them */
    uint64_t glanced[MOST_GLANCES]; /* digests of what `glances` frames showed; 0: nobody can tell */
} ColdRuns;

/* What counts for the next capture. */
static inline ColdRuns cold_runs_from_now(const ColdRuns *cold)
{
    return (ColdRuns){.kind = cold->kind, .pace = pace_from_now(&cold->pace)};
}

/* Looks for an entry of an earlier process that have found none (look_ups.c). */
enum { MOST_LOOK_STATES = 4 };

typedef struct {
    enum CodeKind kind;      /* of the code while it is looked up; KIND_UNKNOWN: no look was in vain */
    enum CodeKind otherwise; /* its kind between two looks */
    long long cost_ns;
    int were_left; /* frames of earlier processes had nothing to capture, by what has no guard */
    int count;
    uint64_t states[MOST_LOOK_STATES]; /* `count` states of the thread in which nothing was found */
} LookUps;

/* The turns of a loop that Python has left, beside those of Python (turns.c). */
typedef struct {
    long long python_ns;   /* a turn in Python; 0: nothing is compared */
    long long started_ns;  /* the present turn */
    long long captures_ns; /* of the hook at that time: a turn with a capture does not count */
    int records;           /* a turn records operations for a backward that it does not run */
    int runs;
    Timing own;
} TurnTrial;

typedef struct CodeState {
    struct CodeState *next, *previous; /* the list of all states, for all_codes() */
    PyCodeObject *code;                /* borrowed: the code object owns this */
    unsigned marks;
    Py_ssize_t count;
    Py_ssize_t capacity;
    Py_ssize_t max_slots; /* the most of all entries, also of those that are gone */
    Py_ssize_t added;     /* number of entries added since the last clear_entries */
    Entry *usual; /* borrowed: the last frame's entry, if it leaves frames to Python and its guards need not
                     run each time; else NULL */
    Py_ssize_t in_a_row; /* number of frames that it left to Python since then */
    ColdRuns cold;
    LookUps looks;
    unsigned long long
        beginning;              /* of a resume function: that with which it was captured last (patience.c) */
    long long paid_ns;          /* what its captures have cost since the last clear_entries */
    long long earlier_ns;       /* what earlier processes have spent in it without a capture: all of them */
    long long most_ns;          /* and one of them */
    long long inlined_units;    /* of a run when it was captured: a capture around it would inline so much */
    PyCodeObject *twin;         /* the code that can leave its loops (turns.c), if there is one */
    struct CodeState *original; /* borrowed: of the code whose twin this is, or NULL */
    int has_left;               /* a frame has left a loop */
    int twin_is_known;          /* somebody has asked for the twin */
    TurnTrial turns;            /* of a resume function that is one turn of a loop */
    Entry **entries;
} CodeState;

/* `twin` stands for the code of `state`, which takes the reference; NULL: the code has no twin. 0, or -1 with
 * an exception. */
int code_state_set_twin(CodeState *state, PyCodeObject *twin);

/* The argument of a function of the module, borrowed; NULL with an exception where it is no code object. */
PyCodeObject *as_code(PyObject *object, const char *function);

extern Py_ssize_t code_extra_index;

/* Borrowed, NULL where there is none. */
static inline CodeState *code_state(PyCodeObject *code)
{
    return code_extra(code, code_extra_index);
}

/* That of the program's own code, where a twin runs in its place. Borrowed, NULL where there is none. */
static inline CodeState *original_state(PyCodeObject *code)
{
    CodeState *state = code_state(code);
    return state != NULL && state->original != NULL ? state->original : state;
}

/* Whether a capture of the code has something to run: its frames come again, and what is lazy below it is
 * there. */
static inline int code_state_is_warm(const CodeState *state)
{
    return state->count > 0 && !entry_is_eager(state->entries[0]);
}

/* After MANY_LEFT frames in a row that were left to Python, the next ones are, too. Only for one frame in
 * PROBE_EVERY the guards run. */
enum { MANY_LEFT = 64, PROBE_EVERY = 64 };

/* The entry that leaves the next frame to Python although its guards do not run (borrowed), or NULL. */
static inline Entry *code_state_usual(const CodeState *state, PyObject *key)
{
    const int sure = state->in_a_row >= MANY_LEFT && state->in_a_row % PROBE_EVERY != 0;
    return sure && state->usual->key == key ? state->usual : NULL;
}

/* Borrowed, or NULL with an exception. */
CodeState *ensure_code_state(PyCodeObject *code);

/* The first entry of that key whose guards hold (borrowed), or NULL; it moves to the front. The guards of the
 * usual entry need not run. `slots` has room for max_slots. */
Entry *code_state_find(CodeState *state, PyObject *key, const FrameState *frame, PyObject **slots);

/* A new tuple of (entry, index of the failed guard) for the entries of that key, or NULL with an exception.
 */
PyObject *code_state_failures(CodeState *state, PyObject *key, const FrameState *frame);

#endif
