/* Copies of sets that keep the places of the elements.
 *
 * In:  a set.
 * Out: a new set with the same order. (`set.copy` may give the elements other places, and so another order.)
 */
#include "capture_native.h"

#include <string.h>

static PyObject *clone_set(PyObject *module, PyObject *original)
{
    if (!PySet_CheckExact(original)) {
        PyErr_SetString(PyExc_TypeError, "clone_set: expected a set");
        return NULL;
    }
    PySetObject *from = (PySetObject *)original;
    PyObject *made = PySet_New(NULL);
    if (made == NULL) {
        return NULL;
    }
    PySetObject *to = (PySetObject *)made;
    size_t bytes = sizeof(setentry) * (size_t)(from->mask + 1);
    if (from->table != from->smalltable) {
        setentry *table = PyMem_Malloc(bytes);
        if (table == NULL) {
            Py_DECREF(made);
            return PyErr_NoMemory();
        }
        to->table = table;
    }
    memcpy(to->table, from->table, bytes);
    to->fill = from->fill;
    to->used = from->used;
    to->mask = from->mask;
    to->finger = from->finger;
    Py_ssize_t position = 0;
    PyObject *item;
    Py_hash_t hash;
    while (_PySet_NextEntry(made, &position, &item, &hash)) {
        Py_INCREF(item);
    }
    return made;
}

static PyMethodDef functions[] = {
    {"clone_set", clone_set, METH_O, "clone_set(set): one with the same elements at the same places."},
    {NULL, NULL, 0, NULL},
};

int init_set_clone(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
