/* A capture is an investment: Patience is the callback that makes it only for frames that run again and
 * again.
 *
 * In:  a frame without a fitting entry, on a thread whose callback is a Patience.
 * Out: whether the callback inside is asked now, or Python runs the frame and its time is counted.
 *
 *     a frame that has run once, or for a short time      ->  Python runs it, and the clock runs with it
 *     Python has spent what a capture costs               ->  the callback is asked
 *     it will spend much more, as the loops around tell    ->  the callback is asked
 *     the same, but a second capture has served nobody     ->  Python runs the frame
 *     it has spent that, but the loops around end soon     ->  Python runs the frame
 *     the capture would import more than the compiler      ->  Python runs it until that pays, too
 *     it has worked more in the other grad mode           ->  Python runs the frame, which has to pay alone
 *     an earlier process has made its entry               ->  the callback is asked at the first frame
 *     the same, and it fits no frame so far               ->  nothing is foretold below this frame
 *     earlier processes have spent three times that       ->  the callback is asked after a few runs
 *
 * Time is what the thread has worked: where others load the machine, or the program waits for its data, no
 * frame gets hotter.
 *
 * The cost of a capture grows with the bytecode that it interprets. So it is a time for each code unit of the
 * frames that ran below a frame, its own included (price.c). Operations of loops count as units, too
 * (cold_frame.c), and so does what entries below it have inlined: a capture would inline it again. Their time
 * does not count. A frame that no entry of its code fits waits in the same way: another capture has to pay,
 * too.
 *
 * A graph that gives gradients is fast in the backward, too. So where the program computes gradients, the
 * time of a frame whose result requires one counts with that of the backward behind it.
 *
 * In the last half of the wait, and ahead of each forecast, `glance(frame)` sees some frames: what differs
 * between them and the captured one is no constant. Of those that look alike (digest.c) it sees one.
 *
 * The outermost frame that runs again is worth the most: its graphs hold those of its callees. So no callee
 * of a cold frame is captured, until it is clear that the cold frame only drives others (it has a loop and is
 * not the forward function of a module), or that its capture is far off. */

#include "frame/patience.h"

#include "frame/autograd_nodes.h"
#include "frame/digest.h"
#include "frame/look_ups.h"
#include "frame/patience_type.h"
#include "frame/worked_time.h"
#include "tensors/tensor_access.h"
#include "tensors/torch_symbols.h"

/* A driver's callee that it calls at least so often is captured alone. Below that the driver itself is, if it
 * runs again. What is no driver, but whose capture is far off, inlines more. */
enum { TURNS_OF_A_DRIVER = 4, TURNS_WHERE_IT_IS_FAR = 16 };

/* The capture of code that has run so often is far off where Python has spent less than one of so many parts
 * of its cost, and no forecast says that it will. */
enum { RUNS_UNTIL_FAR = 8, PARTS_UNTIL_FAR = 2 };

/* The future is looked at after so many runs, and each time that their number has doubled, if that of the
 * code can pay in so many times of what it has taken. What takes turns with an entry comes again: it is
 * looked at after its first run. */
enum { FIRST_FORECAST = 4, FIRST_FORECAST_OF_A_TURN = 1, FARTHEST_FORECAST = 4096 };

/* What a capture costs is saved in so many times of that. Where the loops end before it pays, Python has to
 * spend that. */
enum { POSTPONED = 3 };

/* So many times as long as an earlier process a longer one is. */
enum { LONGER = 2 };

/* --- is a frame hot? --------------------------------------------------------------------------------- */

int patience_set_kind(CodeState *state, PyObject *answer)
{
    const long kind = answer == NULL ? -1 : PyLong_AsLong(answer);
    Py_XDECREF(answer);
    if (kind == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (kind <= KIND_UNKNOWN || kind > KIND_LAST) {
        PyErr_Format(PyExc_ValueError, "the kind of a code object must be from 1 to %d, not %ld", KIND_LAST,
                     kind);
        return -1;
    }
    state->cold.kind = (enum CodeKind)kind;
    state->marks |= kind == KIND_BACKWARD ? CODE_BACKWARD : 0;
    return 0;
}

static int find_kind(Patience *patience, ThreadHook *hook, CodeState *state)
{
    begin_callback(hook);
    PyObject *answer = PyObject_CallOneArg(patience->kind, (PyObject *)state->code);
    end_callback(hook);
    hook->readers += (state->marks & CODE_READS) != 0; /* its first frame */
    const int failed = patience_set_kind(state, answer);
    if (failed == 0 && is_looked_up(state->cold.kind)) {
        price_others_are_stored();
    }
    return failed;
}

long long patience_estimate(PyObject *callback, const CodeState *state)
{
    return state->cold.runs == 0 ? 0 : price_without_experience(&((Patience *)callback)->rates, state);
}

long long patience_expects(PyObject *callback, const CodeState *state)
{
    return price_of_this_capture(&((Patience *)callback)->rates, state);
}

void patience_note_units(CodeState *state)
{
    const ColdRuns *cold = &state->cold;
    state->inlined_units = cold->runs > 0 ? cold->units / cold->runs : state->inlined_units;
}

/* Whether it tells what captures cost. What ends early without an entry does not. */
static int is_experience(const CodeState *state, long long expected, long long paid)
{
    const int is_first = state->paid_ns == 0 && !(state->marks & CODE_RESUME);
    return is_first && expected > 0 && (code_state_is_warm(state) || paid > expected);
}

void patience_paid(CodeState *state, long long expected, long long paid)
{
    if (is_experience(state, expected, paid)) {
        price_was_paid(expected, paid);
    }
    state->paid_ns += paid;
    for (Py_ssize_t i = 0; i < state->count; i++) {
        Entry *entry = state->entries[i];
        entry->cost_ns = entry->hits == 0 && entry->cost_ns == 0 ? paid : entry->cost_ns;
    }
    state->earlier_ns = state->most_ns = 0;
    state->cold = cold_runs_from_now(&state->cold); /* where there is no entry: it waits once more */
}

/* The trial of an entry compares with a run that pays for nothing lazy. */
static int has_run(const Patience *patience, const CodeState *state)
{
    return state->cold.runs >= (patience->judge == NULL || code_state_is_warm(state) ? 1 : 2);
}

static int may_get_hot(enum CodeKind kind)
{
    return kind != KIND_NEVER && kind != KIND_ONCE && kind != KIND_LEFT && kind != KIND_IMPORT;
}

/* A process has spent so much in the code without a capture. This one may be as long, and then no capture
 * pays: it has to be longer before its own time counts. Two processes never take the same time. */
static int is_longer_than_before(const CodeState *state)
{
    return state->cold.ns >= LONGER * state->most_ns;
}

/* A capture is for later processes, too. Where earlier ones have spent so much that a graph would have saved
 * its cost, the code is hot. */
static int was_hot(const Patience *patience, const CodeState *state)
{
    if (state->earlier_ns == 0) {
        return 0;
    }
    const long long cost = price_beside_stored_captures(&patience->rates, state);
    return state->earlier_ns >= Py_MAX(POSTPONED * cost, state->cold.postponed_ns);
}

/* Frames of the code had nothing to capture, here or in an earlier process. */
static int was_left(const CodeState *state)
{
    return state->count > 0 ? !code_state_is_warm(state) : state->looks.were_left;
}

/* A run that is shorter has a few small operations at most: nanoseconds. */
enum { SHORT_RUN_NS = 20000 };

/* Where frames of the code had nothing to capture, short ones that differ from them have not, either: a
 * method that stores its arguments, a counter. */
static int is_worth_another_look(const CodeState *state)
{
    return !was_left(state) || state->cold.ns >= SHORT_RUN_NS * (long long)state->cold.runs;
}

static int is_hot(const Patience *patience, const CodeState *state)
{
    const ColdRuns *cold = &state->cold;
    const int has_paid = cold->ns >= cold->postponed_ns && price_is_reached(&patience->rates, state, cold->ns)
                         && is_longer_than_before(state) && is_worth_another_look(state);
    return (has_paid || was_hot(patience, state)) && has_run(patience, state);
}

static int is_worth_a_forecast(const Patience *patience, const CodeState *state)
{
    return patience->foresee != NULL && !was_left(state) /* nothing is expected of it */
           && state->cold.ns > price_of(&patience->rates, state) / FARTHEST_FORECAST;
}

/* What the runs would have taken if the first one had paid for nothing lazy. */
static long long steady_ns(const CodeState *state)
{
    const ColdRuns *cold = &state->cold;
    return code_state_is_warm(state) ? cold->ns : (cold->ns - cold->first_ns) / (cold->runs - 1) * cold->runs;
}

enum Forecast { FORECAST_FAILED = -1, FORECAST_NOTHING_KNOWN, FORECAST_PAYS, FORECAST_DOES_NOT_PAY };

/* What a capture saves in the loops that run now, in times of what the runs have taken: in this process, and
 * in one more that has the entry from its first frame on. -1: an exception. Takes the reference. */
static double saved_times(CodeState *state, PyObject *answer)
{
    double done, gain;
    int runs_again;
    const int is_read = PyTuple_Check(answer) && PyArg_ParseTuple(answer, "ddp", &done, &gain, &runs_again);
    Py_DECREF(answer);
    if (!is_read || !(done > 0 && done <= 1 && gain >= 0)) {
        PyErr_SetString(PyExc_ValueError, "foresee() must return None or (done, gain, runs_again), with done "
                                          "above 0, up to 1, and a gain that is not negative");
        return -1;
    }
    const Py_ssize_t runs = Py_MAX(state->cold.runs, 1); /* 0: a finalizer has cleared the entries */
    const double times = pace_to_come(&state->cold.pace, runs, done) / (double)runs;
    return gain * (times + (runs_again ? times + 1 : 0));
}

/* Whether a capture pays in the loops that run now. Where they run again and again, nobody knows how often:
 * what is to come in them is the least. */
static enum Forecast forecast(const Patience *patience, ThreadHook *hook, CodeState *state)
{
    const double taken = (double)steady_ns(state);
    const long long started = worked_ns();
    begin_callback(hook);
    PyObject *answer = PyObject_CallNoArgs(patience->foresee);
    end_callback(hook);
    hook->away_ns += worked_ns() - started;
    if (answer == NULL || answer == Py_None) {
        Py_XDECREF(answer);
        return answer == NULL ? FORECAST_FAILED : FORECAST_NOTHING_KNOWN;
    }
    const double times = saved_times(state, answer);
    if (times < 0) {
        return FORECAST_FAILED;
    }
    const int pays = taken * times >= (double)price_of(&patience->rates, state);
    return pays                              ? FORECAST_PAYS
           : pace_repeats(&state->cold.pace) ? FORECAST_NOTHING_KNOWN
                                             : FORECAST_DOES_NOT_PAY;
}

/* Hot code waits once more where the loops end soon. -1: an exception. */
static int stays_hot(const Patience *patience, ThreadHook *hook, CodeState *state)
{
    ColdRuns *cold = &state->cold;
    const int is_steady = cold->runs > 1 || code_state_is_warm(state);
    if (cold->postponed_ns > 0 || !is_worth_a_forecast(patience, state) || !is_steady) {
        return 1;
    }
    const enum Forecast found = forecast(patience, hook, state);
    if (found == FORECAST_DOES_NOT_PAY) {
        cold->postponed_ns = POSTPONED * price_of(&patience->rates, state);
    }
    return found == FORECAST_FAILED ? -1 : found != FORECAST_DOES_NOT_PAY;
}

static Py_ssize_t first_forecast(const CodeState *state)
{
    return code_takes_turns(state) ? FIRST_FORECAST_OF_A_TURN : FIRST_FORECAST;
}

/* Whether the code was captured again and no entry has served a frame since: what its frames show changes on,
 * and the next capture may serve a single one, too. (Behind the first one, the next may have symbols for what
 * has changed.) Entries that serve, and new ones, stand in front. */
static int was_captured_again_in_vain(const CodeState *state)
{
    return state->added > 1 && code_state_is_warm(state) && state->entries[0]->hits == 0;
}

/* Below a frame whose code has stored entries, and none for this first one, nothing tells what comes: the
 * next frame probably runs such an entry, and no callee. (The first step of an optimizer makes its state.) */
static int is_time_for_a_forecast(const Patience *patience, const ThreadHook *hook, const CodeState *state)
{
    const Py_ssize_t runs = state->cold.runs;
    const int is_due = (runs & (runs - 1)) == 0 || state->cold.forecast_is_due;
    return runs >= first_forecast(state) && is_due && hook->looks_to_come == 0 && is_longer_than_before(state)
           && is_worth_a_forecast(patience, state) && !was_captured_again_in_vain(state);
}

/* 1: the loops that run now will take so much of this code's time that a capture pays. -1: an exception. */
static int will_get_hot(const Patience *patience, ThreadHook *hook, CodeState *state)
{
    const enum Forecast found = forecast(patience, hook, state);
    return found == FORECAST_FAILED ? -1 : found == FORECAST_PAYS;
}

/* Resume functions have the place of the program's function. */
static int is_of_same_place(const PyCodeObject *one, const PyCodeObject *other)
{
    return one->co_firstlineno == other->co_firstlineno && one->co_filename == other->co_filename;
}

/* The rest of a captured frame is captured at once, until the captures on the way have cost much more than
 * was expected: from then on it has to pay for itself. Where the frame is captured again, its rest is once
 * more: it gets what has changed. */
static int is_rest_of_a_capture(const ThreadHook *hook, CodeState *state)
{
    if (!(state->marks & CODE_RESUME)) {
        return 0;
    }
    const int goes_on = hook->capture_ns < hook->resumes_until_ns;
    const int is_first = state->count == 0 && !(state->marks & CODE_WAITS);
    const int is_again = state->count > 0 && hook->begun != NULL && state->beginning != hook->beginnings
                         && is_of_same_place(hook->begun, state->code);
    if (is_first && !goes_on) {
        state->marks |= CODE_WAITS;
    }
    if (!goes_on || !(is_first || is_again)) {
        return 0;
    }
    state->beginning = hook->beginnings;
    return 1;
}

/* How often a frame of this cold code has to call another one until that is captured alone. 0: it waits for
 * no caller. */
static long long turns_of_a_driver(const ColdRuns *cold)
{
    return cold->kind == KIND_LOOP ? TURNS_OF_A_DRIVER * (cold->runs + 1)
           : cold->far_runs > 0    ? TURNS_WHERE_IT_IS_FAR * (cold->runs - cold->far_runs + 1)
                                   : 0;
}

/* A driver that calls this code a few times in each of its runs is worth a capture more than its callee.
 * Returns whether there is such a caller; where the callee was captured alone and is again, there is none. */
static int caller_is_better(const PyThreadState *tstate, const CodeState *callee)
{
    if (code_takes_turns(callee)) {
        return 0;
    }
    for (InterpreterFrame *frame = thread_frame(tstate); frame != NULL; frame = frame_caller(frame)) {
        CodeState *state = original_state(frame_code(frame));
        if (state != NULL && state->count == 0 && callee->cold.runs < turns_of_a_driver(&state->cold)) {
            return 1;
        }
    }
    return 0;
}

int patience_grad_mode(void)
{
    return tensor_access_ready() ? torch_symbols.grad_mode() : -1;
}

/* An entry serves one grad mode. Where Python has worked more in the other one, a frame of that comes again
 * and is worth more: the samples that a training draws wait for its steps. (They do not need these: their own
 * time may pay alone.) */
static int is_of_the_usual_mode(const Patience *patience, const CodeState *state)
{
    const int mode = patience_grad_mode();
    const long long *spent = state->cold.mode_ns;
    return mode < 0 || spent[mode] >= spent[!mode] || price_is_reached(&patience->rates, state, spent[mode]);
}

/* Most frames of a cold program end here. */
static int may_look_hot(const Patience *patience, const ThreadHook *hook, CodeState *state)
{
    const int it_is_time = is_time_for_a_forecast(patience, hook, state);
    if (!it_is_time && !is_hot(patience, state)) {
        return 0;
    }
    const int is_usual = is_of_the_usual_mode(patience, state);
    state->cold.forecast_is_due |= it_is_time && !is_usual;
    return is_usual;
}

/* 1: hot, or soon. -1: an exception. */
static int looks_hot(const Patience *patience, ThreadHook *hook, CodeState *state)
{
    if (is_hot(patience, state)) {
        return stays_hot(patience, hook, state);
    }
    if (!is_time_for_a_forecast(patience, hook, state)) {
        return 0;
    }
    state->cold.forecast_is_due = 0;
    return will_get_hot(patience, hook, state);
}

/* What is not hot: is its capture far off? Then what repeats inside does not wait for it: callees, and turns
 * of its loops. (Frames that no entry of their code fits are variants: they were captured with their callees,
 * and may be again.) */
static void look_how_far(const Patience *patience, const ThreadHook *hook, CodeState *state)
{
    ColdRuns *cold = &state->cold;
    const int may_be_far = cold->kind != KIND_BRIEF && state->count == 0 && cold->runs >= RUNS_UNTIL_FAR;
    if (!may_be_far || !is_time_for_a_forecast(patience, hook, state)) {
        return;
    }
    const int is_far = PARTS_UNTIL_FAR * cold->ns < price_of(&patience->rates, state);
    cold->far_runs = !is_far ? 0 : cold->far_runs > 0 ? cold->far_runs : cold->runs;
}

/* Whether the capture costs more than was known so far. -1: an exception. */
static int costs_more(const Patience *patience, ThreadHook *hook, CodeState *state)
{
    if (patience->surcharge == NULL) {
        return 0;
    }
    const long long started = worked_ns();
    begin_callback(hook);
    PyObject *answer = PyObject_CallOneArg(patience->surcharge, (PyObject *)state->code);
    end_callback(hook);
    hook->away_ns += worked_ns() - started;
    const long long more = answer == NULL ? -1 : PyLong_AsLongLong(answer);
    Py_XDECREF(answer);
    if (more == -1 && PyErr_Occurred()) {
        return -1;
    }
    const int found = more > state->cold.surcharge_ns;
    state->cold.surcharge_ns = more;
    return found;
}

int patience_is_over(PyObject *callback, PyThreadState *tstate, ThreadHook *hook, CodeState *state)
{
    Patience *patience = (Patience *)callback;
    ColdRuns *cold = &state->cold;
    if (cold->kind == KIND_UNKNOWN) {
        Py_INCREF(callback); /* a signal handler may take it off the thread meanwhile */
        const int failed = find_kind(patience, hook, state) < 0;
        const int gone = hook->callback != callback;
        Py_DECREF(callback);
        if (failed || gone) {
            return failed ? -1 : 0;
        }
    }
    if (cold->kind == KIND_ASK || cold->kind == KIND_BACKWARD || is_rest_of_a_capture(hook, state)) {
        return 1;
    }
    if (hook->blocking == BLOCKS_NOTHING && may_get_hot(cold->kind)) {
        look_up_again(state);
    }
    if (is_looked_up(cold->kind)) {
        return hook->blocking == BLOCKS_NOTHING && (cold->kind == KIND_STORED || has_run(patience, state));
    }
    if (hook->blocking != BLOCKS_NOTHING || !may_get_hot(cold->kind)
        || !may_look_hot(patience, hook, state)) {
        return 0;
    }
    const int hot = caller_is_better(tstate, state) ? 0 : looks_hot(patience, hook, state);
    if (hot == 0) {
        look_how_far(patience, hook, state);
    }
    const int more = hot == 1 ? costs_more(patience, hook, state) : 0;
    return more < 0 ? -1 : more ? looks_hot(patience, hook, state) : hot;
}

/* Whether it shows what the last glances have not seen. */
static int shows_news(ColdRuns *cold, uint64_t digest)
{
    const int known = Py_MIN(cold->glances, MOST_GLANCES);
    int i = 0;
    while (i < known && cold->glanced[i] != digest) {
        i++;
    }
    const int is_new = digest == 0 || i == known;
    cold->glanced[cold->glances++ % MOST_GLANCES] = digest;
    return is_new;
}

/* The next frame may be captured because of a forecast. Up to the first one all frames are near. */
static int forecast_is_near(const Patience *patience, const CodeState *state)
{
    const Py_ssize_t runs = state->cold.runs;
    if (runs == 0) { /* the first frame that fits no entry of captured code: it has taken nothing yet */
        return 1;
    }
    const int is_ahead = runs < first_forecast(state) || (runs & (runs + 1)) == 0;
    return is_ahead && is_worth_a_forecast(patience, state);
}

PyObject *patience_glance(ThreadHook *hook, CodeState *state, InterpreterFrame *frame)
{
    const Patience *patience = (Patience *)hook->callback;
    ColdRuns *cold = &state->cold;
    const int may_be_captured = cold->kind == KIND_STRAIGHT || cold->kind == KIND_LOOP
                                || cold->kind == KIND_FORWARD || cold->kind == KIND_BRIEF;
    const int is_first = cold->runs == 0 && !code_state_is_warm(state);
    if (patience->glance == NULL || !may_be_captured || is_first) {
        return NULL;
    }
    const int in_last_half = price_is_reached(&patience->rates, state, 2 * cold->ns);
    if (!(in_last_half && cold->glances < MOST_GLANCES) && !forecast_is_near(patience, state)) {
        return NULL;
    }
    const FrameState arguments = frame_state(frame);
    return shows_news(cold, digest_of_arguments(&arguments, hook->key)) ? patience->glance : NULL;
}

/* --- the loop of a frame that runs -------------------------------------------------------------------- */

/* A turn is captured with its callees, also with those that have entries. So the work of the frame itself,
 * which is all that can be saved, has to be one of so many parts of the turn. */
enum { PARTS_OF_A_TURN = 8 };

static int is_worth_a_turn(const Rates *rates, const TurnWork *work)
{
    const int is_long = work->turn_ns >= rates->turn_ns;
    return rates->turn_ns == 0 || (is_long && work->turn_ns * PARTS_OF_A_TURN >= work->whole_ns);
}

/* The work without what the turns of the resume function take beside their graphs: three fifths of the least
 * turn, see TURN_NS in capture/policy/patience.py. */
static long long work_to_save(const Rates *rates, const TurnWork *work)
{
    const long long beside = rates->turn_ns * 3 / 5;
    return beside == 0 ? work->ns
                       : (long long)((double)work->ns * (1 - (double)beside / (double)work->turn_ns));
}

int patience_turn_pays(PyObject *callback, ThreadHook *hook, const TurnWork *work, int may_forecast)
{
    const Patience *patience = (Patience *)callback;
    if (!is_worth_a_turn(&patience->rates, work)) {
        return 0;
    }
    const long long units = Py_MAX(work->units, units_of_nodes(work->nodes));
    const long long ns = work_to_save(&patience->rates, work);
    /* as if the frame had run twice, each time for half of the work */
    CodeState turn = {
        .cold = {.runs = 2, .ns = ns, .first_ns = ns / 2, .units = 2 * units},
    };
    const int reached = price_is_reached(&patience->rates, &turn, ns);
    if (!reached && !(may_forecast && is_worth_a_forecast(patience, &turn))) {
        return 0;
    }
    const enum Forecast found =
        patience->foresee == NULL ? FORECAST_NOTHING_KNOWN : forecast(patience, hook, &turn);
    return found == FORECAST_FAILED ? -1
                                    : found == FORECAST_PAYS || (reached && found == FORECAST_NOTHING_KNOWN);
}

PyCodeObject *patience_twin(PyObject *callback, ThreadHook *hook, CodeState *state)
{
    const Patience *patience = (Patience *)callback;
    if (state->twin_is_known || patience->twin == NULL) {
        return state->twin;
    }
    PyCodeObject *code = (PyCodeObject *)Py_NewRef(state->code); /* it owns `state` */
    const long long started = worked_ns();
    begin_callback(hook);
    PyObject *answer = PyObject_CallOneArg(patience->twin, (PyObject *)code);
    end_callback(hook);
    hook->away_ns += worked_ns() - started;
    Py_DECREF(code);
    if (answer == NULL || answer == Py_None) {
        state->twin_is_known = answer != NULL;
        Py_XDECREF(answer);
        return NULL;
    }
    if (!PyCode_Check(answer)) {
        PyErr_Format(PyExc_TypeError, "the twin of a code object must be one, not %.200s",
                     Py_TYPE(answer)->tp_name);
        Py_DECREF(answer);
        return NULL;
    }
    return code_state_set_twin(state, (PyCodeObject *)answer) < 0 ? NULL : (PyCodeObject *)answer;
}
