/* Looks through the classes of tensors for methods that the program has replaced: see tensor_methods.h. */
#define PY_SSIZE_T_CLEAN
#include "tensors/tensor_methods.h"

TensorMethods tensor_methods;
static PyObject *pristine; /* class -> name -> what torch has there, or Ellipsis */

int load_tensor_methods(void)
{
    if (pristine != NULL) {
        return 0;
    }
    PyObject *module = PyImport_ImportModule("guards.properties.tensor_methods");
    PyObject *table = module == NULL ? NULL : PyObject_GetAttrString(module, "PRISTINE");
    Py_XDECREF(module);
    if (table != NULL && !PyDict_CheckExact(table)) {
        PyErr_SetString(PyExc_TypeError, "guards.properties.tensor_methods.PRISTINE is not a dict");
        Py_CLEAR(table);
    }
    pristine = table;
    return table == NULL ? -1 : 0;
}

static int has_replaced(PyTypeObject *type, PyObject *names)
{
    PyObject *name, *expected;
    Py_ssize_t position = 0;
    while (PyDict_Next(names, &position, &name, &expected)) {
        PyObject *found = _PyType_Lookup(type, name); /* borrowed; it gives the class its version too */
        if ((found == NULL ? Py_Ellipsis : found) != expected) {
            return 1;
        }
    }
    return 0;
}

int tensor_methods_look(void)
{
    PyObject *type, *names;
    Py_ssize_t position = 0;
    int replaced = 0;
    while (PyDict_Next(pristine, &position, &type, &names)) {
        replaced |= has_replaced((PyTypeObject *)type, names);
    }
    tensor_methods.replaced = replaced;
    tensor_methods.tag = type_version(torch_symbols.parameter_type);
    return replaced;
}
