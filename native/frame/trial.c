/* Does an entry pay? Its first runs are timed, and so are those of Python, before it or beside it.
 *
 * In:  the times of an entry on trial, or of the turns of a loop that a frame has left.
 * Out: the answer of `judge`, or of `judge_turns`: the entry stays, or goes.
 *
 *     faster than Python was                  ->  it stays
 *     slower, and Python may have run others  ->  Python runs some frames that fit it, then once more
 *     slower                                  ->  it goes; its code gets another kind */

#include "frame/trial.h"

#include "frame/patience.h"
#include "frame/patience_type.h"

static PyObject *timing_as_tuple(const Timing *timing)
{
    return Py_BuildValue("(LL)", timing->ns / timing->runs, timing->least_ns);
}

int patience_judge_turns(PyObject *callback, ThreadHook *hook, CodeState *state, Entry *entry,
                         const TurnTrial *trial)
{
    const Patience *patience = (Patience *)callback;
    if (patience->judge_turns == NULL) {
        return 0;
    }
    PyObject *own = timing_as_tuple(&trial->own);
    begin_callback(hook);
    PyObject *answer =
        own == NULL ? NULL
                    : PyObject_CallFunction(patience->judge_turns, "OOLOO", state->code, entry,
                                            trial->python_ns, own, trial->records ? Py_True : Py_False);
    end_callback(hook);
    Py_XDECREF(own);
    const int pays = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    state->marks |= pays == 0 ? CODE_SKIPPED : 0; /* Python runs the rest of the loop */
    return pays < 0 ? -1 : 0;
}

/* What Python ran before the entry may have been other frames: those that return at once, say. So an entry
 * that seems to be slower is compared once more, with frames that fit it. */
static int begin_second_comparison(Trial *trial)
{
    trial->python = (Timing){0};
    trial->to_come = RUNS_IN_PYTHON;
    trial->fits = 1;
    return 0;
}

static int judge_entry(const Patience *patience, ThreadHook *hook, CodeState *state, Entry *entry)
{
    Trial *trial = &entry->trial;
    PyObject *python = timing_as_tuple(&trial->python), *own = timing_as_tuple(&trial->own);
    begin_callback(hook);
    PyObject *answer = python == NULL || own == NULL
                           ? NULL
                           : PyObject_CallFunction(patience->judge, "OOOOO", state->code, entry, python, own,
                                                   trial->fits ? Py_True : Py_False);
    end_callback(hook);
    Py_XDECREF(python);
    Py_XDECREF(own);
    if (answer == Py_None || answer == Py_True) {
        const int is_open = answer == Py_True && !trial->fits;
        Py_DECREF(answer);
        return is_open ? begin_second_comparison(trial) : 0;
    }
    return patience_set_kind(state, answer);
}

int patience_try(PyObject *callback, ThreadHook *hook, CodeState *state, Entry *entry, long long ns)
{
    const Patience *patience = (Patience *)callback;
    Trial *trial = &entry->trial;
    if (patience->judge == NULL || !entry_is_on_trial(entry)) {
        return 0;
    }
    if (trial->runs++ >= RUNS_BEFORE_TRIAL) {
        timing_add(&trial->own, ns);
    }
    return entry_is_on_trial(entry) ? 0 : judge_entry(patience, hook, state, entry);
}

int patience_try_python(PyObject *callback, ThreadHook *hook, CodeState *state, Entry *entry, long long ns)
{
    const Patience *patience = (Patience *)callback;
    Trial *trial = &entry->trial;
    if (patience->judge == NULL || trial->to_come == 0) { /* 0: frames below this one have been compared */
        return 0;
    }
    timing_add(&trial->python, ns);
    return --trial->to_come > 0 ? 0 : judge_entry(patience, hook, state, entry);
}
