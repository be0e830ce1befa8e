/* Numbers that stand for what a frame finds at its start. */

#ifndef CAPTURE_DIGEST_H
#define CAPTURE_DIGEST_H

#include "capture_native.h"

/* Of the state of the thread: what every entry guards. */
uint64_t digest_of_thread_state(void);

/* Of that, and of what a glance sees of the arguments. 0: a glance may see more. `key`: of the thread. */
uint64_t digest_of_arguments(const FrameState *frame, PyObject *key);

#endif
