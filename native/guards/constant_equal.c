/* Equality of constants.
 *
 * In:  two objects.
 * Out: whether they are the same constant: 1, True, 1.0, 0.0, -0.0 and NaN all differ, and each equals
 * itself.
 */
#define PY_SSIZE_T_CLEAN
#include "guards/constant_equal.h"
#include "tensors/torch_symbols.h"

#include <string.h>

#define MAX_NESTING 50 /* of tuples: constants that are nested deeper count as different */

int int_value(PyObject *object, int64_t *value)
{
    int overflow = 0;
    if (!PyLong_CheckExact(object)) {
        return 0;
    }
    *value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
}

static int equal_int(PyObject *a, PyObject *b, int depth)
{
    PyLongObject *x = (PyLongObject *)a, *y = (PyLongObject *)b;
    Py_ssize_t digits =
        Py_SIZE(x) < 0 ? -Py_SIZE(x) : Py_SIZE(x); /* the sign of the size is the sign of the number */
    return Py_SIZE(x) == Py_SIZE(y) && memcmp(x->ob_digit, y->ob_digit, (size_t)digits * sizeof(digit)) == 0;
}

static int equal_float(PyObject *a, PyObject *b, int depth)
{
    double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return memcmp(&x, &y, sizeof x) == 0;
}

static int equal_complex(PyObject *a, PyObject *b, int depth)
{
    return memcmp(&((PyComplexObject *)a)->cval, &((PyComplexObject *)b)->cval, sizeof(Py_complex)) == 0;
}

static int equal_str(PyObject *a, PyObject *b, int depth)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(a);
    if (!PyUnicode_IS_READY(a) || !PyUnicode_IS_READY(b) || PyUnicode_GET_LENGTH(b) != length
        || PyUnicode_KIND(a) != PyUnicode_KIND(b)) {
        return 0;
    }
    return memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), (size_t)length * PyUnicode_KIND(a)) == 0;
}

static int equal_bytes(PyObject *a, PyObject *b, int depth)
{
    return PyBytes_GET_SIZE(a) == PyBytes_GET_SIZE(b)
           && memcmp(PyBytes_AS_STRING(a), PyBytes_AS_STRING(b), (size_t)PyBytes_GET_SIZE(a)) == 0;
}

static int equal_nested(PyObject *expected, PyObject *actual, int depth);

static int equal_tuple(PyObject *a, PyObject *b, int depth)
{
    if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); i++) {
        if (!equal_nested(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i), depth)) {
            return 0;
        }
    }
    return 1;
}

static int set_has_where(PyObject *set, PyObject *item, const Py_hash_t *hash, int depth)
{
    Py_ssize_t position = 0;
    PyObject *candidate;
    Py_hash_t candidate_hash;
    while (_PySet_NextEntry(set, &position, &candidate, &candidate_hash)) {
        if ((hash == NULL || candidate_hash == *hash) && equal_nested(item, candidate, depth)) {
            return 1;
        }
    }
    return 0;
}

/* Equal constants have equal hashes. Only the hash of a NaN depends on its identity. */
static int set_has(PyObject *set, PyObject *item, Py_hash_t hash, int depth)
{
    return set_has_where(set, item, &hash, depth) || set_has_where(set, item, NULL, depth);
}

static int equal_frozenset(PyObject *a, PyObject *b, int depth)
{
    Py_ssize_t position = 0;
    PyObject *item;
    Py_hash_t hash;
    if (PySet_GET_SIZE(a) != PySet_GET_SIZE(b)) {
        return 0;
    }
    while (_PySet_NextEntry(a, &position, &item, &hash)) {
        if (!set_has(b, item, hash, depth)) {
            return 0;
        }
    }
    return 1;
}

/* slice and range: both structs begin with start, stop, step. */
static int equal_range(PyObject *a, PyObject *b, int depth)
{
    PyObject **x = (PyObject **)(a + 1), **y = (PyObject **)(b + 1);
    return equal_nested(x[0], y[0], depth) && equal_nested(x[1], y[1], depth)
           && equal_nested(x[2], y[2], depth);
}

/* torch.device: the type and the index, one byte each, stand behind the object head. The calibration has
 * checked that. */
static int equal_device(PyObject *a, PyObject *b, int depth)
{
    return memcmp(a + 1, b + 1, 2) == 0;
}

/* NumPy's numbers are compared by the bytes of their buffers. (Types of the standard library that have
 * buffers are in the table.) */
static int equal_bytes_shown(PyObject *a, PyObject *b)
{
    Py_buffer x, y;
    int equal = 0;
    if (Py_TYPE(a)->tp_as_buffer == NULL || Py_TYPE(a)->tp_as_buffer->bf_getbuffer == NULL) {
        return 0;
    }
    if (PyObject_GetBuffer(a, &x, PyBUF_SIMPLE) == 0) {
        if (PyObject_GetBuffer(b, &y, PyBUF_SIMPLE) == 0) {
            equal = x.len == y.len && memcmp(x.buf, y.buf, (size_t)x.len) == 0;
            PyBuffer_Release(&y);
        }
        PyBuffer_Release(&x);
    }
    PyErr_Clear();
    return equal;
}

/* The types that have several objects for one value. (bool, None, dtypes, layouts and enum members have one.)
 */
static const struct {
    PyTypeObject *const *type;
    int (*equal)(PyObject *, PyObject *, int depth);
} EQUALITIES[] = {
    {&(PyTypeObject *){&PyLong_Type}, equal_int},
    {&(PyTypeObject *){&PyUnicode_Type}, equal_str},
    {&(PyTypeObject *){&PyFloat_Type}, equal_float},
    {&(PyTypeObject *){&PyTuple_Type}, equal_tuple},
    {&torch_symbols.size_type, equal_tuple},
    {&torch_symbols.device_type, equal_device},
    {&(PyTypeObject *){&PyBytes_Type}, equal_bytes},
    {&(PyTypeObject *){&PyComplex_Type}, equal_complex},
    {&(PyTypeObject *){&PyFrozenSet_Type}, equal_frozenset},
    {&(PyTypeObject *){&PySlice_Type}, equal_range},
    {&(PyTypeObject *){&PyRange_Type}, equal_range},
};

static int equal_nested(PyObject *expected, PyObject *actual, int depth)
{
    PyTypeObject *type = Py_TYPE(expected);
    if (expected == actual) {
        return 1;
    }
    if (type != Py_TYPE(actual) || depth > MAX_NESTING) {
        return 0;
    }
    for (size_t i = 0; i < sizeof EQUALITIES / sizeof *EQUALITIES; i++) {
        if (*EQUALITIES[i].type == type) {
            return EQUALITIES[i].equal(expected, actual, depth + 1);
        }
    }
    return equal_bytes_shown(expected, actual);
}

int constant_equal(PyObject *expected, PyObject *actual)
{
    return equal_nested(expected, actual, 0);
}

int contents_equal(PyObject *expected, PyObject *actual)
{
    PyTypeObject *type = Py_TYPE(expected);
    for (size_t i = 0; i < sizeof EQUALITIES / sizeof *EQUALITIES; i++) {
        if (*EQUALITIES[i].type == type) {
            return PyObject_TypeCheck(actual, type) && EQUALITIES[i].equal(expected, actual, 1);
        }
    }
    return 0;
}
