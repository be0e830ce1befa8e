/* Frame: what the callback sees of a frame that is about to run. */

#ifndef CAPTURE_FRAME_H
#define CAPTURE_FRAME_H

#include "capture_native.h"

/* A new Frame, or NULL with an exception. Steals `failures`. */
PyObject *frame_snapshot(PyCodeObject *code, const FrameState *state, PyObject *failures);

#endif
