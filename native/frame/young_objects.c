/* Lets Python's collector take new objects for old ones.
 *
 * In:  an object that the collector tracks, made when a time began in which only long-lived objects are made.
 * Out: what was made after it, and lives, is in the oldest generation. So no young collection visits it.
 *
 *     young: a b mark c d        old: x        ->        young: a b mark        old: x c d */

#include "frame/pyversion_objects.h"

#include "capture_native.h"

/* A tuple of arguments would be one of the objects behind the mark. */
static PyObject *settle_young(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2) {
        return PyErr_Format(PyExc_TypeError, "settle_young takes 2 arguments, got %zd", count);
    }
    const int made = _PyLong_AsInt(args[1]);
    if (made == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (!PyObject_GC_IsTracked(args[0])) {
        PyErr_SetString(PyExc_ValueError, "the collector does not track the mark");
        return NULL;
    }
    return PyLong_FromSsize_t(collector_make_old(args[0], made));
}

static PyMethodDef functions[] = {
    {"settle_young", (PyCFunction)(void (*)(void))settle_young, METH_FASTCALL,
     "settle_young(mark, made) -> int\n\nObjects made after `mark` become old. Returns how many. None, where "
     "a collection has seen the mark. `made`: what the collector had counted before, `gc.get_count()[0]`."},
    {NULL, NULL, 0, NULL},
};

int init_young_objects(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
