/* HookedFunction(described, target, callback | None, key, method=None, in_python=False): the result of
 * `capture.compile` and `capture.disable` for a function.
 *
 * In:  a Python function with the name, signature and attributes, a target, a callback and a key.
 * Out: a function that looks like the first one. A call runs the target under the callback; then the thread
 *      has its former callback again.
 *
 *     fast = HookedFunction(described, f, callback, key);  fast(x)     ->     f(x), the callback sees its
 * frames
 *
 * It is a subtype of Python's functions: it binds as a method, has their attributes, and `isinstance` says
 * so. A call makes no frame, no tuple and no dict of its own. With `method`, a call looks up this method on
 * the class of the target and runs it. With the target None, a call goes to this attribute of its first
 * argument, with the other arguments. With `in_python`, a call runs the function `described`: for the hook
 * that is written in Python. While a thread has that hook, functions without a callback do so too.
 *
 * `when_unused` is called once, if the first calls ran no entry: the user expects a gain that will not come.
 */

#include "frame/autograd_nodes.h"
#include "frame/code_entries.h"
#include "frame/thread_hook.h"
#include "frame/worked_time.h"

#include <structmember.h>

typedef struct {
    PyFunctionObject function;
    PyObject *target;
    PyObject *method; /* NULL: the target itself is called */
    PyObject *callback;
    PyObject *key;
    PyObject *copies;      /* NULL or None: it can't be made again. Else capture/hooks/copies.py */
    PyObject *when_unused; /* NULL, or to be called once if the first calls run no entry */
    int in_python;         /* `described` itself does what has to be done around the target */
    int unused;            /* calls that ran no entry; all calls so far */
} HookedFunction;

/* A first call may only prepare the module, and a second one meet a break that a third one does not. */
enum { CALLS_BEFORE_A_WORD = 3 };

static PyTypeObject HookedFunction_Type;

/* While set, every call of a hooked function runs without a callback. */
static int run_eagerly;

/* Set while a thread has the hook that is written in Python: only Python code can switch it off. */
static int python_hook_is_on;

/* The code of the target, if this is a Python function; else NULL. */
static PyCodeObject *target_code(PyObject *target)
{
    PyObject *function = PyMethod_Check(target) ? PyMethod_GET_FUNCTION(target) : target;
    return PyFunction_Check(function) ? (PyCodeObject *)((PyFunctionObject *)function)->func_code : NULL;
}

/* Whether the evaluator would leave the frame of this call, and all below it, to Python without its guards.
 * The call counts as such a frame. */
static int is_left_to_python(const HookedFunction *self)
{
    PyCodeObject *code = self->method == NULL ? target_code(self->target) : NULL;
    const int hooked_around =
        thread_hook != NULL && (thread_hook->callback != NULL || thread_hook->handover != NULL);
    CodeState *state = code == NULL || hooked_around ? NULL : code_state(code);
    Entry *entry = state == NULL || (state->marks & CODE_SKIPPED) ? NULL : code_state_usual(state, self->key);
    if (entry == NULL || !entry->unhooked) {
        return 0;
    }
    entry->hits++;
    state->in_a_row++;
    return 1;
}

/* The method that the class of the object has, bound to the object: not what the program has put among the
 * object's own attributes, since that may call us. A new reference, or NULL with an exception. */
static PyObject *method_of_class(PyObject *object, PyObject *name)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *found = _PyType_Lookup(type, name);
    if (found == NULL) {
        PyErr_Format(PyExc_AttributeError, "'%.50s' object has no method '%U'", type->tp_name, name);
        return NULL;
    }
    Py_INCREF(found);
    descrgetfunc bind = Py_TYPE(found)->tp_descr_get;
    if (bind == NULL) {
        return found;
    }
    PyObject *method = bind(found, object, (PyObject *)type);
    Py_DECREF(found);
    return method;
}

/* Calls the attribute `method` of the first argument with the others. */
static PyObject *relay(HookedFunction *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (nargs == 0) { /* Python's own text for a missing argument */
        return _PyFunction_Vectorcall((PyObject *)self, args, nargsf, kwnames);
    }
    PyObject *callable = PyObject_GetAttr(args[0], self->method);
    if (callable == NULL) {
        return NULL;
    }
    PyObject *value = PyObject_Vectorcall(callable, args + 1,
                                          (size_t)(nargs - 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, kwnames);
    Py_DECREF(callable);
    return value;
}

/* After a call. 0, or -1 with an exception of `when_unused`. */
static int note_use(HookedFunction *self, int used)
{
    if (used) {
        Py_CLEAR(self->when_unused);
        return 0;
    }
    if (++self->unused < CALLS_BEFORE_A_WORD) {
        return 0;
    }
    PyObject *tell = self->when_unused;
    self->when_unused = NULL;
    PyObject *answer = tell == Py_None ? Py_NewRef(tell) : PyObject_CallNoArgs(tell);
    Py_DECREF(tell);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

static unsigned long long entries_of_thread(void)
{
    return thread_hook == NULL ? 0 : thread_hook->entries;
}

/* A disabled function is never captured: its time and its operations are no work of the frames around it. */
static PyObject *call_disabled(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    ThreadHook *hook = thread_hook;
    if (hook == NULL || hook->callback == NULL || hook->cold_frames == 0) {
        return thread_hook_call(NULL, NULL, callable, args, nargsf, kwnames);
    }
    const long long away = hook->away_ns, started = worked_ns();
    const unsigned long long nodes = autograd_nodes() - hook->away_nodes;
    PyObject *value = thread_hook_call(NULL, NULL, callable, args, nargsf, kwnames);
    hook->away_ns = away + worked_ns() - started;
    hook->away_nodes = autograd_nodes() - nodes;
    return value;
}

static PyObject *hooked_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    HookedFunction *self = (HookedFunction *)object;
    if (self->target == Py_None && self->method != NULL) {
        return relay(self, args, nargsf, kwnames);
    }
    if (self->in_python || (self->callback == NULL && python_hook_is_on)) {
        return _PyFunction_Vectorcall(object, args, nargsf, kwnames);
    }
    if (is_left_to_python(self)) {
        return PyObject_Vectorcall(self->target, args, nargsf, kwnames);
    }
    PyObject *callable =
        self->method == NULL ? Py_NewRef(self->target) : method_of_class(self->target, self->method);
    if (callable == NULL) {
        return NULL;
    }
    PyObject *callback = run_eagerly ? NULL : self->callback, *key = run_eagerly ? NULL : self->key;
    const unsigned long long before = entries_of_thread();
    PyObject *value = callback == NULL ? call_disabled(callable, args, nargsf, kwnames)
                                       : thread_hook_call(callback, key, callable, args, nargsf, kwnames);
    Py_DECREF(callable);
    const int watched = self->when_unused != NULL && callback != NULL && value != NULL;
    if (watched && !this_thread_is_followed() && note_use(self, entries_of_thread() != before) < 0) {
        Py_CLEAR(value);
    }
    return value;
}

/* --- life -------------------------------------------------------------------------------------------- */

/* The fields of Python's own part, with the values that PyFunction_New gives them. */
static void copy_function(PyFunctionObject *to, PyFunctionObject *from)
{
    to->func_globals = Py_NewRef(from->func_globals);
    to->func_builtins = Py_NewRef(from->func_builtins);
    to->func_name = Py_NewRef(from->func_name);
    to->func_qualname = Py_NewRef(from->func_qualname);
    to->func_code = Py_NewRef(from->func_code);
    to->func_defaults = Py_XNewRef(from->func_defaults);
    to->func_kwdefaults = Py_XNewRef(from->func_kwdefaults);
    to->func_closure = Py_XNewRef(from->func_closure);
    to->func_doc = Py_XNewRef(from->func_doc);
    to->func_dict = Py_XNewRef(from->func_dict);
    to->func_weakreflist = NULL;
    to->func_module = Py_XNewRef(from->func_module);
    to->func_annotations = Py_XNewRef(from->func_annotations);
    to->vectorcall = hooked_vectorcall;
    function_forget_version(to);
}

static PyObject *hooked_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"described", "target", "callback", "key", "method", "in_python", NULL};
    PyObject *described, *target, *callback, *key, *method = NULL;
    int in_python = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OOO|Up:HookedFunction", names, &PyFunction_Type,
                                     &described, &target, &callback, &key, &method, &in_python)) {
        return NULL;
    }
    if (callback != Py_None && !PyCallable_Check(callback)) {
        return PyErr_Format(PyExc_TypeError,
                            "HookedFunction: the callback must be callable or None, not %.200s",
                            Py_TYPE(callback)->tp_name);
    }
    HookedFunction *self = PyObject_GC_New(HookedFunction, &HookedFunction_Type);
    if (self == NULL) {
        return NULL;
    }
    copy_function(&self->function, (PyFunctionObject *)described);
    self->target = Py_NewRef(target);
    self->method = Py_XNewRef(method);
    self->callback = callback == Py_None ? NULL : Py_NewRef(callback);
    self->key = Py_NewRef(key);
    self->copies = NULL;
    self->when_unused = NULL;
    self->unused = 0;
    self->in_python = in_python;
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static int hooked_traverse(HookedFunction *self, visitproc visit, void *arg)
{
    Py_VISIT(self->target);
    Py_VISIT(self->method);
    Py_VISIT(self->callback);
    Py_VISIT(self->key);
    Py_VISIT(self->copies);
    Py_VISIT(self->when_unused);
    return PyFunction_Type.tp_traverse((PyObject *)self, visit, arg);
}

/* The fields keep their values: code that runs during a collection may still call the function. */
static int hooked_clear(HookedFunction *self)
{
    Py_SETREF(self->target, Py_NewRef(Py_None));
    Py_SETREF(self->key, Py_NewRef(Py_None));
    Py_CLEAR(self->callback);
    Py_CLEAR(self->copies);
    Py_CLEAR(self->when_unused);
    return PyFunction_Type.tp_clear((PyObject *)self);
}

static void hooked_dealloc(HookedFunction *self)
{
    PyObject *target = self->target, *method = self->method, *callback = self->callback, *key = self->key;
    PyObject *copies = self->copies, *when_unused = self->when_unused;
    PyFunction_Type.tp_dealloc((PyObject *)self);
    Py_DECREF(target);
    Py_XDECREF(method);
    Py_XDECREF(callback);
    Py_DECREF(key);
    Py_XDECREF(copies);
    Py_XDECREF(when_unused);
}

static int is_made_again(const HookedFunction *self)
{
    return self->copies != NULL && self->copies != Py_None;
}

/* Without `copies`, pickle and copy use its name, as for any function. */
static PyObject *hooked_reduce(HookedFunction *self, PyObject *ignored)
{
    return is_made_again(self) ? PyObject_CallMethod(self->copies, "pickled", "O", self)
                               : Py_NewRef(self->function.func_qualname);
}

static PyObject *hooked_copy(HookedFunction *self, PyObject *ignored)
{
    return is_made_again(self) ? PyObject_CallMethod(self->copies, "copied", "O", self) : Py_NewRef(self);
}

static PyObject *hooked_deepcopy(HookedFunction *self, PyObject *memo)
{
    return is_made_again(self) ? PyObject_CallMethod(self->copies, "deep_copied", "OO", self, memo)
                               : Py_NewRef(self);
}

static PyMethodDef hooked_methods[] = {
    {"__reduce__", (PyCFunction)hooked_reduce, METH_NOARGS, "What pickle writes."},
    {"__copy__", (PyCFunction)hooked_copy, METH_NOARGS, "The same; another one of a copied target."},
    {"__deepcopy__", (PyCFunction)hooked_deepcopy, METH_O, "The same; another one of a copied target."},
    {NULL, NULL, 0, NULL},
};

/* Without this, readers would find the type's text, not the function's. */
static PyMemberDef hooked_members[] = {
    {"__doc__", T_OBJECT, offsetof(PyFunctionObject, func_doc), 0, NULL},
    {"copies", T_OBJECT, offsetof(HookedFunction, copies), 0, "what copy and pickle ask; None without it"},
    {"when_unused", T_OBJECT, offsetof(HookedFunction, when_unused), 0,
     "called once if the first three calls run no entry; None or deleted: nothing is called"},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject HookedFunction_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.HookedFunction",
    .tp_basicsize = sizeof(HookedFunction),
    .tp_base = &PyFunction_Type,
    .tp_flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(PyFunctionObject, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = hooked_new,
    .tp_dealloc = (destructor)hooked_dealloc,
    .tp_traverse = (traverseproc)hooked_traverse,
    .tp_clear = (inquiry)hooked_clear,
    .tp_methods = hooked_methods,
    .tp_members = hooked_members,
};

static PyObject *set_flag(int *wanted, PyObject *flag)
{
    const int value = PyObject_IsTrue(flag);
    if (value < 0) {
        return NULL;
    }
    *wanted = value;
    Py_RETURN_NONE;
}

static PyObject *set_run_eagerly(PyObject *module, PyObject *flag)
{
    return set_flag(&run_eagerly, flag);
}

static PyObject *set_python_hook(PyObject *module, PyObject *flag)
{
    return set_flag(&python_hook_is_on, flag);
}

static PyMethodDef functions[] = {
    {"run_eagerly", set_run_eagerly, METH_O,
     "run_eagerly(flag): while it is set, calls of hooked functions have no callback."},
    {"python_hook", set_python_hook, METH_O,
     "python_hook(flag): while it is set, hooked functions without a callback run as they are described."},
    {NULL, NULL, 0, NULL},
};

int init_hooked_function(PyObject *module)
{
    return PyModule_AddType(module, &HookedFunction_Type) < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
