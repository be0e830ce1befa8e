#ifndef CAPTURE_CONSTANT_EQUAL_H
#define CAPTURE_CONSTANT_EQUAL_H

#include <Python.h>

/* guards.values.constants_equal: same type, same value bit by bit. Runs no user code, allocates nothing. */
int constant_equal(PyObject *expected, PyObject *actual);
/* The same for an instance of the constant's type or of a class on top of it, by what that type has in it. */
int contents_equal(PyObject *expected, PyObject *actual);
/* Exact int within 64 bits: 1 and its value; else 0. */
int int_value(PyObject *object, int64_t *value);

#endif
