/* Launch plans whose sizes are open, as `_capture.SizedGraph` uses them. */
#ifndef CAPTURE_PLAN_TEMPLATE_H
#define CAPTURE_PLAN_TEMPLATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

/* A new reference to the graph for these ints, or to None where the plan is not right for them. NULL with an
 * exception. */
PyObject *plan_template_graph(PyObject *object, const int64_t *key);
Py_ssize_t plan_template_ninputs(PyObject *object);
int plan_template_check(PyObject *object);

#endif
