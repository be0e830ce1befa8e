/* Frames that can leave their loops: a loop in a function that is called once gets hot in the middle. */

#ifndef CAPTURE_TURNS_H
#define CAPTURE_TURNS_H

#include "frame/code_entries.h"
#include "frame/pyversion.h"
#include "frame/thread_hook.h"

/* The loops of one code object that are looked at. */
enum { MOST_LOOPS = 16 };

/* The work of the hook and the frame so far. */
typedef struct {
    long long ns;       /* that the thread has worked */
    long long away_ns;  /* of the hook */
    long long below_ns; /* that callees of the frame have taken: Python's frames, and computing gradients */
    unsigned long long units, nodes, backwards; /* of the hook */
} TurnMark;

/* A frame that Python runs and that can leave its loops. It is an object of its own, since a greenlet may
 * take the stack away from the frame. */
typedef struct TurnRun {
    PyObject_HEAD
    PyCodeObject *twin; /* that the frame runs */
    long long below_ns;
    TurnMark begun;             /* when the frame began */
    unsigned long long readers; /* of the hook, when the frame began */
    int looked;                 /* the loop of the last look, or -1 */
    long long own_ns, least_ns; /* its own work until then, and in one turn at least; -1: unknown */
    int measured;               /* the loop whose turns are measured, or -1 */
    long long measured_turns, measured_ns; /* the begin of that */
    long long captures_ns;                 /* of the hook at that time */
    long long turn_ns;                     /* what a turn of that loop takes; 0: nobody knows */
    long long turn_units;                  /* code units of a turn, with those of its callees */
    int turn_records;                      /* it records operations for a backward that it does not run */
    int stays; /* it leaves no loop: that would not pay, or who reads its variables could see it */
    long long turns[MOST_LOOPS];
    long long in_a_row[MOST_LOOPS]; /* turns since the loop began the last time */
    long long began[MOST_LOOPS];    /* the turns of the loop around it at that time */
    TurnMark marks[MOST_LOOPS];     /* when its second turn began */
} TurnRun;

extern PyTypeObject Turns_Type;

/* Runs a frame as the twin of its code. The value may be a Continuation. */
PyObject *run_by_turns(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook, PyCodeObject *twin);

/* The frame computes gradients: that is no work of the loop around. */
PyObject *run_backward(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook);

/* A turn begins in an entry of this code. 1: the turns so far are to be judged, and are in `trial`. */
int turn_begins(const ThreadHook *hook, CodeState *state, TurnTrial *trial);

/* A callee begins: its frames are no part of the running one. The callee holds the reference until it ends.
 */
static inline TurnRun *turns_hide(ThreadHook *hook)
{
    TurnRun *run = hook->turns;
    hook->turns = NULL;
    return run;
}

/* It has ended. Takes the reference. */
static inline void turns_show(ThreadHook *hook, TurnRun *run)
{
    TurnRun *present = hook->turns; /* of a greenlet */
    hook->turns = run;
    Py_XDECREF(present);
}

/* What a callee of the running frame has taken. */
static inline void turns_note_below(ThreadHook *hook, long long ns)
{
    if (hook->turns != NULL) {
        hook->turns->below_ns += ns;
    }
}

int init_turns(PyObject *module);

#endif
