/* Lets Python's collector take new objects for old ones.
 *
 * In:  an object that the collector tracks, made when a time began in which only long-lived objects are made.
 * Out: what was made after it, and lives, is in the oldest generation. So no young collection visits it.
 *
 *     young: a b mark c d        old: x        ->        young: a b mark        old: x c d */

#include "frame/pyversion_objects.h"

#include "capture_native.h"

/* The number in the mark, which is a list; without one, all are counted. */
static int made_before(PyObject *mark)
{
    PyObject *made = PyList_CheckExact(mark) && PyList_GET_SIZE(mark) == 1 ? PyList_GET_ITEM(mark, 0) : NULL;
    const int number = made != NULL && PyLong_CheckExact(made) ? _PyLong_AsInt(made) : -1;
    PyErr_Clear(); /* it is too large */
    return number < 0 ? INT_MAX : number;
}

static PyObject *settle_young(PyObject *module, PyObject *mark)
{
    (void)module;
    if (!PyObject_GC_IsTracked(mark)) {
        PyErr_SetString(PyExc_ValueError, "the collector does not track the mark");
        return NULL;
    }
    return PyLong_FromSsize_t(collector_make_old(mark, made_before(mark)));
}

static PyMethodDef functions[] = {
    {"settle_young", settle_young, METH_O,
     "settle_young(mark) -> int\n\nObjects made after `mark` become old. Returns how many. None, where a "
     "collection has seen the mark. A list [gc.get_count()[0]] as the mark: no more objects are counted."},
    {NULL, NULL, 0, NULL},
};

int init_young_objects(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
