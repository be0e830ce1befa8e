/* Continuation(fn, args): "go on with fn(*args)", what the code of a broken frame returns to the frame hook.
 */

#ifndef CAPTURE_CONTINUATION_H
#define CAPTURE_CONTINUATION_H

#include "capture_native.h"

extern PyTypeObject Continuation_Type;

static inline int is_continuation(PyObject *object)
{
    return object != NULL && Py_IS_TYPE(object, &Continuation_Type);
}

/* Goes on until the value is no Continuation. Takes over the reference `value` (NULL passes through); a new
 * reference or NULL. */
PyObject *run_continuations(PyObject *value);

#endif
