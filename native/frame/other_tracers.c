/* What other tracers are to be looked for: see other_tracers.h.
 *
 * In:  follow_other_tracers(keys, fx_flags, fx_flag, compile_callback): torch's dispatch keys, where torch.fx
 *      keeps its flag and under which name, a function that gives torch.compile's callback.
 * Out: `other_tracers`. */

#include "frame/other_tracers.h"

OtherTracers other_tracers;

static PyObject *dict_name;

/* Exact dicts with strings as keys: a look-up runs no code. Without the flag nobody traces. */
static int flag_in(PyObject *names)
{
    return PyDict_GetItemWithError(names, other_tracers.fx_flag) == Py_True;
}

int other_tracers_read_flag(void)
{
    other_tracers.fx_version = dict_version(other_tracers.fx_dict);
    return other_tracers.fx_traces = flag_in((PyObject *)other_tracers.fx_dict);
}

int other_tracers_read_local_flag(void)
{
    PyObject *type, *exception, *traceback;
    PyErr_Fetch(&type, &exception, &traceback);
    /* the thread's own dict, made here if the thread has none. Without memory for it there is no flag. */
    PyObject *names = PyObject_GetAttr(other_tracers.fx_local, dict_name);
    const int traces = names != NULL && flag_in(names);
    Py_XDECREF(names);
    PyErr_Restore(type, exception, traceback);
    return traces;
}

int torch_compile_captures(void)
{
    if (other_tracers.compile_callback == NULL) {
        return 0;
    }
    PyObject *type, *exception, *traceback;
    PyErr_Fetch(&type, &exception, &traceback);
    /* a function in C that reads a variable of the thread */
    PyObject *callback = PyObject_CallNoArgs(other_tracers.compile_callback);
    const int captures = callback != NULL && callback != Py_None && callback != Py_False;
    Py_XDECREF(callback);
    PyErr_Restore(type, exception, traceback);
    return captures;
}

static PyObject *follow_other_tracers(PyObject *module, PyObject *args)
{
    unsigned long long keys;
    PyObject *flags, *flag, *compile_callback;
    if (!PyArg_ParseTuple(args, "KOUO:follow_other_tracers", &keys, &flags, &flag, &compile_callback)) {
        return NULL;
    }
    if (torch_thread_keys() == NULL) {
        PyErr_SetString(PyExc_ImportError, "this build of torch does not export its thread's dispatch keys");
        return NULL;
    }
    PyObject *for_process = PyDict_CheckExact(flags) ? flags : NULL;
    Py_XSETREF(other_tracers.fx_flag, Py_NewRef(flag));
    Py_XSETREF(other_tracers.fx_local, for_process == NULL ? Py_NewRef(flags) : NULL);
    Py_XSETREF(other_tracers.fx_dict, (PyDictObject *)Py_XNewRef(for_process));
    Py_XSETREF(other_tracers.compile_callback, Py_NewRef(compile_callback));
    other_tracers.anomaly_mode = torch_cpu_symbol("_ZN5torch8autograd11AnomalyMode8_enabledE");
    other_tracers.keys = keys;
    if (for_process != NULL) {
        other_tracers_read_flag();
    }
    Py_RETURN_NONE;
}

int this_thread_is_followed(void)
{
    return thread_is_followed(PyThreadState_Get());
}

static PyObject *is_followed(PyObject *module, PyObject *ignored)
{
    return PyBool_FromLong(this_thread_is_followed());
}

static PyMethodDef functions[] = {
    {"follow_other_tracers", follow_other_tracers, METH_VARARGS,
     "follow_other_tracers(keys, fx_flags, fx_flag, compile_callback): while a thread has one of these "
     "dispatch keys, or fx_flags (a dict, or a threading.local) has True under the name fx_flag, or "
     "compile_callback() gives a function, or the process is in autograd's anomaly mode, its frames run in "
     "the default evaluator."},
    {"is_followed", is_followed, METH_NOARGS,
     "is_followed() -> bool: does another tracer, or a trace or profile function, follow this thread?"},
    {NULL, NULL, 0, NULL},
};

int init_other_tracers(PyObject *module)
{
    dict_name = PyUnicode_InternFromString("__dict__");
    return dict_name == NULL ? -1 : PyModule_AddFunctions(module, functions);
}
