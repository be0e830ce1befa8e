/* Python runs a frame that waits for its capture: its time and its code units are counted.
 *
 * In:  a frame that a Patience does not capture now.
 * Out: its result. What it took counts for its code, what is below it for the frames around it; what entries
 * and captures below it took does not.
 *
 *     it imports a module                              ->  that happens once, and counts for no frame
 *     a frame around keeps it and its callees back     ->  it counts for that frame
 *     its result has a gradient                        ->  it counts with the backward behind it
 *     it records many operations for a backward        ->  they count where its code units are fewer
 *     it unrolls a loop that is one call of a graph    ->  they do not count
 *     it leaves a loop that got hot                    ->  its resume function goes on, and counts for itself
 */

#include "frame/cold_frame.h"

#include "frame/autograd_nodes.h"
#include "frame/continuation.h"
#include "frame/look_ups.h"
#include "frame/patience.h"
#include "frame/price.h"
#include "frame/turns.h"
#include "frame/worked_time.h"
#include "tensors/tensor_access.h"

/* The time of a forward and its backward, in forwards. */
enum { FORWARD_AND_BACKWARD = 3 };

/* Whether its frames leave loops though they run again: others did, or what repeats inside does not wait. */
static int leaves_loops(const CodeState *state)
{
    return state->has_left || state->cold.far_runs > 0;
}

static enum Blocking blocking_inside(enum Blocking outside, const CodeState *state)
{
    const enum CodeKind kind = state->cold.kind;
    if (kind == KIND_BRIEF || kind == KIND_ONCE || outside == BLOCKS_LOOPS_TOO) {
        return BLOCKS_LOOPS_TOO;
    }
    if (leaves_loops(state)) {
        return BLOCKS_NOTHING; /* but see `keeps_callees` in turns.c */
    }
    return kind == KIND_FORWARD                     ? BLOCKS_LOOPS_TOO
           : kind == KIND_LOOP || kind == KIND_LEFT ? BLOCKS_NOTHING
                                                    : BLOCKS_CALLEES;
}

static int requires_grad(PyObject *value)
{
    return tensor_check_exact(value) && tensor_requires_grad(value);
}

/* Whether the value is a tensor with a gradient, or a tuple, list or dict that holds one. */
static int has_gradient(PyObject *value)
{
    PyObject *key, *item;
    Py_ssize_t place = 0;
    if (PyDict_Check(value)) {
        while (PyDict_Next(value, &place, &key, &item)) {
            if (requires_grad(item)) {
                return 1;
            }
        }
        return 0;
    }
    if (!PyTuple_Check(value) && !PyList_Check(value)) {
        return requires_grad(value);
    }
    for (; place < Py_SIZE(value); place++) {
        if (requires_grad(PyTuple_Check(value) ? PyTuple_GET_ITEM(value, place)
                                               : PyList_GET_ITEM(value, place))) {
            return 1;
        }
    }
    return 0;
}

/* Whether a backward may follow that the time of the frame does not have. `backwards`: before the frame. */
static int waits_for_backward(const ThreadHook *hook, unsigned long long backwards, PyObject *value)
{
    return hook->backwards > 0 && hook->backwards == backwards && value != NULL && tensor_access_ready()
           && has_gradient(value);
}

static PyObject *run_in_python(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook,
                               enum CodeKind kind)
{
    if (kind != KIND_BRIEF) {
        return eval_default(tstate, frame, 0);
    }
    const unsigned long long nodes = autograd_nodes() - hook->away_nodes;
    PyObject *value = eval_default(tstate, frame, 0);
    hook->away_nodes = autograd_nodes() - nodes;
    return value;
}

/* An import happens once. What it takes is no work of the frames around it. */
static PyObject *run_import(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook)
{
    const enum Blocking outside = hook->blocking;
    const long long away = hook->away_ns, started = worked_ns();
    hook->blocking = BLOCKS_EVERYTHING;
    PyObject *value = eval_default(tstate, frame, 0);
    hook->blocking = outside;
    hook->away_ns = away + worked_ns() - started;
    return value;
}

/* A frame around it keeps it back, and its callees, too: what all of them take counts for that frame. Most
 * frames of a cold program are of this sort, so they read no clock. */
static int is_kept_back(const ThreadHook *hook, const CodeState *state)
{
    return hook->blocking != BLOCKS_NOTHING && blocking_inside(hook->blocking, state) != BLOCKS_NOTHING;
}

static PyObject *run_kept_back(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook,
                               const CodeState *state)
{
    const enum Blocking outside = hook->blocking;
    hook->blocking = blocking_inside(outside, state);
    hook->units += (unsigned long long)Py_SIZE(frame_code(frame));
    PyObject *value = run_in_python(tstate, frame, hook, state->cold.kind);
    hook->blocking = outside;
    return value;
}

/* Code with loops runs as its twin, which may leave them: its first frame, those behind one that did, and
 * those of code whose capture is far off. (What else runs again gets hot as a whole.) NULL: an exception, or
 * the frame has no twin. */
static PyCodeObject *twin_to_run(ThreadHook *hook, CodeState *state)
{
    const enum CodeKind kind = state->cold.kind;
    const int is_first = state->cold.runs == 0 && state->count == 0 && kind == KIND_LOOP;
    const int may_leave = is_first || leaves_loops(state) || (state->marks & CODE_RESUME);
    const int drives = blocking_inside(hook->blocking, state) == BLOCKS_NOTHING;
    const int has_loops = kind == KIND_LOOP || kind == KIND_FORWARD;
    return has_loops && may_leave && drives ? patience_twin(hook->callback, hook, state) : NULL;
}

/* Takes the reference to the value of a frame that may have left a loop. A resume function gives its
 * Continuation to the loop that called it. */
static PyObject *continued(InterpreterFrame *frame, PyObject *value, unsigned marks)
{
    if ((marks & CODE_RESUME) || !is_continuation(value)) {
        return value;
    }
    frame_release_locals(frame);
    return run_continuations(value);
}

/* Loops make more operations than their code shows. */
static void count_operations(ThreadHook *hook, unsigned long long units_before, unsigned long long nodes)
{
    hook->units = Py_MAX(hook->units, units_before + (unsigned long long)units_of_nodes((long long)nodes));
}

/* `ns` of work in the mode in which a frame has begun; -1: nobody could read it. */
static void count_work(ColdRuns *cold, long long ns, int grad_mode)
{
    cold->ns += ns;
    if (grad_mode >= 0) {
        cold->mode_ns[grad_mode] += ns;
    }
}

PyObject *cold_frame_run(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook, CodeState *state)
{
    if (state->cold.kind == KIND_IMPORT) {
        return run_import(tstate, frame, hook);
    }
    if (is_kept_back(hook, state)) {
        return run_kept_back(tstate, frame, hook, state);
    }
    PyCodeObject *twin = twin_to_run(hook, state);
    if (twin == NULL && PyErr_Occurred()) {
        return NULL;
    }
    PyCodeObject *code = (PyCodeObject *)Py_NewRef(frame_code(frame)); /* it owns `state` */
    const unsigned marks = state->marks;
    const enum Blocking outside = hook->blocking;
    TurnRun *around = turns_hide(hook);
    hook->blocking = blocking_inside(outside, state);
    const unsigned long long units = hook->units;
    const long long away = hook->away_ns, captures = hook->capture_ns, below = hook->cold_ns;
    const unsigned long long backwards = hook->backwards, nodes = autograd_nodes() - hook->away_nodes;
    hook->units += (unsigned long long)Py_SIZE(code);
    hook->cold_frames++;
    const int awaited = look_comes_next(state);
    hook->looks_to_come += awaited;
    const int grad_mode = patience_grad_mode();
    const long long started = worked_ns();
    PyObject *value = twin != NULL ? run_by_turns(tstate, frame, hook, twin)
                                   : run_in_python(tstate, frame, hook, state->cold.kind);
    const long long elapsed = worked_ns() - started;
    hook->cold_frames--;
    hook->looks_to_come -= awaited;
    hook->blocking = outside;
    turns_show(hook, around);
    turns_note_below(hook, elapsed - (hook->away_ns - away));
    ColdRuns *cold = &state->cold;
    const int forwards = waits_for_backward(hook, backwards, value) ? FORWARD_AND_BACKWARD : 1;
    const long long counted = forwards * (elapsed - (hook->away_ns - away));
    count_work(cold, counted, grad_mode);
    price_python_worked(counted - (hook->cold_ns - below)); /* the callees have counted themselves */
    hook->cold_ns = below + counted;
    count_operations(hook, units, autograd_nodes() - hook->away_nodes - nodes);
    cold->units += (long long)(hook->units - units);
    if (cold->runs == 0) {
        cold->first_ns = cold->ns;
    }
    if (cold->runs++ > 0 || code_state_is_warm(state)) {
        timing_add(&cold->whole, elapsed - (hook->capture_ns - captures));
    }
    Py_DECREF(code);
    return continued(frame, value, marks);
}
