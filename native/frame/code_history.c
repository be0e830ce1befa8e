/* What a Patience decides by, of a code object: what Python has spent in it, here and in earlier processes.
 *
 * In:  code objects, times, code units.
 * Out: the functions cold_runs, spent_earlier, inlined_units, inlined_earlier, count_anew, leave_code,
 * left_earlier.
 *
 *     spent_earlier(f.__code__, ns, most)     ->     f is hot sooner: earlier processes have worked in it */

#include "frame/code_entries.h"

/* An earlier process says so many nanoseconds at most: a day. */
#define MOST_SPENT_NS 86400000000000LL
/* More code units than a day of captures has. */
#define MOST_UNITS 10000000000LL

static PyObject *cold_runs(PyObject *module, PyObject *object)
{
    PyCodeObject *code = as_code(object, "cold_runs");
    const CodeState *state = code == NULL ? NULL : code_state(code);
    const ColdRuns none = {0}, *cold = state == NULL ? &none : &state->cold;
    return code == NULL ? NULL
                        : Py_BuildValue("(inLLL)", cold->kind, cold->runs, cold->ns, cold->units,
                                        state == NULL ? 0LL : state->paid_ns);
}

static PyObject *spent_earlier(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 3) {
        return PyErr_Format(PyExc_TypeError,
                            "spent_earlier: expected a code object and two times, got %zd arguments", nargs);
    }
    PyCodeObject *code = as_code(args[0], "spent_earlier");
    const long long ns = code == NULL ? -1 : PyLong_AsLongLong(args[1]);
    const long long most = PyErr_Occurred() ? -1 : PyLong_AsLongLong(args[2]);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (most < 0 || ns < most || ns > MOST_SPENT_NS) {
        return PyErr_Format(PyExc_ValueError,
                            "spent_earlier: times of %lld ns, and of %lld ns in one process", ns, most);
    }
    CodeState *state = ensure_code_state(code);
    if (state == NULL) {
        return NULL;
    }
    state->earlier_ns = ns;
    state->most_ns = most;
    Py_RETURN_NONE;
}

static PyObject *inlined_units(PyObject *module, PyObject *object)
{
    PyCodeObject *code = as_code(object, "inlined_units");
    const CodeState *state = code == NULL ? NULL : code_state(code);
    return code == NULL ? NULL : PyLong_FromLongLong(state == NULL ? 0 : state->inlined_units);
}

static PyObject *inlined_earlier(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 2) {
        return PyErr_Format(PyExc_TypeError,
                            "inlined_earlier: expected a code object and a number, got %zd arguments", nargs);
    }
    PyCodeObject *code = as_code(args[0], "inlined_earlier");
    const long long units = code == NULL ? -1 : PyLong_AsLongLong(args[1]);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (units < 0 || units > MOST_UNITS) {
        return PyErr_Format(PyExc_ValueError, "inlined_earlier: expected 0 to %lld code units, got %lld",
                            MOST_UNITS, units);
    }
    CodeState *state = ensure_code_state(code);
    if (state == NULL) {
        return NULL;
    }
    state->inlined_units = units;
    Py_RETURN_NONE;
}

static PyObject *count_anew(PyObject *module, PyObject *object)
{
    PyCodeObject *code = as_code(object, "count_anew");
    CodeState *state = code == NULL ? NULL : code_state(code);
    if (state != NULL) {
        state->cold = cold_runs_from_now(&state->cold);
        state->earlier_ns = state->most_ns = 0;
    }
    return code == NULL ? NULL : Py_NewRef(Py_None);
}

static PyObject *leave_code(PyObject *module, PyObject *object)
{
    PyCodeObject *code = as_code(object, "leave_code");
    CodeState *state = code == NULL ? NULL : ensure_code_state(code);
    if (state == NULL) {
        return NULL;
    }
    state->cold.kind = KIND_LEFT;
    Py_RETURN_NONE;
}

static PyObject *left_earlier(PyObject *module, PyObject *object)
{
    PyCodeObject *code = as_code(object, "left_earlier");
    CodeState *state = code == NULL ? NULL : ensure_code_state(code);
    if (state == NULL) {
        return NULL;
    }
    state->looks.were_left = 1;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"cold_runs", cold_runs, METH_O,
     "cold_runs(code) -> (kind, runs, ns, units, ns paid for captures) under a Patience, since the last "
     "entry."},
    {"spent_earlier", (PyCFunction)(void (*)(void))spent_earlier, METH_FASTCALL,
     "spent_earlier(code, ns, most): Python has spent so much in it in earlier processes without a capture, "
     "and so much in one of them."},
    {"inlined_units", inlined_units, METH_O,
     "inlined_units(code) -> int: code units of a run when it was captured under a Patience, with those "
     "below "
     "it; 0 if it was not."},
    {"inlined_earlier", (PyCFunction)(void (*)(void))inlined_earlier, METH_FASTCALL,
     "inlined_earlier(code, units): the same, of the process that has made its entry."},
    {"count_anew", count_anew, METH_O,
     "count_anew(code): what Python has spent in it so far counts for nothing."},
    {"leave_code", leave_code, METH_O,
     "leave_code(code): no Patience captures frames of this code again; its callees may get hot."},
    {"left_earlier", left_earlier, METH_O,
     "left_earlier(code): in earlier processes its frames had nothing to capture, and others than these."},
    {NULL, NULL, 0, NULL},
};

int init_code_history(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
