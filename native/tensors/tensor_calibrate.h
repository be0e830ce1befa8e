#ifndef CAPTURE_TENSOR_CALIBRATE_H
#define CAPTURE_TENSOR_CALIBRATE_H

#include "tensors/tensor_access.h"

/* Searches the offsets. 0: done; `*problem` names what could not be found uniquely, or is NULL when all was.
 * -1: exception. */
int tensor_calibrate(TensorOffsets *out, const char **problem);

#endif
