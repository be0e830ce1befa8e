/* For each thread its callback and key; for the process, whether the evaluator is installed. */

#ifndef CAPTURE_THREAD_HOOK_H
#define CAPTURE_THREAD_HOOK_H

#include "capture_native.h"
#include "frame/pyversion.h"

/* Arguments of a call that is about to start. Its frame holds them too. When the frame begins, the caller's
 * references go, so that the callee frees an argument when it rebinds the name. */
typedef struct {
    PyObject *function;
    PyObject **args;
    Py_ssize_t count;
} Handover;

/* What a cold frame keeps from being captured below it (patience.c). */
enum Blocking { BLOCKS_NOTHING, BLOCKS_CALLEES, BLOCKS_LOOPS_TOO, BLOCKS_EVERYTHING };

struct TurnRun;

/* LATER: again when the frame that runs below it has ended. TO_RAISE: until it returns. */
enum Follows { FOLLOWS_NOTHING, FOLLOWS, FOLLOWS_LATER, FOLLOWS_TO_RAISE };

/* Who sees signals: an entry's code lets the program's instructions see them (held_signals.c). */
enum Signals { SIGNALS_ARE_THE_PROGRAMS, SIGNALS_SEEN_BY_AN_ENTRY, SIGNALS_HELD };

typedef struct {
    PyObject_HEAD
    PyObject *callback; /* NULL: nobody sees the frames of this thread */
    PyObject *key;
    int suspended; /* > 0 while the callback runs */
    enum Signals signals;
    int holds_signals;    /* now: the interpreter has no main thread */
    unsigned long thread; /* its identity */
    Handover *handover;   /* NULL, or waiting for the frame of its function */
    enum Blocking blocking;
    unsigned long long units; /* code units of all frames, and of what entries have inlined */
    int cold_frames;          /* in progress */
    int looks_to_come;        /* cold frames in progress behind which the next look is due (look_ups.c) */
    long long away_ns;        /* time in captures and entries below them */
    unsigned long long away_nodes;  /* of autograd's graph, made there */
    long long capture_ns;           /* time in the callback of a Patience */
    long long resumes_until_ns;     /* of `capture_ns`: from there on resume functions wait as others do */
    PyCodeObject *begun;            /* borrowed: the code whose captured beginning now runs; or NULL */
    unsigned long long beginnings;  /* so many of them there were */
    long long cold_ns;              /* what counts for the cold frames that have ended */
    unsigned long long backwards;   /* frames with CODE_BACKWARD */
    int backwards_now;              /* such frames in progress */
    unsigned long long steps;       /* those around no other one that have ended */
    long long backward_ns;          /* what these took */
    const void *compared;           /* the StepTrial that goes on, which may be gone; or NULL */
    unsigned long long compared_at; /* of `steps`: its last frame */
    long long compared_ns;          /* the backward behind that */
    uint64_t compared_place;        /* where that was called; 0: in the frame itself */
    int compared_now;               /* frames of the comparison in progress */
    unsigned long long readers;     /* frames with CODE_READS */
    struct TurnRun *turns;          /* of the running frame, if it can leave its loops (turns.c); else NULL */
    unsigned long long entries;     /* how often an entry ran a graph, or code of its own */
    enum Follows follows;           /* whether the lines of a frame are seen (running_loops.c) */
    PyObject *followed;             /* that frame; or NULL */
    PyObject *on_line;              /* on_line(frame) */
    PyObject *offsets;              /* where it is called: a set */
    long long from_ns;              /* not before */
    int lines;                      /* seen so far */
    unsigned long long readers_before; /* `readers` when it began */
    PyObject *raised;                  /* what the frame raises when it returns; or NULL */
    Py_tracefunc traced_by;            /* who traces the thread behind that */
    PyObject *traced_for;
} ThreadHook;

/* initial-exec: each call reads this, so it has a fixed offset from the thread pointer. NULL before the
 * thread's first set_callback. */
extern _Thread_local ThreadHook *thread_hook __attribute__((tls_model("initial-exec")));

/* The program's recursion limit must not stop a callback deep in a recursion. */
enum { CALLBACK_RECURSION_ROOM = 2000 };

/* held_signals.c */
extern InterpreterSignals interpreter_signals;

/* The evaluator looks for both at the next place for that. */
void look_for_signals(void);

/* Something has changed that says whether signals wait. While the hook is off for the thread they don't:
 * nobody can tell whose frames run. */
static inline void signals_changed(ThreadHook *hook)
{
    const int wait = hook->suspended > 0 || (hook->signals == SIGNALS_HELD && hook->callback != NULL);
    volatile unsigned long *main_thread = interpreter_signals.main_thread;
    if (wait && *main_thread == hook->thread) {
        *main_thread = NO_THREAD;
        hook->holds_signals = 1;
    } else if (!wait && hook->holds_signals) {
        hook->holds_signals = 0;
        if (*main_thread == NO_THREAD) { /* else the process has forked */
            *main_thread = hook->thread;
        }
        if (*interpreter_signals.signals || *interpreter_signals.calls) {
            look_for_signals(); /* the interpreter may have forgotten that it has to */
        }
    }
}

/* Around each call of a callback: the thread has no hook until it returns, signals wait, and the callback has
 * room. */
static inline void begin_callback(ThreadHook *hook)
{
    hook->suspended++;
    signals_changed(hook);
    thread_add_recursion_room(PyThreadState_Get(), CALLBACK_RECURSION_ROOM);
}

static inline void end_callback(ThreadHook *hook)
{
    thread_add_recursion_room(PyThreadState_Get(), -CALLBACK_RECURSION_ROOM);
    hook->suspended--;
    signals_changed(hook);
}

/* Drops the references of the hook's handover, if it waits for this frame. */
void handover_take(ThreadHook *hook, const InterpreterFrame *frame);

/* function(*args). Takes over the references of `args`: only the frame of the callee holds the arguments. */
PyObject *call_handing_over(PyObject *function, PyObject **args, Py_ssize_t count);

/* Runs the frame in the evaluator that was there before ours. */
PyObject *eval_default(PyThreadState *tstate, InterpreterFrame *frame, int throwflag);

/* The former evaluator, which has the frame from us, gives it back: it calls eval_frame as its own former
 * one. */
int frame_comes_back(const InterpreterFrame *frame);

/* The evaluator that was there before ours. */
extern Evaluator previous_evaluator;

/* The same, and this thread has no hook until the frame ends. */
PyObject *eval_unhooked(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook);

/* Calls the callable under that callback (NULL: none) and key. */
PyObject *thread_hook_call(PyObject *callback, PyObject *key, PyObject *callable, PyObject *const *args,
                           size_t nargsf, PyObject *kwnames);

/* other_tracers.c: whether another tracer, or a trace or profile function, follows this thread. */
int this_thread_is_followed(void);

/* Removes the evaluator for all threads, and puts it back if some thread still has a callback. Pairs of calls
 * may nest. */
void evaluator_pause(void);
void evaluator_resume(void);

/* eval_frame.c: the evaluator. */
PyObject *eval_frame(PyThreadState *tstate, InterpreterFrame *frame, int throwflag);

int init_thread_hook(PyObject *module);

#endif
