/* What other tracers are to be looked for: see other_tracers.h.
 *
 * In:  follow_other_tracers(keys, names, compile_callback): torch's dispatch keys, the globals of torch.fx's
 *      tracer, a function that gives torch.compile's callback.
 * Out: `other_tracers`. */

#include "frame/other_tracers.h"

OtherTracers other_tracers;

/* The name of the flag among the globals of torch.fx's tracer. */
static PyObject *flag_name;

int other_tracers_read_flag(void)
{
    other_tracers.fx_version = dict_version(other_tracers.fx_names);
    /* an exact dict with strings as keys: this runs no code, and without the flag nobody traces */
    PyObject *flag = PyDict_GetItemWithError((PyObject *)other_tracers.fx_names, flag_name);
    return other_tracers.fx_traces = flag == Py_True;
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
    PyObject *names, *compile_callback;
    if (!PyArg_ParseTuple(args, "KO!O:follow_other_tracers", &keys, &PyDict_Type, &names,
                          &compile_callback)) {
        return NULL;
    }
    if (torch_thread_keys() == NULL) {
        PyErr_SetString(PyExc_ImportError, "this build of torch does not export its thread's dispatch keys");
        return NULL;
    }
    Py_XSETREF(other_tracers.fx_names, (PyDictObject *)Py_NewRef(names));
    Py_XSETREF(other_tracers.compile_callback, Py_NewRef(compile_callback));
    other_tracers.keys = keys;
    other_tracers_read_flag();
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
     "follow_other_tracers(keys, names, compile_callback): while a thread has one of these dispatch keys, or "
     "names['_is_fx_tracing_flag'] is true, or compile_callback() gives a function, its frames run in the "
     "default evaluator."},
    {"is_followed", is_followed, METH_NOARGS,
     "is_followed() -> bool: does another tracer, or a trace or profile function, follow this thread?"},
    {NULL, NULL, 0, NULL},
};

int init_other_tracers(PyObject *module)
{
    flag_name = PyUnicode_InternFromString("_is_fx_tracing_flag");
    return flag_name == NULL ? -1 : PyModule_AddFunctions(module, functions);
}
