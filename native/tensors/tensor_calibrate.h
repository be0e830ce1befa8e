#ifndef CAPTURE_TENSOR_CALIBRATE_H
#define CAPTURE_TENSOR_CALIBRATE_H

#include "tensors/tensor_access.h"

/* Searches the offsets. 0: done; `*problem` names a property that was not found uniquely, or is NULL where
 * all were. -1: exception. */
int tensor_calibrate(TensorOffsets *out, const char **problem);

#endif
