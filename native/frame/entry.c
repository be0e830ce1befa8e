/* Entry: one captured version of a code object.
 *
 * In:  Entry(guards, key, *, code=None, graph=None, result=None, inputs=None, unhooked=False, sampled=False).
 * Out: for a frame whose guards hold: a code object to run in its place, or the frame's value from a graph
 *      and a result recipe. If an entry has neither, the default evaluator runs the frame.
 *
 *     Entry(guards, key, graph=kernel, result=(("out", 0),))
 *         ->     the frame calls kernel(*slots) and returns its first output */

#include "frame/entry.h"

#include <structmember.h>

/* The slots are in an array on the C stack. */
static const Py_ssize_t MAX_SLOTS = 1 << 16;

/* --- construction ------------------------------------------------------------------------------------ */

static int set_guards(Entry *self, PyObject *guards)
{
    if (guards == Py_None) {
        return 0;
    }
    if (guard_program_check == NULL || !guard_program_check(guards)) {
        PyErr_Format(PyExc_TypeError, "Entry: guards must be a GuardProgram or None, not %.200s",
                     Py_TYPE(guards)->tp_name);
        return -1;
    }
    self->nslots = guard_program_nslots(guards);
    if (self->nslots > MAX_SLOTS) {
        PyErr_Format(PyExc_ValueError, "Entry: the guard program has %zd slots, at most %zd are possible",
                     self->nslots, MAX_SLOTS);
        return -1;
    }
    self->guards = Py_NewRef(guards);
    return 0;
}

static int set_code(Entry *self, PyObject *code)
{
    if (!PyCode_Check(code)) {
        PyErr_Format(PyExc_TypeError, "Entry: code must be a code object, not %.200s",
                     Py_TYPE(code)->tp_name);
        return -1;
    }
    self->code = (PyCodeObject *)Py_NewRef(code);
    return 0;
}

static int set_graph(Entry *self, PyObject *graph, PyObject *result)
{
    if (!PyCallable_Check(graph)) {
        PyErr_Format(PyExc_TypeError, "Entry: graph must be callable, not %.200s", Py_TYPE(graph)->tp_name);
        return -1;
    }
    if (recipe_parse(&self->recipe, result) < 0) {
        return -1;
    }
    self->graph = Py_NewRef(graph);
    self->result = Py_NewRef(result);
    self->graph_is_native = compiled_graph_check != NULL && compiled_graph_check(graph);
    self->nouts = self->graph_is_native ? compiled_graph_nouts(graph) : PY_SSIZE_T_MAX;
    if (self->recipe.max_slot >= self->nslots) {
        PyErr_Format(PyExc_ValueError, "Entry: result uses slot %zd, the guard program has %zd",
                     self->recipe.max_slot, self->nslots);
        return -1;
    }
    if (self->recipe.max_out >= self->nouts) {
        PyErr_Format(PyExc_ValueError, "Entry: result uses output %zd, the graph has %zd",
                     self->recipe.max_out, self->nouts);
        return -1;
    }
    return 0;
}

static int set_inputs(Entry *self, PyObject *inputs)
{
    self->ninputs = self->nslots;
    if (inputs == Py_None) {
        return 0;
    }
    self->ninputs = PyLong_AsSsize_t(inputs);
    if (self->ninputs == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (self->ninputs < 0 || self->ninputs > self->nslots) {
        PyErr_Format(PyExc_ValueError, "Entry: inputs is %zd, the guard program has %zd slots", self->ninputs,
                     self->nslots);
        return -1;
    }
    return 0;
}

static int init_from(Entry *self, PyObject *guards, PyObject *code, PyObject *graph, PyObject *result,
                     PyObject *inputs)
{
    if (code != Py_None && graph != Py_None) {
        PyErr_SetString(PyExc_ValueError, "Entry: give code or graph, not both");
        return -1;
    }
    if ((graph == Py_None) != (result == Py_None)) {
        PyErr_SetString(PyExc_ValueError, "Entry: graph and result belong together, one of them is missing");
        return -1;
    }
    if (set_guards(self, guards) < 0 || set_inputs(self, inputs) < 0) {
        return -1;
    }
    if (code != Py_None) {
        return set_code(self, code);
    }
    return graph == Py_None ? 0 : set_graph(self, graph, result);
}

static int entry_clear(Entry *self)
{
    recipe_free(&self->recipe); /* first: it borrows from `result` */
    Py_CLEAR(self->guards);
    Py_CLEAR(self->key);
    Py_CLEAR(self->code);
    Py_CLEAR(self->graph);
    Py_CLEAR(self->result);
    Py_CLEAR(self->on_failure);
    Py_CLEAR(self->dict);
    return 0;
}

static int entry_init(Entry *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"guards", "key",      "code",    "graph", "result",
                            "inputs", "unhooked", "sampled", NULL};
    int unhooked = 0, sampled = 0;
    PyObject *guards, *key, *code = Py_None, *graph = Py_None, *result = Py_None, *inputs = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$OOOOpp:Entry", names, &guards, &key, &code, &graph,
                                     &result, &inputs, &unhooked, &sampled)) {
        return -1;
    }
    if (self->key != NULL) {
        PyErr_SetString(PyExc_RuntimeError,
                        "Entry: initialised already; an entry does not change, make a new one");
        return -1;
    }
    if ((unhooked || sampled) && (code != Py_None || graph != Py_None)) {
        PyErr_SetString(PyExc_ValueError,
                        "Entry: an unhooked or sampled frame is Python's, it takes no code and no graph");
        return -1;
    }
    if (init_from(self, guards, code, graph, result, inputs) < 0) {
        PyObject *dict = Py_XNewRef(self->dict); /* what a subclass has put there stays */
        entry_clear(self);
        self->dict = dict;
        self->nslots = self->ninputs = 0;
        return -1;
    }
    self->unhooked = (char)unhooked;
    self->sampled = (char)sampled;
    self->key = Py_NewRef(key);
    return 0;
}

static int entry_traverse(Entry *self, visitproc visit, void *arg)
{
    Py_VISIT(self->guards);
    Py_VISIT(self->key);
    Py_VISIT(self->code);
    Py_VISIT(self->graph);
    Py_VISIT(self->result);
    Py_VISIT(self->on_failure);
    Py_VISIT(self->dict);
    return 0;
}

static void entry_dealloc(Entry *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    entry_clear(self);
    Py_TYPE(self)->tp_free(self);
}

/* --- running ----------------------------------------------------------------------------------------- */

static PyObject *run_native(Entry *entry, PyObject *const *slots, int *failed)
{
    PyObject *outs[entry->nouts + 1];
    if (compiled_graph_run(entry->graph, slots, entry->ninputs, outs) < 0) {
        *failed = 1;
        return NULL;
    }
    PyObject *value = recipe_run(&entry->recipe, outs, slots);
    for (Py_ssize_t i = 0; i < entry->nouts; i++) {
        Py_DECREF(outs[i]);
    }
    return value;
}

static PyObject *run_callable(Entry *entry, PyObject *const *slots, int *failed)
{
    PyObject *outs = PyObject_Vectorcall(entry->graph, slots, entry->ninputs, NULL);
    if (outs == NULL) {
        *failed = 1;
        return NULL;
    }
    PyObject *value = NULL;
    if (!PyTuple_Check(outs)) {
        PyErr_Format(PyExc_TypeError,
                     "a captured graph must return a tuple of its outputs, %R returned %.200s", entry->graph,
                     Py_TYPE(outs)->tp_name);
        *failed = 1;
    } else if (PyTuple_GET_SIZE(outs) <= entry->recipe.max_out) {
        PyErr_Format(PyExc_ValueError, "a captured graph must return at least %zd outputs, %R returned %zd",
                     entry->recipe.max_out + 1, entry->graph, PyTuple_GET_SIZE(outs));
        *failed = 1;
    } else {
        value = recipe_run(&entry->recipe, &PyTuple_GET_ITEM(outs, 0), slots);
    }
    Py_DECREF(outs);
    return value;
}

PyObject *entry_run_graph(Entry *entry, PyObject *const *slots, int *failed)
{
    *failed = 0;
    /* Slots are borrowed references. The graph may release the GIL or run Python code. Then the owner of a
     * slot may release it. */
    for (Py_ssize_t i = 0; i < entry->nslots; i++) {
        Py_INCREF(slots[i]);
    }
    Py_INCREF(entry);
    PyObject *value =
        entry->graph_is_native ? run_native(entry, slots, failed) : run_callable(entry, slots, failed);
    for (Py_ssize_t i = 0; i < entry->nslots; i++) {
        Py_DECREF(slots[i]);
    }
    Py_DECREF(entry);
    return value;
}

/* --- whether an entry fits a code object ------------------------------------------------------------- */

int code_formals(const PyCodeObject *code)
{
    return code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0)
           + ((code->co_flags & CO_VARKEYWORDS) != 0);
}

static int same_free_variables(PyCodeObject *left, PyCodeObject *right)
{
    PyObject *left_names = PyCode_GetFreevars(left);
    PyObject *right_names = left_names == NULL ? NULL : PyCode_GetFreevars(right);
    int same = right_names == NULL ? -1 : PyObject_RichCompareBool(left_names, right_names, Py_EQ);
    Py_XDECREF(left_names);
    Py_XDECREF(right_names);
    return same;
}

static int misfit(PyCodeObject *code, PyCodeObject *replacement, const char *what)
{
    PyErr_Format(PyExc_ValueError, "Entry with code %R can't run in place of %R: %s", replacement, code,
                 what);
    return -1;
}

static int code_fits(PyCodeObject *replacement, PyCodeObject *code, Py_ssize_t nslots)
{
    const int not_plain = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_VARARGS | CO_VARKEYWORDS;
    if (replacement == code) {
        return misfit(code, replacement, "it is the same code object");
    }
    if ((replacement->co_flags & not_plain) || replacement->co_kwonlyargcount != 0
        || !(replacement->co_flags & CO_OPTIMIZED)) {
        return misfit(code, replacement,
                      "all its parameters must be positional, and it must be the code of a plain function");
    }
    if (replacement->co_argcount != code_formals(code) + nslots) {
        return misfit(code, replacement,
                      "it must have one positional parameter for each parameter of the original, and one for "
                      "each slot");
    }
    const int same = same_free_variables(replacement, code);
    return same == 0 ? misfit(code, replacement,
                              "its free variables must be those of the original, in the same order")
                     : -(same < 0);
}

int entry_fits(Entry *entry, PyCodeObject *code)
{
    if (entry->key == NULL) {
        PyErr_Format(PyExc_RuntimeError, "%.200s.__init__ has not called Entry.__init__",
                     Py_TYPE(entry)->tp_name);
        return -1;
    }
    return entry->code == NULL ? 0 : code_fits(entry->code, code, entry->nslots);
}

/* --- the type ---------------------------------------------------------------------------------------- */

static PyMemberDef entry_members[] = {
    {"guards", T_OBJECT, offsetof(Entry, guards), READONLY, "the GuardProgram, or None"},
    {"key", T_OBJECT, offsetof(Entry, key), READONLY, "compared by identity with the thread's key"},
    {"code", T_OBJECT, offsetof(Entry, code), READONLY,
     "code object to run in place of the frame's, or None"},
    {"graph", T_OBJECT, offsetof(Entry, graph), READONLY,
     "callable that makes the outputs from the slots, or None"},
    {"result", T_OBJECT, offsetof(Entry, result), READONLY,
     "instructions that make the frame's value, or None"},
    {"on_failure", T_OBJECT, offsetof(Entry, on_failure), 0,
     "None, or a callable: called with (entry, exception, tuple of inputs) after the graph raised and "
     "before the default evaluator runs the frame"},
    {"inputs", T_PYSSIZET, offsetof(Entry, ninputs), READONLY, "how many of the slots the graph takes"},
    {"unhooked", T_BOOL, offsetof(Entry, unhooked), READONLY,
     "the default evaluator runs the frame, with the hook off below it"},
    {"sampled", T_BOOL, offsetof(Entry, sampled), READONLY,
     "after it has run many frames in a row, its guards are checked for one frame in 64"},
    {"hits", T_PYSSIZET, offsetof(Entry, hits), READONLY,
     "how many frames this entry has run from the cache"},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef entry_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject Entry_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.Entry",
    .tp_doc = "Entry(guards, key, *, code=None, graph=None, result=None, inputs=None, unhooked=False, "
              "sampled=False): one captured version of a code object.",
    .tp_basicsize = sizeof(Entry),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)entry_init,
    .tp_dealloc = (destructor)entry_dealloc,
    .tp_traverse = (traverseproc)entry_traverse,
    .tp_clear = (inquiry)entry_clear,
    .tp_members = entry_members,
    .tp_getset = entry_getset,
    .tp_dictoffset = offsetof(Entry, dict),
    .tp_weaklistoffset = offsetof(Entry, weakrefs),
};

int init_entry(PyObject *module)
{
    return PyModule_AddType(module, &Entry_Type);
}
