/* The rows of packed sequences: packed_rows.c. */
#ifndef CAPTURE_PACKED_ROWS_H
#define CAPTURE_PACKED_ROWS_H

#include "capture_native.h"

#include "recurrent/steps.h"

/* Gives the layer its rows: `packed` is None, or (address of the rows of each step, all rows). `offsets` is
 * the caller's to free. 0, or -1 with an exception. */
int read_packed_rows(PyObject *packed, Layer *layer);

/* The function of the module. */
PyObject *packed_places(PyObject *module, PyObject *args);

#endif
