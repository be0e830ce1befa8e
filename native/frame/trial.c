/* Does an entry pay? Its first runs are timed, and so are those of Python, before it or beside it.
 *
 * In:  the times of an entry on trial, or of the turns of a loop that a frame has left.
 * Out: the answer of `judge`, or of `judge_turns`: the entry stays, or goes.
 *
 *     faster than Python was                  ->  it stays
 *     slower, and Python may have run others  ->  Python runs some frames that fit it, then once more
 *     its results have gradients              ->  once more, by steps: with the backwards behind the frames
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
static void begin_second_comparison(Trial *trial)
{
    trial->python = (Timing){0};
    trial->to_come = RUNS_IN_PYTHON;
    trial->fits = 1;
}

/* Takes the reference. */
static int take_verdict(CodeState *state, Trial *trial, enum Compared compared, PyObject *answer)
{
    if (answer == Py_None) {
        Py_DECREF(answer);
        return 0;
    }
    const long more = answer == NULL || !PyLong_Check(answer) ? 0 : PyLong_AsLong(answer);
    if (more == COMPARED_FITTING && compared == COMPARED_EARLIER) {
        begin_second_comparison(trial);
    } else if (more == COMPARED_STEPS && compared != COMPARED_STEPS) {
        trial->steps = (StepTrial){.is_open = 1};
    } else {
        return patience_set_kind(state, answer);
    }
    Py_DECREF(answer);
    return 0;
}

/* Takes the references to the times. */
static int judge_entry(const Patience *patience, ThreadHook *hook, CodeState *state, Entry *entry,
                       PyObject *python, PyObject *own, enum Compared compared)
{
    begin_callback(hook);
    PyObject *answer = python == NULL || own == NULL
                           ? NULL
                           : PyObject_CallFunction(patience->judge, "OOOOiK", state->code, entry, python, own,
                                                   (int)compared, hook->steps);
    end_callback(hook);
    Py_XDECREF(python);
    Py_XDECREF(own);
    return take_verdict(state, &entry->trial, compared, answer);
}

static int judge_frames(const Patience *patience, ThreadHook *hook, CodeState *state, Entry *entry)
{
    const Trial *trial = &entry->trial;
    PyObject *python = timing_as_tuple(&trial->python), *own = timing_as_tuple(&trial->own);
    return judge_entry(patience, hook, state, entry, python, own,
                       trial->fits ? COMPARED_FITTING : COMPARED_EARLIER);
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
    return entry_is_on_trial(entry) ? 0 : judge_frames(patience, hook, state, entry);
}

int patience_try_python(PyObject *callback, ThreadHook *hook, CodeState *state, Entry *entry, long long ns)
{
    const Patience *patience = (Patience *)callback;
    Trial *trial = &entry->trial;
    if (patience->judge == NULL || trial->to_come == 0) { /* 0: frames below this one have been compared */
        return 0;
    }
    timing_add(&trial->python, ns);
    return --trial->to_come > 0 ? 0 : judge_frames(patience, hook, state, entry);
}

/* --- steps -------------------------------------------------------------------------------------------- */

/* The steps of a kind that say enough: where those of the entry are clearly faster, and else. */
enum { FEW_STEPS = 2, ENOUGH_STEPS = 6, CLEARLY_FASTER = 80 };

/* Where captures go on in most steps, or each is of another kind, nobody knows. */
enum { MOST_STEPS = 64 };

/* One entry is compared at a time. After so many steps without a frame of it the next one is. */
enum { STEPS_WITHOUT_FRAMES = 4 };

/* Of a program that repeats several kinds of steps in turn, Python has half of each kind: turns by the golden
 * ratio have no period. */
static int python_has_step(const StepTrial *trial)
{
    return (int)((uint64_t)trial->begun * 0x9e3779b97f4a7c15u >> 63);
}

/* A clock that others' work has held up makes the least time of a few steps too small: the middle ones count.
 */
static void add_step(Steps *steps, long long ns)
{
    if (steps->count == MOST_OF_A_KIND) {
        return;
    }
    int place = steps->count++;
    for (; place > 0 && steps->ns[place - 1] > ns; place--) {
        steps->ns[place] = steps->ns[place - 1];
    }
    steps->ns[place] = ns;
}

static long long middle_of(const Steps *steps)
{
    return (steps->ns[(steps->count - 1) / 2] + steps->ns[steps->count / 2]) / 2;
}

static long long quarter_of(const Steps *steps)
{
    return steps->ns[steps->count / 4];
}

/* NULL: there are too many. */
static KindOfSteps *kind_at(StepTrial *trial, uint64_t place)
{
    int i = 0;
    while (i < trial->count && trial->kinds[i].place != place) {
        i++;
    }
    if (i == MOST_KINDS_OF_STEPS) {
        return NULL;
    }
    if (i == trial->count) {
        trial->kinds[trial->count++] = (KindOfSteps){.place = place};
    }
    return &trial->kinds[i];
}

static int kind_has(const KindOfSteps *kind, int least)
{
    return kind->python.count >= least && kind->own.count >= least;
}

static int all_kinds_have(const StepTrial *trial, int least)
{
    int i = 0;
    while (i < trial->count && kind_has(&trial->kinds[i], least)) {
        i++;
    }
    return trial->count > 0 && i == trial->count;
}

/* What a step takes, on average over the kinds of which enough is known. */
typedef struct {
    long long steps;
    double middle, quarter;
} StepTime;

static void add_kind(StepTime *time, const Steps *steps, int seen)
{
    time->steps += seen;
    time->middle += (double)seen * (double)middle_of(steps);
    time->quarter += (double)seen * (double)quarter_of(steps);
}

static void measure_steps(const StepTrial *trial, StepTime *python, StepTime *own)
{
    *python = *own = (StepTime){0};
    for (int i = 0; i < trial->count; i++) {
        const KindOfSteps *kind = &trial->kinds[i];
        if (kind_has(kind, FEW_STEPS)) {
            add_kind(python, &kind->python, kind->seen);
            add_kind(own, &kind->own, kind->seen);
        }
    }
}

static PyObject *step_as_tuple(const StepTime *time)
{
    const double steps = (double)time->steps;
    return Py_BuildValue("(LL)", (long long)(time->middle / steps), (long long)(time->quarter / steps));
}

static int are_clearly_faster(const StepTrial *trial)
{
    StepTime python, own;
    measure_steps(trial, &python, &own);
    return 100 * own.middle < CLEARLY_FASTER * python.middle
           && 100 * own.quarter < CLEARLY_FASTER * python.quarter;
}

static void end_step(const ThreadHook *hook, StepTrial *trial)
{
    const int counts = trial->is_whole && trial->captures_ns == hook->capture_ns;
    KindOfSteps *kind = counts ? kind_at(trial, hook->compared_place) : NULL;
    if (kind != NULL) {
        kind->seen++;
        add_step(python_has_step(trial) ? &kind->python : &kind->own, trial->frames_ns + hook->compared_ns);
    }
    trial->begun++;
    trial->is_done = all_kinds_have(trial, ENOUGH_STEPS)
                     || (all_kinds_have(trial, FEW_STEPS) && are_clearly_faster(trial))
                     || trial->begun == MOST_STEPS;
}

static void begin_step(const ThreadHook *hook, StepTrial *trial)
{
    trial->is_whole = trial->begun > 0;
    trial->step = hook->steps;
    trial->frames_ns = 0;
    trial->captures_ns = hook->capture_ns;
}

static void close_steps(ThreadHook *hook, StepTrial *trial)
{
    trial->is_open = 0;
    hook->compared = NULL;
}

int step_is_pythons(ThreadHook *hook, StepTrial *trial)
{
    if (hook->compared != trial) {
        if (hook->compared != NULL && hook->steps - hook->compared_at <= STEPS_WITHOUT_FRAMES) {
            return 0;
        }
        hook->compared = trial;
        *trial = (StepTrial){.is_open = 1};
        begin_step(hook, trial);
    }
    if (trial->step != hook->steps && !trial->is_done) {
        end_step(hook, trial);
        begin_step(hook, trial);
    }
    hook->compared_at = hook->steps;
    return !trial->is_done && trial->is_whole && python_has_step(trial);
}

int patience_try_step(PyObject *callback, ThreadHook *hook, CodeState *state, Entry *entry, long long ns)
{
    const Patience *patience = (Patience *)callback;
    StepTrial *trial = &entry->trial.steps;
    if (patience->judge == NULL || !trial->is_open || hook->compared != trial) {
        return 0;
    }
    if (!trial->is_done) {
        trial->frames_ns += hook->backwards_now > 0 ? 0 : ns; /* else the backward around has counted it */
        return 0;
    }
    close_steps(hook, trial);
    StepTime python, own;
    measure_steps(trial, &python, &own);
    return python.steps == 0 ? 0
                             : judge_entry(patience, hook, state, entry, step_as_tuple(&python),
                                           step_as_tuple(&own), COMPARED_STEPS);
}
