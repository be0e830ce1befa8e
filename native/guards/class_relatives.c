/* The bases of a class, and the classes that were made from it.
 *
 * In:  a weak reference to a class, which of the two to look at, and weak references to what was there.
 * Out: whether the class still has exactly these relatives. No code of the user runs.
 */
#include "capture_native.h"

static PyObject *type_subclasses; /* `type.__subclasses__`, never what a metaclass has in its place */

/* A list or tuple of the relatives; NULL with an error set, or without one where the class is gone. */
static PyObject *relatives_of(PyObject *reference, int bases)
{
    PyObject *cls = PyWeakref_GET_OBJECT(reference);
    if (!PyType_Check(cls)) {
        return NULL;
    }
    if (bases) {
        return Py_XNewRef(((PyTypeObject *)cls)->tp_bases);
    }
    Py_INCREF(cls);
    PyObject *found = PyObject_CallOneArg(type_subclasses, cls);
    Py_DECREF(cls);
    return found;
}

static PyObject *has_relatives(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 3 || !PyWeakref_Check(args[0]) || !PyBool_Check(args[1]) || !PyTuple_Check(args[2])) {
        PyErr_SetString(PyExc_TypeError, "has_relatives: expected a weakref, a bool and a tuple");
        return NULL;
    }
    PyObject *now = relatives_of(args[0], args[1] == Py_True);
    if (now == NULL) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(now);
    int same = count == PyTuple_GET_SIZE(args[2]);
    for (Py_ssize_t i = 0; same && i < count; i++) {
        PyObject *reference = PyTuple_GET_ITEM(args[2], i);
        same =
            PyWeakref_Check(reference) && PyWeakref_GET_OBJECT(reference) == PySequence_Fast_GET_ITEM(now, i);
    }
    Py_DECREF(now);
    return PyBool_FromLong(same);
}

static PyMethodDef functions[] = {
    {"has_relatives", (PyCFunction)(void (*)(void))has_relatives, METH_FASTCALL,
     "has_relatives(class_ref, bases, refs): whether these are its bases, or else its subclasses."},
    {NULL, NULL, 0, NULL},
};

int init_class_relatives(PyObject *module)
{
    type_subclasses = PyObject_GetAttrString((PyObject *)&PyType_Type, "__subclasses__");
    return type_subclasses == NULL ? -1 : PyModule_AddFunctions(module, functions);
}
