/* The evaluator that PEP 523 allows in front of CPython's own: every frame of a hooked thread comes here.
 *
 * In:  a frame before its first instruction.
 * Out: the value of the frame, or NULL with the exception that the frame raises.
 *
 *     skipped, generator, class body, hook suspended      ->  default evaluator
 *     script, cell of a notebook                          ->  default evaluator, which can leave its loops
 *     somebody else follows the thread (other_tracers.h)  ->  default evaluator
 *     an entry's guards hold                              ->  its graph, on the slots that the guards loaded,
 *                                                            or its code
 *     an entry that is unhooked                           ->  default evaluator, without callbacks below
 *     no entry's guards hold                              ->  callback(Frame): it returns an entry, or None
 *                                                            for the default evaluator
 *     no entry, and the callback is a Patience            ->  the same, once frames of the code are hot
 *
 * While a trace or profile function is set, no entry runs: it sees the lines of the program as they are. */

#include "frame/other_tracers.h"

#include "frame/autograd_nodes.h"
#include "frame/c_stack.h"
#include "frame/code_entries.h"
#include "frame/cold_frame.h"
#include "frame/continuation.h"
#include "frame/entry.h"
#include "frame/frame.h"
#include "frame/held_signals.h"
#include "frame/look_ups.h"
#include "frame/patience.h"
#include "frame/pyversion.h"
#include "frame/running_loops.h"
#include "frame/thread_hook.h"
#include "frame/trial.h"
#include "frame/turns.h"
#include "frame/worked_time.h"

static Py_ssize_t graph_failures;

/* --- running an entry's code ------------------------------------------------------------------------- */

/* A function of that code with the globals, builtins and closure of the frame's own, or NULL with an
 * exception. */
static PyObject *make_function(PyCodeObject *code, const FrameState *state)
{
    PyFunctionObject *function = (PyFunctionObject *)PyFunction_New((PyObject *)code, state->globals);
    if (function != NULL) {
        Py_XSETREF(function->func_closure, Py_XNewRef(state->function->func_closure));
        Py_XSETREF(function->func_builtins, Py_NewRef(state->builtins));
    }
    return (PyObject *)function;
}

/* If the frame can't hold the code: calls an ordinary function of that code with the frame's arguments and
 * the slots. The frame lets go of them: the code frees an argument when it rebinds the name. */
static PyObject *call_as_function(PyCodeObject *code, InterpreterFrame *frame, PyObject *const *slots,
                                  Py_ssize_t nslots)
{
    const FrameState state = frame_state(frame);
    const Py_ssize_t count = code->co_argcount, nformals = count - nslots;
    PyObject *args[count + 1];
    /* before any allocation: slots are borrowed, and a collection runs user code */
    for (Py_ssize_t i = 0; i < count; i++) {
        args[i] = Py_NewRef(i < nformals ? state.locals[i] : slots[i - nformals]);
    }
    PyObject *function = make_function(code, &state); /* it holds the code: its entry may be removed */
    if (function == NULL) {
        for (Py_ssize_t i = 0; i < count; i++) {
            Py_DECREF(args[i]);
        }
        return NULL;
    }
    frame_release_locals(frame);
    PyObject *value = call_handing_over(function, args, count);
    Py_DECREF(function);
    return value;
}

/* `marks`: of the frame's own code. A resume function returns its Continuation to the loop that called it. */
static PyObject *run_code(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook, Entry *entry,
                          PyObject *const *slots, unsigned marks)
{
    PyCodeObject *code = entry->code;
    PyObject *value;
    const enum Signals signals = signals_hold(hook);
    if (frame_swap_code(tstate, frame, code, slots, entry->nslots)) {
        value = eval_default(tstate, frame, 0);
    } else {
        value = call_as_function(code, frame, slots, entry->nslots);
    }
    set_signals(hook, signals);
    if ((marks & CODE_RESUME) || !is_continuation(value)) {
        return value;
    }
    /* The Continuation holds what the rest of the function needs. All else may go now. */
    frame_release_locals(frame);
    return run_continuations(value);
}

/* --- running an entry's graph ------------------------------------------------------------------------ */

static PyObject *tuple_of(PyObject *const *items, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(items[i]));
    }
    return tuple;
}

/* The graph raised. Its exception goes away, because the default evaluator will raise eager's own at the
 * user's line, or a Continuation does, or the frame at its begin. 0 to continue with the default evaluator,
 * -1 with an exception. */
static int after_graph_failure(Entry *entry, ThreadHook *hook, PyObject *const *slots)
{
    if (entry->on_failure == NULL && !PyErr_ExceptionMatches(PyExc_Exception)) {
        return -1;
    }
    graph_failures++;
    PyObject *type, *exception, *traceback;
    PyErr_Fetch(&type, &exception, &traceback);
    PyErr_NormalizeException(&type, &exception, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(exception, traceback);
    }
    PyObject *on_failure = Py_NewRef(entry->on_failure == NULL ? Py_None : entry->on_failure);
    PyObject *answer = Py_None;
    if (on_failure != Py_None) {
        PyObject *inputs = tuple_of(slots, entry->ninputs);
        begin_callback(hook);
        answer =
            inputs == NULL ? NULL : PyObject_CallFunctionObjArgs(on_failure, entry, exception, inputs, NULL);
        answer = run_continuations(answer); /* it raises the exception at its place */
        end_callback(hook);
        Py_XDECREF(inputs);
        Py_XDECREF(answer);
    }
    Py_DECREF(on_failure);
    Py_XDECREF(type);
    Py_XDECREF(exception);
    Py_XDECREF(traceback);
    return answer == NULL ? -1 : 0;
}

static PyObject *run_graph(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook, Entry *entry,
                           PyObject *const *slots)
{
    int failed;
    Py_INCREF(entry);
    const enum Signals signals = signals_hold(hook);
    PyObject *value = entry_run_graph(entry, slots, &failed);
    set_signals(hook, signals);
    const int give_up = value == NULL && (!failed || after_graph_failure(entry, hook, slots) < 0);
    Py_DECREF(entry);
    return value != NULL || give_up ? value : eval_default(tstate, frame, 0);
}

static PyObject *run_entry(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook, Entry *entry,
                           PyObject *const *slots, unsigned marks)
{
    hook->entries += entry->graph != NULL || entry->code != NULL;
    if (entry->graph != NULL) {
        return run_graph(tstate, frame, hook, entry, slots);
    }
    if (entry->code != NULL) {
        return run_code(tstate, frame, hook, entry, slots, marks);
    }
    /* while the hook is off, signals would not wait */
    const int unhooked = entry->unhooked && hook->signals != SIGNALS_HELD;
    return unhooked ? eval_unhooked(tstate, frame, hook) : eval_default(tstate, frame, 0);
}

/* --- no entry's guards hold: ask the callback -------------------------------------------------------- */

/* A new reference, or NULL with an exception. The thread has no hook until this returns. */
static PyObject *ask_callback(PyCodeObject *code, ThreadHook *hook, const FrameState *state)
{
    const long long away = hook->away_ns, started = worked_ns();
    const unsigned long long nodes = autograd_nodes() - hook->away_nodes;
    begin_callback(hook);
    PyObject *callback = Py_NewRef(hook->callback);
    PyObject *snapshot = frame_snapshot(code, state, code_state_failures(code_state(code), hook->key, state));
    PyObject *answer = snapshot == NULL ? NULL : PyObject_CallOneArg(callback, snapshot);
    Py_XDECREF(snapshot);
    Py_DECREF(callback);
    end_callback(hook);
    const long long elapsed = worked_ns() - started;
    hook->capture_ns += elapsed;
    hook->away_ns = away + elapsed;
    hook->away_nodes = autograd_nodes() - nodes;
    return answer;
}

static int check_answer(PyObject *answer, PyCodeObject *code)
{
    if (!is_entry(answer)) {
        PyErr_Format(PyExc_TypeError, "the frame callback must return an Entry or None, not %.200s",
                     Py_TYPE(answer)->tp_name);
        return -1;
    }
    return entry_fits((Entry *)answer, code);
}

static PyObject *run_answer(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook, Entry *entry)
{
    PyCodeObject *code = frame_code(frame);
    const FrameState state = frame_state(frame);
    const CodeState *marked = code_state(code);
    const unsigned marks = marked == NULL ? 0 : marked->marks;
    PyObject *slots[entry->nslots + 1];
    if (entry->nslots > 0 && entry_guards_run(entry, &state, slots) != -1) {
        return eval_default(tstate, frame, 0);
    }
    return run_entry(tstate, frame, hook, entry, slots, marks);
}

/* Takes the reference to the answer: an entry. */
static PyObject *run_checked_answer(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook,
                                    PyObject *answer)
{
    PyObject *value =
        check_answer(answer, frame_code(frame)) < 0 ? NULL : run_answer(tstate, frame, hook, (Entry *)answer);
    Py_DECREF(answer);
    return value;
}

static PyObject *ask_and_run(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook)
{
    const FrameState state = frame_state(frame);
    PyObject *answer = ask_callback(frame_code(frame), hook, &state);
    if (answer == NULL) {
        return NULL;
    }
    if (answer == Py_None) {
        Py_DECREF(answer);
        return eval_default(tstate, frame, 0);
    }
    return run_checked_answer(tstate, frame, hook, answer);
}

/* An earlier process may have made an entry for the frame. Where the callback has none, the frame waits as
 * others do. */
static PyObject *look_up_and_run(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook,
                                 CodeState *code_state)
{
    const FrameState state = frame_state(frame);
    const long long before = hook->capture_ns;
    PyObject *answer = ask_callback(frame_code(frame), hook, &state);
    if (answer == NULL) {
        return NULL;
    }
    if (answer != Py_None) {
        return run_checked_answer(tstate, frame, hook, answer);
    }
    Py_DECREF(answer);
    if (code_state->marks & CODE_SKIPPED) {
        return eval_default(tstate, frame, 0);
    }
    look_up_missed(code_state, hook->capture_ns - before);
    return cold_frame_run(tstate, frame, hook, code_state);
}

/* Shows the arguments of the frame to the Patience. 0, or -1 with an exception. */
static int glance_at(PyObject *glance, PyCodeObject *code, InterpreterFrame *frame, ThreadHook *hook)
{
    const FrameState state = frame_state(frame);
    const long long started = worked_ns();
    begin_callback(hook);
    Py_INCREF(glance);
    PyObject *snapshot = frame_snapshot(code, &state, PyTuple_New(0));
    PyObject *answer = snapshot == NULL ? NULL : PyObject_CallOneArg(glance, snapshot);
    Py_XDECREF(snapshot);
    Py_XDECREF(answer);
    Py_DECREF(glance);
    end_callback(hook);
    hook->away_ns += worked_ns() - started;
    return answer == NULL ? -1 : 0;
}

static PyObject *run_cold(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook, CodeState *state)
{
    PyObject *glance = patience_glance(hook, state, frame);
    if (glance != NULL && glance_at(glance, state->code, frame, hook) < 0) {
        return NULL;
    }
    return cold_frame_run(tstate, frame, hook, state);
}

/* The rest of a frame is captured with its beginning, up to so many times of what this was to cost. */
enum { RESUMES_UP_TO = 2 };

/* The captures on the way to the value are the price of the code: those of its resume functions, too. */
static PyObject *eval_under_patience(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook,
                                     CodeState *state)
{
    if (hook->blocking == BLOCKS_EVERYTHING) {
        return eval_default(tstate, frame, 0);
    }
    state = state == NULL ? ensure_code_state(frame_code(frame)) : state;
    const int over = state == NULL ? -1 : patience_is_over(hook->callback, tstate, hook, state);
    if (over <= 0) {
        return over < 0 ? NULL : run_cold(tstate, frame, hook, state);
    }
    if (is_looked_up(state->cold.kind)) {
        return look_up_and_run(tstate, frame, hook, state);
    }
    PyCodeObject *code = (PyCodeObject *)Py_NewRef(frame_code(frame)); /* it owns `state` */
    const long long expected = patience_estimate(hook->callback, state), before = hook->capture_ns;
    const long long outside = hook->resumes_until_ns;
    PyCodeObject *begun_outside = hook->begun;
    const int may_be_captured = state->cold.kind != KIND_ASK && state->cold.kind != KIND_BACKWARD;
    if (may_be_captured && !(state->marks & CODE_RESUME)) {
        hook->resumes_until_ns = before + RESUMES_UP_TO * patience_expects(hook->callback, state);
        hook->begun = code;
        hook->beginnings++;
    }
    patience_note_units(state);
    PyObject *value = ask_and_run(tstate, frame, hook);
    hook->resumes_until_ns = outside;
    hook->begun = begun_outside;
    patience_paid(state, expected, hook->capture_ns - before);
    Py_DECREF(code);
    return value;
}

/* `state`: that of its code, or NULL if there is none yet. */
static PyObject *eval_miss(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook, CodeState *state)
{
    /* No callback during somebody's error handling, or while the interpreter empties its modules. */
    if (PyErr_Occurred() || interpreter_is_finalizing()) {
        return eval_default(tstate, frame, 0);
    }
    return is_patience(hook->callback) ? eval_under_patience(tstate, frame, hook, state)
                                       : ask_and_run(tstate, frame, hook);
}

/* A script, or a cell of a notebook, is left to Python, and can leave its loops. */
static PyObject *eval_top_level(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook)
{
    const int waits = is_patience(hook->callback) && hook->blocking != BLOCKS_EVERYTHING && !PyErr_Occurred()
                      && !interpreter_is_finalizing();
    if (!waits) {
        return eval_default(tstate, frame, 0);
    }
    CodeState *state = ensure_code_state(frame_code(frame));
    const PyCodeObject *twin = state == NULL ? NULL : patience_twin(hook->callback, hook, state);
    if (twin == NULL) {
        return PyErr_Occurred() ? NULL : eval_default(tstate, frame, 0);
    }
    state->cold.kind = KIND_LOOP;
    return cold_frame_run(tstate, frame, hook, state);
}

/* --- the evaluator ----------------------------------------------------------------------------------- */

static PyObject *run_timed(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook, CodeState *state,
                           Entry *entry, PyObject *const *slots)
{
    PyCodeObject *code = (PyCodeObject *)Py_NewRef(frame_code(frame)); /* it owns `state` and `entry` */
    PyObject *callback = Py_NewRef(hook->callback);
    Py_INCREF(entry);
    const long long away = hook->away_ns, captures = hook->capture_ns, started = worked_ns();
    const unsigned long long nodes = autograd_nodes() - hook->away_nodes;
    const long long backwards = hook->backward_ns;
    const int is_step = hook->compared == &entry->trial.steps;
    hook->compared_now += is_step;
    TurnTrial turns;
    const int is_judged = state->turns.python_ns > 0 && turn_begins(hook, state, &turns);
    PyObject *value = run_entry(tstate, frame, hook, entry, slots, state->marks);
    hook->compared_now -= is_step;
    const long long elapsed = worked_ns() - started;
    hook->away_ns = away + elapsed;
    hook->away_nodes = autograd_nodes() - nodes;
    const long long own = elapsed - (hook->capture_ns - captures);
    if (value != NULL && is_patience(callback)
        && (patience_try(callback, hook, state, entry, own) < 0
            || patience_try_step(callback, hook, state, entry, own - (hook->backward_ns - backwards)) < 0
            || (is_judged && patience_judge_turns(callback, hook, state, entry, &turns) < 0))) {
        Py_CLEAR(value);
    }
    Py_DECREF(entry);
    Py_DECREF(callback);
    Py_DECREF(code);
    return value;
}

/* Python runs a frame that fits the entry: the entry is compared with that. It comes no more often than that,
 * so nothing counts as cold, neither the frame nor what it calls. */
static PyObject *run_compared(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook,
                              CodeState *state, Entry *entry)
{
    PyCodeObject *code = (PyCodeObject *)Py_NewRef(frame_code(frame)); /* it owns `state` and `entry` */
    PyObject *callback = Py_NewRef(hook->callback);
    Py_INCREF(entry);
    const enum Blocking outside = hook->blocking;
    TurnRun *around = turns_hide(hook);
    hook->blocking = BLOCKS_LOOPS_TOO;
    const long long away = hook->away_ns, captures = hook->capture_ns, started = worked_ns();
    const unsigned long long nodes = autograd_nodes() - hook->away_nodes;
    const long long backwards = hook->backward_ns;
    const int is_step = hook->compared == &entry->trial.steps;
    hook->compared_now += is_step;
    PyObject *value = eval_default(tstate, frame, 0);
    hook->compared_now -= is_step;
    const long long elapsed = worked_ns() - started, own = elapsed - (hook->capture_ns - captures);
    hook->away_ns = away + elapsed;
    hook->away_nodes = autograd_nodes() - nodes;
    hook->blocking = outside;
    turns_show(hook, around);
    if (value != NULL
        && (patience_try_python(callback, hook, state, entry, own) < 0
            || patience_try_step(callback, hook, state, entry, own - (hook->backward_ns - backwards)) < 0)) {
        Py_CLEAR(value);
    }
    Py_DECREF(entry);
    Py_DECREF(callback);
    Py_DECREF(code);
    return value;
}

static PyObject *eval_with_entries(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook,
                                   CodeState *code_state)
{
    const FrameState state = frame_state(frame);
    PyObject *slots[code_state->max_slots + 1];
    Entry *entry = code_state_find(code_state, hook->key, &state, slots);
    if (entry == NULL) {
        return eval_miss(tstate, frame, hook, code_state);
    }
    const int has_steps = entry->trial.steps.is_open;
    if ((entry->trial.to_come > 0 || (has_steps && step_is_pythons(hook, &entry->trial.steps)))
        && is_patience(hook->callback)) {
        return run_compared(tstate, frame, hook, code_state, entry);
    }
    entry->hits++;
    const long long inlined = code_state->inlined_units;
    hook->units += (unsigned long long)(inlined > 0 ? inlined : Py_SIZE(code_state->code));
    const int is_compared = entry_is_on_trial(entry) || has_steps || code_state->turns.python_ns > 0;
    const int timed = hook->cold_frames > 0 || (is_compared && is_patience(hook->callback));
    if (!timed || entry_is_eager(entry)) {
        return run_entry(tstate, frame, hook, entry, slots, code_state->marks);
    }
    return run_timed(tstate, frame, hook, code_state, entry, slots);
}

/* Deep recursion: from here on Python calls Python without C stack, as it does without the hook. All hooked
 * threads run eagerly until this frame ends. */
static __attribute__((noinline)) PyObject *eval_deep(PyThreadState *tstate, InterpreterFrame *frame,
                                                     int throwflag)
{
    evaluator_pause();
    PyObject *value = eval_default(tstate, frame, throwflag);
    evaluator_resume();
    return value;
}

PyObject *eval_frame(PyThreadState *tstate, InterpreterFrame *frame, int throwflag)
{
    ThreadHook *hook = thread_hook;
    if (hook != NULL && hook->signals == SIGNALS_HELD && !hook->suspended && is_frame_of_the_program(frame)) {
        return eval_with_signals(tstate, frame, hook, throwflag);
    }
    if (hook != NULL && hook->follows == FOLLOWS && !hook->suspended) {
        return eval_below_followed(tstate, frame, hook, throwflag);
    }
    if (frame_comes_back(frame)) {
        return eval_default(tstate, frame, throwflag);
    }
    if (c_stack_is_low()) {
        return eval_deep(tstate, frame, throwflag);
    }
    if (hook != NULL && hook->handover != NULL) {
        handover_take(hook, frame);
    }
    if (hook == NULL || hook->callback == NULL || hook->suspended || throwflag
        || thread_is_followed(tstate)) {
        return eval_default(tstate, frame, throwflag);
    }
    CodeState *state = code_state(frame_code(frame));
    if (state != NULL && (state->marks & CODE_HOLDS_SIGNALS) && hook->signals != SIGNALS_HELD) {
        return eval_without_signals(tstate, frame, hook, throwflag);
    }
    hook->readers += state != NULL && (state->marks & CODE_READS);
    if (state != NULL && (state->marks & (CODE_SKIPPED | CODE_OUTPUT))) {
        hook->units += (unsigned long long)Py_SIZE(state->code); /* a capture around it would inline it */
        if (state->marks & CODE_BACKWARD) {
            hook->backwards++;
            return run_backward(tstate, frame, hook);
        }
        return eval_default(tstate, frame, 0);
    }
    if (!frame_is_function_call(frame)) {
        return frame_is_top_level(frame) ? eval_top_level(tstate, frame, hook)
                                         : eval_default(tstate, frame, 0);
    }
    if (state != NULL && state->count > 0) {
        return eval_with_entries(tstate, frame, hook, state);
    }
    return eval_miss(tstate, frame, hook, state);
}

/* --- functions of the module ------------------------------------------------------------------------- */

static PyObject *get_graph_failures(PyObject *module, PyObject *ignored)
{
    return PyLong_FromSsize_t(graph_failures);
}

static PyMethodDef functions[] = {
    {"graph_failures", get_graph_failures, METH_NOARGS,
     "graph_failures() -> int: how often a graph raised and its frame ran in the default evaluator instead."},
    {NULL, NULL, 0, NULL},
};

int init_eval_frame(PyObject *module)
{
    return init_thread_hook(module) < 0 || init_other_tracers(module) < 0
               ? -1
               : PyModule_AddFunctions(module, functions);
}
