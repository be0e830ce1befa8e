#ifndef CAPTURE_CONSTANT_EQUAL_H
#define CAPTURE_CONSTANT_EQUAL_H

#include <Python.h>

/* As guards.values.constants_equal: the same type, and the same value bit by bit. Runs no user code,
 * allocates nothing. */
int constant_equal(PyObject *expected, PyObject *actual);
/* Whether an instance of the constant's type, or of a class on top of it, holds the same plain value. */
int contents_equal(PyObject *expected, PyObject *actual);
/* 1 and the value of an exact int within 64 bits, else 0. */
int int_value(PyObject *object, int64_t *value);

#endif
