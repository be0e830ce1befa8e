/* The hooks: a callback for each thread, and the evaluator, which is installed while any thread has one.
 *
 * In:  set_callback(callback, key) on some thread.
 * Out: `thread_hook`, read by the evaluator; the interpreter's eval-frame function set or restored.
 *
 *     set_callback(f, key)     ->     eval_frame looks at the frames of this thread, and at no others
 *
 * The interpreter keeps a dict for each thread, and the state of a thread is an object in it. So the state
 * ends with the thread, also in a forked child: there the interpreter clears the dicts of all threads that
 * are gone. */

#include "frame/thread_hook.h"

#include <limits.h>

_Thread_local ThreadHook *thread_hook __attribute__((tls_model("initial-exec"))) = NULL;

static int hooked_threads; /* threads with a callback */
static int pauses;
Evaluator previous_evaluator = CPYTHON_EVALUATOR;

/* --- installing the evaluator ------------------------------------------------------------------------ */

/* For the main interpreter: set_callback refuses all others. */
static void install_or_remove(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Main();
    Evaluator current = evaluator_of(interpreter);
    const int wanted = hooked_threads > 0 && pauses == 0;
    if (wanted && current != eval_frame) {
        previous_evaluator = current;
        set_evaluator(interpreter, eval_frame);
    } else if (!wanted && current == eval_frame) {
        /* An evaluator that was installed after ours may still call eval_frame, which then does nothing. */
        set_evaluator(interpreter, previous_evaluator);
    }
}

void evaluator_pause(void)
{
    pauses++;
    install_or_remove();
}

void evaluator_resume(void)
{
    pauses--;
    install_or_remove();
}

/* If two evaluators were installed in turns, each may hold the other as the former one. A frame would then go
 * back and forth: the second time, CPython's own evaluator takes it. */
static _Thread_local InterpreterFrame *given_away __attribute__((tls_model("initial-exec"))) = NULL;

int frame_comes_back(const InterpreterFrame *frame)
{
    return previous_evaluator != CPYTHON_EVALUATOR && given_away == frame;
}

PyObject *eval_default(PyThreadState *tstate, InterpreterFrame *frame, int throwflag)
{
    if (previous_evaluator == CPYTHON_EVALUATOR || given_away == frame) {
        return CPYTHON_EVALUATOR(tstate, frame, throwflag);
    }
    InterpreterFrame *outer = given_away;
    given_away = frame;
    PyObject *value = previous_evaluator(tstate, frame, throwflag);
    given_away = outer;
    return value;
}

/* --- the state of a thread --------------------------------------------------------------------------- */

static void thread_hook_dealloc(ThreadHook *self)
{
    if (thread_hook == self) { /* another thread may clear the state of a thread that is gone */
        thread_hook = NULL;
    }
    if (self->callback != NULL) {
        hooked_threads--;
        install_or_remove();
    }
    Py_XDECREF(self->callback);
    Py_XDECREF(self->key);
    Py_XDECREF((PyObject *)self->turns);
    Py_XDECREF(self->followed);
    Py_XDECREF(self->on_line);
    Py_XDECREF(self->offsets);
    Py_XDECREF(self->raised);
    Py_XDECREF(self->traced_for);
    PyObject_Free(self);
}

static PyTypeObject ThreadHook_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.ThreadHook",
    .tp_doc = "Callback and key of a thread; lives in the interpreter's dict of that thread.",
    .tp_basicsize = sizeof(ThreadHook),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)thread_hook_dealloc,
};

void handover_take(ThreadHook *hook, const InterpreterFrame *frame)
{
    Handover *handover = hook->handover;
    if (handover->function != (PyObject *)frame_state(frame).function) {
        return;
    }
    hook->handover = NULL;
    for (Py_ssize_t i = 0; i < handover->count; i++) {
        /* This is never the last reference: the interpreter takes its own before it makes the frame. */
        Py_CLEAR(handover->args[i]);
    }
}

PyObject *call_handing_over(PyObject *function, PyObject **args, Py_ssize_t count)
{
    ThreadHook *hook = thread_hook;
    Handover handover = {function, args, count};
    if (hook != NULL) {
        hook->handover = PyFunction_Check(function) ? &handover : NULL;
    }
    PyObject *value = PyObject_Vectorcall(function, args, count, NULL);
    if (hook != NULL) {
        hook->handover = NULL; /* if no frame of the function began under the hook */
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_XDECREF(args[i]);
    }
    return value;
}

/* Borrowed, or NULL with an exception. */
static ThreadHook *ensure_thread_hook(void)
{
    if (thread_hook != NULL) {
        return thread_hook;
    }
    PyObject *thread_dict = PyThreadState_GetDict();
    if (thread_dict == NULL) {
        PyErr_SetString(PyExc_RuntimeError,
                        "set_callback: this thread has no state dict to keep the callback in");
        return NULL;
    }
    ThreadHook *hook = PyObject_New(ThreadHook, &ThreadHook_Type);
    if (hook == NULL) {
        return NULL;
    }
    hook->callback = hook->key = NULL;
    hook->suspended = 0;
    hook->signals = SIGNALS_ARE_THE_PROGRAMS;
    hook->holds_signals = 0;
    hook->thread = PyThread_get_thread_ident();
    hook->handover = NULL;
    hook->followed = hook->on_line = hook->offsets = hook->raised = hook->traced_for = NULL;
    hook->traced_by = NULL;
    hook->readers_before = 0;
    hook->from_ns = 0;
    hook->follows = FOLLOWS_NOTHING;
    hook->lines = 0;
    hook->blocking = BLOCKS_NOTHING;
    hook->turns = NULL;
    hook->units = hook->backwards = hook->readers = hook->away_nodes = hook->entries = 0;
    hook->cold_frames = hook->looks_to_come = hook->backwards_now = 0;
    hook->steps = hook->compared_at = 0;
    hook->backward_ns = hook->compared_ns = 0;
    hook->compared = NULL;
    hook->compared_now = 0;
    hook->compared_place = 0;
    hook->away_ns = hook->capture_ns = hook->cold_ns = 0;
    hook->resumes_until_ns = LLONG_MAX;
    hook->begun = NULL;
    hook->beginnings = 0;
    const int failed = PyDict_SetItemString(thread_dict, "_capture.thread_hook", (PyObject *)hook);
    Py_DECREF(hook);
    if (failed) {
        return NULL;
    }
    thread_hook = hook;
    return hook;
}

/* --- functions of the module ------------------------------------------------------------------------- */

/* Takes the references; those to what was there before are the caller's. */
static void exchange(ThreadHook *hook, PyObject **callback, PyObject **key)
{
    PyObject *old_callback = hook->callback, *old_key = hook->key;
    if (hook->callback != *callback) {
        hook->blocking = BLOCKS_NOTHING; /* a cold frame under another callback keeps nobody back */
    }
    hook->callback = *callback;
    hook->key = *key;
    hooked_threads += (hook->callback != NULL) - (old_callback != NULL);
    install_or_remove();
    signals_changed(hook);
    *callback = old_callback;
    *key = old_key;
}

PyObject *eval_unhooked(PyThreadState *tstate, InterpreterFrame *frame, ThreadHook *hook)
{
    PyObject *callback = NULL, *key = Py_XNewRef(hook->key);
    exchange(hook, &callback, &key);
    PyObject *value = eval_default(tstate, frame, 0);
    exchange(hook, &callback, &key);
    Py_XDECREF(callback); /* a callback that the frame left */
    Py_XDECREF(key);
    return value;
}

static PyObject *callback_and_key(PyObject *callback, PyObject *key)
{
    return PyTuple_Pack(2, callback == NULL ? Py_None : callback, key == NULL ? Py_None : key);
}

/* 0, or -1 with an exception. */
static int in_subinterpreter(void)
{
    if (PyThreadState_GetInterpreter(PyThreadState_Get()) != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_RuntimeError,
                        "set_callback: capture works in the main interpreter only, this is a subinterpreter");
        return -1;
    }
    return 0;
}

static int check_arguments(PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 2) {
        PyErr_Format(PyExc_TypeError,
                     "set_callback: expected a callback (or None) and a key, got %zd arguments", nargs);
        return -1;
    }
    if (args[0] != Py_None && !PyCallable_Check(args[0])) {
        PyErr_Format(PyExc_TypeError, "set_callback: the callback must be callable or None, not %.200s",
                     Py_TYPE(args[0])->tp_name);
        return -1;
    }
    return in_subinterpreter();
}

static PyObject *set_callback(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    ThreadHook *hook = check_arguments(args, nargs) < 0 ? NULL : ensure_thread_hook();
    PyObject *previous = hook == NULL ? NULL : callback_and_key(hook->callback, hook->key);
    if (previous == NULL) {
        return NULL;
    }
    PyObject *callback = args[0] == Py_None ? NULL : Py_NewRef(args[0]), *key = Py_NewRef(args[1]);
    exchange(hook, &callback, &key);
    Py_XDECREF(callback);
    Py_XDECREF(key);
    return previous;
}

PyObject *thread_hook_call(PyObject *callback, PyObject *key, PyObject *callable, PyObject *const *args,
                           size_t nargsf, PyObject *kwnames)
{
    if (in_subinterpreter()) {
        return NULL;
    }
    ThreadHook *hook = ensure_thread_hook();
    if (hook == NULL) {
        return NULL;
    }
    Py_XINCREF(callback);
    Py_XINCREF(key);
    Py_INCREF(hook);
    exchange(hook, &callback, &key);
    PyObject *value = PyObject_Vectorcall(callable, args, nargsf, kwnames);
    exchange(hook, &callback, &key);
    if (value != NULL) {
        Py_XDECREF(callback); /* what dies here may run user code */
        Py_XDECREF(key);
        Py_DECREF(hook);
        return value;
    }
    PyObject *type, *exception, *traceback;
    PyErr_Fetch(&type, &exception, &traceback);
    Py_XDECREF(callback);
    Py_XDECREF(key);
    Py_DECREF(hook);
    PyErr_Restore(type, exception, traceback);
    return NULL;
}

static PyObject *get_callback(PyObject *module, PyObject *ignored)
{
    return thread_hook == NULL ? callback_and_key(NULL, NULL)
                               : callback_and_key(thread_hook->callback, thread_hook->key);
}

static PyObject *is_installed(PyObject *module, PyObject *ignored)
{
    return PyBool_FromLong(evaluator_of(PyInterpreterState_Main()) == eval_frame);
}

static PyMethodDef functions[] = {
    {"set_callback", (PyCFunction)(void (*)(void))set_callback, METH_FASTCALL,
     "set_callback(callback | None, key) -> (previous callback, previous key), for the frames of this "
     "thread."},
    {"get_callback", get_callback, METH_NOARGS, "get_callback() -> (callback | None, key) of this thread."},
    {"is_installed", is_installed, METH_NOARGS,
     "is_installed() -> bool: is the evaluator the interpreter's eval-frame function?"},
    {NULL, NULL, 0, NULL},
};

int init_thread_hook(PyObject *module)
{
    return PyType_Ready(&ThreadHook_Type) < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
