/* Continuation(fn, args): the code of a broken frame returns it to the frame hook, which calls fn(*args). */

#ifndef CAPTURE_CONTINUATION_H
#define CAPTURE_CONTINUATION_H

#include "capture_native.h"

extern PyTypeObject Continuation_Type;

static inline int is_continuation(PyObject *object)
{
    return object != NULL && Py_IS_TYPE(object, &Continuation_Type);
}

/* Runs until the value is no Continuation. Takes over the reference `value`, which may be NULL. A new
 * reference, or NULL with an exception. */
PyObject *run_continuations(PyObject *value);

#endif
