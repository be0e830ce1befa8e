/* Like pyversion.h, for the layouts of dicts, instances and other built-in objects.
 *
 * A file includes this header before any other: CPython's internal headers want a macro that stands before
 * Python.h. */

#ifndef CAPTURE_PYVERSION_OBJECTS_H
#define CAPTURE_PYVERSION_OBJECTS_H

#define Py_BUILD_CORE 1
#include "frame/pyversion.h" /* refuses unknown versions */

#if PY_VERSION_HEX < 0x030C0000
#include "frame/py311_objects.h"
#endif

#endif
