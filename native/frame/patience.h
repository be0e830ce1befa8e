/* Patience: a callback that is asked about a frame only after Python has run frames of that code for a while.
 */

#ifndef CAPTURE_PATIENCE_H
#define CAPTURE_PATIENCE_H

#include "frame/code_entries.h"
#include "frame/pyversion.h"
#include "frame/thread_hook.h"

extern PyTypeObject Patience_Type;

static inline int is_patience(PyObject *callback)
{
    return Py_IS_TYPE(callback, &Patience_Type);
}

/* 1: the callback has to be asked about the frame that is to begin. 0: Python runs it (`cold_frame_run`).
 * -1 with an exception. `state`: of the frame's code. */
int patience_is_over(PyObject *patience, PyThreadState *tstate, ThreadHook *hook, CodeState *state);

/* Sets the kind of a code object. Takes the reference to the answer. 0, or -1 with an exception. */
int patience_set_kind(CodeState *state, PyObject *answer);

/* The grad mode of the thread, or -1 where nobody can read it yet. */
int patience_grad_mode(void);

/* What a turn of a loop has taken so far, all turns together, and what its capture would interpret. */
typedef struct {
    long long ns;
    long long turn_ns;  /* that the frame itself has worked in a turn, without a backward */
    long long whole_ns; /* that Python takes for a turn now, with all callees and entries */
    long long units;    /* code units of a turn, with those of its callees */
    long long nodes;    /* of autograd's graph, in a turn */
} TurnWork;

/* 1: the capture of a turn pays. -1: an exception. */
int patience_turn_pays(PyObject *patience, ThreadHook *hook, const TurnWork *work, int may_forecast);

/* The twin of the code (borrowed), or NULL where it has none, or with an exception. */
PyCodeObject *patience_twin(PyObject *patience, ThreadHook *hook, CodeState *state);

/* What has to see the frame that Python is to run now (borrowed), or NULL. It is asked once for the frame. */
PyObject *patience_glance(ThreadHook *hook, CodeState *state, InterpreterFrame *frame);

/* What a capture of the frames that Python has run would cost in a process without experience, in
 * nanoseconds: with all that it imports. 0: Python has run none, so nobody knows. */
long long patience_estimate(PyObject *patience, const CodeState *state);

/* The same in this process, by what its captures have cost. */
long long patience_expects(PyObject *patience, const CodeState *state);

/* The code is captured now: the units of a run are what its entry inlines. The entry takes the counts. */
void patience_note_units(CodeState *state);

/* A capture of the code has cost `paid`. */
void patience_paid(CodeState *state, long long expected, long long paid);

int init_patience(PyObject *module);

#endif
