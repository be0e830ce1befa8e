/* A capture is an investment: Patience is the callback that makes it only for frames that run again and
 * again.
 *
 * In:  a frame without a fitting entry, on a thread whose callback is a Patience.
 * Out: whether the callback inside is asked now, or Python runs the frame and its time is counted.
 *
 *     a frame that has run once, or for a short time      ->  Python runs it, and the clock runs with it
 *     Python has spent a share of what a capture costs    ->  the callback is asked
 *
 * The cost of a capture grows with the bytecode that it interprets. So the share is a time for each code unit
 * of the frames that ran below a frame, its own included: see `unit_ns` and `least_ns`. What entries ran
 * below it does not count. A frame that no entry of its code fits waits in the same way: another capture has
 * to pay, too.
 *
 * The outermost frame that runs again is worth the most: its graphs hold those of its callees. So no callee
 * of a cold frame is captured, until it is clear that the cold frame only drives others: it has a loop and is
 * not the forward function of a module. */

#include "frame/patience.h"

#include <structmember.h>
#include <time.h>

typedef struct {
    PyObject_HEAD
    PyObject *callback;
    PyObject *kind; /* kind(code) -> one of enum CodeKind */
    long long unit_ns;
    long long least_ns;
} Patience;

/* A driver's callee that it calls at least so often is captured alone. Below that the driver itself is, if it
 * runs again. */
enum { TURNS_OF_A_DRIVER = 4 };

long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* --- is a frame hot? --------------------------------------------------------------------------------- */

/* Sets the kind of a code object that is seen for the first time. 0, or -1 with an exception. */
static int find_kind(Patience *patience, ThreadHook *hook, CodeState *state)
{
    hook->suspended++;
    PyObject *answer = PyObject_CallOneArg(patience->kind, (PyObject *)state->code);
    hook->suspended--;
    const long kind = answer == NULL ? -1 : PyLong_AsLong(answer);
    Py_XDECREF(answer);
    if (kind == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (kind <= KIND_UNKNOWN || kind > KIND_ONCE) {
        PyErr_Format(PyExc_ValueError, "the kind of a code object must be from 1 to %d, not %ld", KIND_ONCE,
                     kind);
        return -1;
    }
    state->cold.kind = (enum CodeKind)kind;
    return 0;
}

static int is_hot(const Patience *patience, const ColdRuns *cold)
{
    if (cold->kind == KIND_NEVER || cold->kind == KIND_ONCE || cold->runs == 0) {
        return 0;
    }
    const long long price = cold->units / cold->runs * patience->unit_ns;
    return cold->wanted || cold->ns >= (price > patience->least_ns ? price : patience->least_ns);
}

/* A driver that calls this code a few times in each of its runs is worth a capture more than its callee: it
 * gets one once it has run. Returns whether there is such a caller. */
static int caller_is_better(const PyThreadState *tstate, const ColdRuns *cold)
{
    int found = 0;
    for (InterpreterFrame *frame = thread_frame(tstate); frame != NULL; frame = frame_caller(frame)) {
        CodeState *state = code_state(frame_code(frame));
        if (state == NULL || state->count > 0 || state->cold.kind != KIND_LOOP) {
            continue;
        }
        if (cold->runs < TURNS_OF_A_DRIVER * (state->cold.runs + 1)) {
            state->cold.wanted = state->cold.runs > 0;
            found = 1;
        }
    }
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
    if (cold->kind == KIND_ASK || ((state->marks & CODE_RESUME) && state->count == 0)) {
        return 1;
    }
    return hook->blocking == BLOCKS_NOTHING && is_hot(patience, cold) && !caller_is_better(tstate, cold);
}

/* --- running a cold frame ---------------------------------------------------------------------------- */

static enum Blocking blocking_inside(enum Blocking outside, enum CodeKind kind)
{
    if (kind == KIND_FORWARD || kind == KIND_ONCE || outside == BLOCKS_LOOPS_TOO) {
        return BLOCKS_LOOPS_TOO;
    }
    return kind == KIND_LOOP ? BLOCKS_NOTHING : BLOCKS_CALLEES;
}

PyObject *patience_run_cold(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook,
                            CodeState *state)
{
    PyCodeObject *code = (PyCodeObject *)Py_NewRef(frame_code(frame)); /* it owns `state` */
    const enum Blocking outside = hook->blocking;
    hook->blocking = blocking_inside(outside, state->cold.kind);
    const unsigned long long units = hook->units;
    const long long captured = hook->captured_ns;
    hook->units += (unsigned long long)Py_SIZE(code);
    hook->cold_frames++;
    const long long started = now_ns();
    PyObject *value = eval_default(tstate, frame, 0);
    state->cold.ns += now_ns() - started - (hook->captured_ns - captured);
    hook->cold_frames--;
    state->cold.units += (long long)(hook->units - units);
    state->cold.runs++;
    hook->blocking = outside;
    Py_DECREF(code);
    return value;
}

/* --- the type ---------------------------------------------------------------------------------------- */

static PyObject *patience_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"callback", "kind", "unit_ns", "least_ns", NULL};
    PyObject *callback, *kind;
    long long unit_ns, least_ns;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO$LL:Patience", names, &callback, &kind, &unit_ns,
                                     &least_ns)) {
        return NULL;
    }
    if (!PyCallable_Check(callback) || !PyCallable_Check(kind)) {
        PyErr_SetString(PyExc_TypeError, "Patience: callback and kind must be callable");
        return NULL;
    }
    if (unit_ns < 0 || least_ns < 0) {
        PyErr_SetString(PyExc_ValueError, "Patience: unit_ns and least_ns can't be negative");
        return NULL;
    }
    Patience *self = (Patience *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->callback = Py_NewRef(callback);
        self->kind = Py_NewRef(kind);
        self->unit_ns = unit_ns;
        self->least_ns = least_ns;
    }
    return (PyObject *)self;
}

static PyObject *patience_call(Patience *self, PyObject *args, PyObject *kwargs)
{
    return PyObject_Call(self->callback, args, kwargs);
}

static int patience_traverse(Patience *self, visitproc visit, void *arg)
{
    Py_VISIT(self->callback);
    Py_VISIT(self->kind);
    return 0;
}

static int patience_clear(Patience *self)
{
    Py_CLEAR(self->callback);
    Py_CLEAR(self->kind);
    return 0;
}

static void patience_dealloc(Patience *self)
{
    PyObject_GC_UnTrack(self);
    patience_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef members[] = {
    {"callback", T_OBJECT, offsetof(Patience, callback), READONLY, "asked about frames that are hot"},
    {"unit_ns", T_LONGLONG, offsetof(Patience, unit_ns), READONLY, "see the type"},
    {"least_ns", T_LONGLONG, offsetof(Patience, least_ns), READONLY, "see the type"},
    {NULL},
};

PyTypeObject Patience_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.Patience",
    .tp_doc =
        "Patience(callback, kind, *, unit_ns, least_ns): a callback for set_callback that waits until "
        "Python has run frames of a code object for unit_ns nanoseconds for each of their code units, and "
        "for least_ns in all.",
    .tp_basicsize = sizeof(Patience),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = patience_new,
    .tp_dealloc = (destructor)patience_dealloc,
    .tp_traverse = (traverseproc)patience_traverse,
    .tp_clear = (inquiry)patience_clear,
    .tp_call = (ternaryfunc)patience_call,
    .tp_members = members,
};

int init_patience(PyObject *module)
{
    return PyModule_AddType(module, &Patience_Type);
}
