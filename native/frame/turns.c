/* When a frame leaves its loop: the loop of a function that is called once gets hot while it runs, and a long
 * one in a function that runs again is captured turn by turn where the capture of the whole is far off.
 *
 * In:  the code of a twin (capture/bytecode/turns.py), which asks a `Turns` at the begin of each turn.
 * Out: whether the frame goes on in its resume function, which is captured for one turn.
 *
 *     main() has a loop of 10,000 steps       ->     after 30 of them each turn runs the graph of one step
 *
 * What counts is the time that the loop spends in the frame itself: operators that it calls, and its own
 * bytecode. Callees are captured alone, and so do not count, nor does the backward of what they record. But
 * the capture of a turn inlines them, so it costs what they cost, too. The outermost loop that turns is the
 * one that is left: its turn holds those of the loops inside.
 *
 *     forward() calls a cell for each of 400 items     ->     each item runs the graph of one
 *
 * Of a forward function the time of callees counts, since they wait for the turn. */

#include "frame/turns.h"

#include "frame/autograd_nodes.h"
#include "frame/held_signals.h"
#include "frame/patience.h"
#include "frame/worked_time.h"
#include "guards/raw_lookup.h"
#include "tensors/tensor_access.h"

#include <string.h>
#include <structmember.h>

/* Loops that have turned less may end at once. */
enum { LEAST_TURNS = 4 };

/* So many turns are compared with those of the resume function. */
enum { LEAST_MEASURED = 2 };

/* A loop that turns so often without a turn of the loop around it is left alone, if that one has turned less
 * than LEAST_TURNS. */
enum { LEAST_TURNS_INSIDE = 64 };

/* A loop of a function that runs again, and whose capture is far off, has to turn so often in a frame: where
 * it turns less, one graph for all turns is worth its cost. */
enum { LEAST_TURNS_WHERE_FAR = 16 };

/* The callees of a forward function whose capture is far off wait for the turns of its loops in so many more
 * runs. */
enum { RUNS_FOR_TURNS = 16 };

/* The count begins with the second turn: the first one pays for what is lazy. */
enum { TURNS_BEFORE_THE_COUNT = 2 };

/* The time of operators and their backward, in that of the operators. */
enum { WITH_BACKWARD = 3 };

/* How far tensors are looked for. A module has its parameters in a dict in its own, and those of its parts in
 * that of a dict of modules. */
enum { MOST_ITEMS = 8, MOST_OBJECTS = 256, MOST_DEPTH = 5 };

static PyTypeObject TurnRun_Type;

typedef struct {
    PyObject_HEAD
    int number;        /* of the loop */
    int outer;         /* that of the loop around it, or -1 */
    long long units;   /* code units of a turn */
    int always;        /* the frame ends at this turn: it has begun in the loop; 0: it has not */
    char left;         /* the loop was left before, and is left again without a price */
    PyObject *resumed; /* the code that goes on behind it, once a frame of this process has left it */
} Turns;

static PyObject *turns_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"number", "outer", "units", "always", "left", NULL};
    int number, outer, always = 0, left = 0;
    long long units;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "iiL|$ip:Turns", names, &number, &outer, &units, &always,
                                     &left)) {
        return NULL;
    }
    if (number < 0 || number >= MOST_LOOPS || outer < -1 || outer >= number) {
        return PyErr_Format(PyExc_ValueError, "Turns: no loop %d in a loop %d", number, outer);
    }
    Turns *self = (Turns *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->number = number;
        self->outer = outer;
        self->units = units;
        self->always = always;
        self->left = (char)left;
    }
    return (PyObject *)self;
}

/* Whether the object is a tensor, or holds one: in a cell, in a container, in its attributes. `budget`: so
 * many objects are looked at. No code of the program runs. */
static int holds_tensor(PyObject *object, int depth, int *budget)
{
    if (object == NULL || (*budget)-- <= 0) {
        return 0;
    }
    if (tensor_check(object)) {
        return 1;
    }
    if (PyCell_Check(object)) {
        return holds_tensor(PyCell_GET(object), depth, budget);
    }
    if (depth == 0) {
        return 0;
    }
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
        int found = 0;
        for (Py_ssize_t i = 0; !found && i < Py_MIN(Py_SIZE(object), MOST_ITEMS); i++) {
            PyObject *item =
                PyList_CheckExact(object) ? PyList_GET_ITEM(object, i) : PyTuple_GET_ITEM(object, i);
            found = holds_tensor(item, depth - 1, budget);
        }
        return found;
    }
    const int is_of_the_program = PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE);
    PyObject *dict = PyDict_CheckExact(object) ? object
                     : is_of_the_program       ? raw_instance_dict(object)
                                               : NULL;
    PyObject *key, *item;
    Py_ssize_t place = 0;
    int found = 0;
    while (!found && dict != NULL && PyDict_Check(dict) && PyDict_Next(dict, &place, &key, &item)) {
        found = holds_tensor(item, depth - 1, budget);
    }
    return found;
}

/* The global variable with this name. NULL: there is none, or only the program's `__eq__` could tell. */
static PyObject *global_named(PyObject *globals, PyObject *name)
{
    const RawKey key = {.object = name, .hash = PyObject_Hash(name)};
    PyObject *value;
    return raw_dict_find(globals, &key, NULL, &value) == RAW_FOUND ? value : NULL;
}

/* Whether the frame works on tensors, as far as it can be seen: its locals, and the globals that it names. */
static int sees_tensors(InterpreterFrame *frame)
{
    const FrameState state = frame_state(frame);
    const PyCodeObject *code = frame_code(frame);
    int budget = MOST_OBJECTS, found = !tensor_access_ready();
    for (int i = 0; !found && i < code->co_nlocalsplus; i++) {
        found = holds_tensor(state.locals[i], MOST_DEPTH, &budget);
    }
    for (Py_ssize_t i = 0; !found && i < PyTuple_GET_SIZE(code->co_names); i++) {
        PyObject *item = global_named(state.globals, PyTuple_GET_ITEM(code->co_names, i));
        found = item != NULL && !PyModule_Check(item) && holds_tensor(item, MOST_DEPTH, &budget);
    }
    return found;
}

/* Whether a function around has run before: it gets hot as a whole, with the loop. */
static int runs_again_around(InterpreterFrame *frame)
{
    for (frame = frame_caller(frame); frame != NULL; frame = frame_caller(frame)) {
        const CodeState *state = original_state(frame_code(frame));
        const int may_get_hot = state != NULL
                                && (state->cold.kind == KIND_STRAIGHT || state->cold.kind == KIND_LOOP
                                    || state->cold.kind == KIND_FORWARD);
        if (may_get_hot && state->cold.runs > 0) {
            return 1;
        }
    }
    return 0;
}

static TurnMark mark_now(const ThreadHook *hook, const TurnRun *run)
{
    return (TurnMark){
        .ns = worked_ns(),
        .away_ns = hook->away_ns,
        .below_ns = run->below_ns,
        .units = hook->units,
        .nodes = autograd_nodes() - hook->away_nodes,
        .backwards = hook->backwards,
    };
}

/* A turn may be so many times as long as the shortest one before it counts as one that pays for what is lazy:
 * entries that are loaded, a collection. */
enum { TIMES_THE_LEAST = 2 };

/* The frame's own work since the count began, `all`, without that of turns that were too long to come again.
 * 0: nobody knows yet. */
static long long lasting_work(const Turns *self, TurnRun *run, long long all, long long turns)
{
    const int goes_on = run->looked == self->number && all >= run->own_ns;
    const long long turn = all - run->own_ns;
    run->least_ns = !goes_on ? -1 : run->least_ns < 0 ? turn : Py_MIN(run->least_ns, turn);
    run->looked = self->number;
    run->own_ns = all;
    return run->least_ns < 0 ? 0 : Py_MIN(all, TIMES_THE_LEAST * turns * run->least_ns);
}

/* What earlier frames of the function have spent in the loop, if it took the same share of them. */
static long long earlier_work(const TurnRun *run, const TurnMark *now, long long own)
{
    const CodeState *state = original_state(run->twin);
    const long long away = now->away_ns - run->begun.away_ns;
    const long long whole = Py_MAX(now->ns - run->begun.ns - away, 1);
    const double share = (double)own / (double)Py_MAX(whole, own);
    return state == NULL || state->cold.far_runs == 0 ? 0 : (long long)(share * (double)state->cold.ns);
}

/* 1: a capture of one turn of this loop pays. -1 with an exception. */
static int is_hot(const Turns *self, ThreadHook *hook, TurnRun *run)
{
    const TurnMark now = mark_now(hook, run), *begin = &run->marks[self->number];
    const long long turns = run->in_a_row[self->number] - TURNS_BEFORE_THE_COUNT;
    const long long away = now.away_ns - begin->away_ns + now.below_ns - begin->below_ns;
    const long long own = lasting_work(self, run, Py_MAX(now.ns - begin->ns - away, 0), turns);
    const long long nodes = (long long)(now.nodes - begin->nodes);
    const int trains = nodes > 0 && now.backwards > begin->backwards;
    const TurnWork work = {
        .ns = own * (trains ? WITH_BACKWARD : 1) + earlier_work(run, &now, own),
        .turn_ns = own / turns,
        .whole_ns = run->turn_ns,
        .units = run->turn_units,
        .nodes = nodes / turns,
    };
    const int may_forecast = (turns & (turns - 1)) == 0;
    return patience_turn_pays(hook->callback, hook, &work, may_forecast);
}

/* What Python takes for a turn now: since the last capture below it. 0: nobody knows, and no loop is left
 * before its callees have been captured. */
static long long turn_of_python(const Turns *self, const ThreadHook *hook, TurnRun *run)
{
    const long long turns = run->turns[self->number], now = worked_ns();
    if (run->measured != self->number || run->captures_ns != hook->capture_ns) {
        run->measured = self->number;
        run->captures_ns = hook->capture_ns;
        run->measured_turns = turns;
        run->measured_ns = now;
    }
    const long long measured = turns - run->measured_turns;
    return measured < LEAST_MEASURED ? 0 : Py_MAX((now - run->measured_ns) / measured, 1);
}

/* What the count says of a turn, beside its time. */
static void look_at_turns(const Turns *self, const ThreadHook *hook, TurnRun *run)
{
    const TurnMark *begin = &run->marks[self->number];
    const long long turns = run->in_a_row[self->number] - TURNS_BEFORE_THE_COUNT;
    run->turn_units = self->units + (long long)(hook->units - begin->units) / Py_MAX(turns, 1);
    run->turn_records =
        autograd_nodes() - hook->away_nodes > begin->nodes && hook->backwards == begin->backwards;
}

static void count_turn(const Turns *self, const ThreadHook *hook, TurnRun *run)
{
    const int number = self->number;
    const long long around = self->outer < 0 ? 0 : run->turns[self->outer];
    if (run->began[number] != around) {
        run->began[number] = around;
        run->in_a_row[number] = 0;
    }
    run->turns[number]++;
    if (++run->in_a_row[number] == TURNS_BEFORE_THE_COUNT) {
        run->marks[number] = mark_now(hook, run);
    }
}

static int is_far(const TurnRun *run)
{
    const CodeState *state = original_state(run->twin);
    return state != NULL && state->cold.far_runs > 0;
}

/* Whether the callees of a forward function wait for the turns of this loop, which inline them. */
static int keeps_callees(const Turns *self, const TurnRun *run)
{
    const CodeState *state = original_state(run->twin);
    if (state == NULL || state->cold.kind != KIND_FORWARD || run->stays) {
        return 0;
    }
    const Py_ssize_t far = state->cold.far_runs;
    return self->left || self->always > 0 || (far > 0 && state->cold.runs - far < RUNS_FOR_TURNS);
}

/* A short loop is a part of each turn of the loop around it. */
static int is_worth_a_look(const Turns *self, const TurnRun *run)
{
    if (self->outer < 0) {
        return run->turns[self->number] >= (is_far(run) && !self->left ? LEAST_TURNS_WHERE_FAR : LEAST_TURNS);
    }
    return run->turns[self->outer] < LEAST_TURNS && run->in_a_row[self->number] >= LEAST_TURNS_INSIDE;
}

enum Again { AGAIN_WHEN_IT_TURNS, AGAIN_AT_ONCE, AGAIN_IS_SLOWER };

/* Whether the turn that the loop was left for has an entry, and is no slower than Python. */
static enum Again leaves_again(const Turns *self)
{
    const CodeState *state = self->resumed == NULL ? NULL : code_state((PyCodeObject *)self->resumed);
    const int is_slower = state != NULL && (state->marks & CODE_SKIPPED);
    return is_slower                           ? AGAIN_IS_SLOWER
           : state != NULL && state->count > 0 ? AGAIN_AT_ONCE
                                               : AGAIN_WHEN_IT_TURNS;
}

/* 1: a turn pays, also without an entry of its own. -1: an exception. */
static int turn_pays(const Turns *self, ThreadHook *hook, TurnRun *run)
{
    run->turn_ns = turn_of_python(self, hook, run);
    look_at_turns(self, hook, run);
    return run->turn_ns == 0 ? 0 : self->left ? 1 : is_hot(self, hook, run);
}

/* 1: the frame leaves its loop here. -1: an exception. */
static int leaves(Turns *self, const PyThreadState *tstate, ThreadHook *hook, TurnRun *run)
{
    count_turn(self, hook, run);
    hook->blocking = keeps_callees(self, run) ? BLOCKS_LOOPS_TOO : BLOCKS_NOTHING;
    if (self->always > 0) {
        return run->turns[self->number] >= self->always;
    }
    const enum Again again = leaves_again(self);
    run->stays |= again == AGAIN_IS_SLOWER || hook->readers != run->readers; /* it has other variables then */
    if (run->stays || (again != AGAIN_AT_ONCE && !is_worth_a_look(self, run))) {
        return 0;
    }
    run->turn_ns = 0; /* what has an entry is not compared anew */
    const int hot = again == AGAIN_AT_ONCE ? 1 : turn_pays(self, hook, run);
    if (hot > 0) {
        InterpreterFrame *frame = thread_frame(tstate);
        const int gets_hot_as_a_whole = !self->left && !is_far(run) && runs_again_around(frame);
        run->stays = gets_hot_as_a_whole || !sees_tensors(frame);
    }
    return hot > 0 ? !run->stays : hot;
}

static int turns_bool(Turns *self)
{
    ThreadHook *hook = thread_hook;
    TurnRun *run = hook == NULL ? NULL : hook->turns;
    PyThreadState *tstate = PyThreadState_Get();
    if (run == NULL || hook->suspended || hook->callback == NULL || !is_patience(hook->callback)
        || frame_code(thread_frame(tstate)) != run->twin || this_thread_is_followed()) {
        return 0; /* a debugger sees the frame go on */
    }
    Py_INCREF(run); /* a forecast runs Python */
    const int found = leaves(self, tstate, hook, run);
    Py_DECREF(run);
    if (found > 0) {
        signals_hold(hook); /* until the frame has ended: no handler of the program is around its end */
    }
    return found;
}

static void turns_dealloc(Turns *self)
{
    Py_XDECREF(self->resumed);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static void run_dealloc(TurnRun *run)
{
    Py_DECREF(run->twin);
    PyObject_Free(run);
}

static PyTypeObject TurnRun_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.TurnRun",
    .tp_doc = "A frame that Python runs and that can leave its loops.",
    .tp_basicsize = sizeof(TurnRun),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)run_dealloc,
};

static PyMemberDef members[] = {
    {"left", T_BOOL, offsetof(Turns, left), 0, "the loop was left before, and is left again without a price"},
    {NULL},
};

static PyNumberMethods turns_as_number = {.nb_bool = (inquiry)turns_bool};

PyTypeObject Turns_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.Turns",
    .tp_doc =
        "Turns(number, outer, units, *, always=0, left=False): true where the frame that asks leaves its "
        "loop.",
    .tp_basicsize = sizeof(Turns),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = turns_new,
    .tp_dealloc = (destructor)turns_dealloc,
    .tp_as_number = &turns_as_number,
    .tp_members = members,
};

/* --- the frames -------------------------------------------------------------------------------------- */

static TurnRun *new_run(const ThreadHook *hook, PyCodeObject *twin)
{
    TurnRun *run = PyObject_New(TurnRun, &TurnRun_Type);
    if (run == NULL) {
        return NULL;
    }
    memset((char *)run + sizeof(PyObject), 0, sizeof(TurnRun) - sizeof(PyObject));
    run->twin = (PyCodeObject *)Py_NewRef(twin);
    run->measured = run->looked = -1;
    run->readers = hook->readers;
    run->begun = mark_now(hook, run);
    return run;
}

PyObject *run_by_turns(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook, PyCodeObject *twin)
{
    TurnRun *run = new_run(hook, twin);
    if (run == NULL) {
        return NULL;
    }
    if (frame_swap_code(tstate, frame, twin, NULL, 0)) {
        turns_show(hook, run);
    } else {
        Py_DECREF(run);
    }
    const enum Signals signals = hook->signals;
    PyObject *value = eval_default(tstate, frame, 0);
    set_signals(hook, signals);
    turns_show(hook, NULL);
    return value;
}

/* How far up the callers tell one backward of a program from another. */
enum { CALLERS_OF_A_BACKWARD = 8 };

/* A number for the place of the program that calls a frame. That has not begun: the thread knows its caller.
 */
static uint64_t place_of_call(const PyThreadState *tstate)
{
    uint64_t place = 1;
    const InterpreterFrame *frame = thread_frame(tstate);
    for (int i = 0; i < CALLERS_OF_A_BACKWARD && frame != NULL; i++, frame = frame_caller(frame)) {
        place = (place ^ (uint64_t)(uintptr_t)frame_code(frame)) * 0x9e3779b97f4a7c15u;
        place = (place ^ (uint64_t)frame_instruction(frame)) * 0x9e3779b97f4a7c15u;
    }
    return place;
}

PyObject *run_backward(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook)
{
    if (hook->backwards_now > 0) { /* `Tensor.backward` calls `autograd.backward` */
        return eval_default(tstate, frame, 0);
    }
    const long long away = hook->away_ns, started = worked_ns();
    TurnRun *around = turns_hide(hook); /* below may be another such frame, which counts in this one */
    hook->backwards_now++;
    PyObject *value = eval_default(tstate, frame, 0);
    hook->backwards_now--;
    const long long elapsed = worked_ns() - started;
    hook->backward_ns += elapsed;
    if (hook->steps == hook->compared_at) {
        hook->compared_ns = elapsed;
        hook->compared_place = hook->compared_now > 0 ? 0 : place_of_call(tstate);
    }
    hook->steps++;
    turns_show(hook, around);
    turns_note_below(hook, elapsed - (hook->away_ns - away));
    return value;
}

/* --- does it pay? ------------------------------------------------------------------------------------ */

/* Turns before the comparison, and of it. */
enum { TURNS_BEFORE = 3, TURNS_COMPARED = 12 };

/* The first frame of a forward function pays for memory that the process does not have yet: the turns of the
 * next one are compared. */
enum { NOT_IN_THIS_FRAME = -(1 << 30) };

int turn_begins(const ThreadHook *hook, CodeState *state, TurnTrial *judged)
{
    TurnTrial *trial = &state->turns;
    const long long now = worked_ns();
    if (trial->started_ns > 0 && trial->captures_ns == hook->capture_ns && ++trial->runs > TURNS_BEFORE) {
        timing_add(&trial->own, now - trial->started_ns);
    }
    trial->started_ns = now;
    trial->captures_ns = hook->capture_ns;
    if (trial->own.runs < TURNS_COMPARED) {
        return 0;
    }
    *judged = *trial;
    *trial = (TurnTrial){0};
    return 1;
}

/* turns_begin(turns, code): the frame that runs leaves this loop for this resume function. */
static PyObject *turns_begin(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 2 || !Py_IS_TYPE(args[0], &Turns_Type) || !PyCode_Check(args[1])) {
        return PyErr_Format(PyExc_TypeError, "turns_begin: expected a Turns and a code object");
    }
    const ThreadHook *hook = thread_hook;
    Turns *self = (Turns *)args[0];
    CodeState *state = ensure_code_state((PyCodeObject *)args[1]);
    if (state == NULL) {
        return NULL;
    }
    Py_XSETREF(self->resumed, Py_NewRef(args[1]));
    const TurnRun *run = hook == NULL ? NULL : hook->turns;
    CodeState *leaving = run == NULL ? NULL : original_state(run->twin);
    if (leaving != NULL) {
        leaving->has_left = 1;
    }
    state->has_left = 1; /* it is a turn of the loop, and ends with it */
    state->turns.started_ns = 0;
    state->turns.runs = Py_MAX(state->turns.runs, 0); /* a comparison that has begun goes on */
    if (run != NULL && run->turn_ns > 0) {
        const int comes_again = leaving != NULL && leaving->cold.kind == KIND_FORWARD;
        state->turns = (TurnTrial){
            .python_ns = run->turn_ns,
            .records = run->turn_records,
            .runs = comes_again && leaving->cold.runs == 0 ? NOT_IN_THIS_FRAME : 0,
        };
        state->inlined_units = run->turn_units;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"turns_begin", (PyCFunction)(void (*)(void))turns_begin, METH_FASTCALL,
     "turns_begin(turns, code): the frame that asks leaves its loop; the turns of that resume function are "
     "compared with those of Python."},
    {NULL, NULL, 0, NULL},
};

int init_turns(PyObject *module)
{
    const int failed = PyType_Ready(&TurnRun_Type) < 0 || PyModule_AddType(module, &Turns_Type) < 0;
    return failed ? -1 : PyModule_AddFunctions(module, functions);
}
