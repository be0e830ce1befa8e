/* Where `DirectCall` finds convolutions. */
#ifndef CAPTURE_CONVOLUTION_ENTRY_POINTS_H
#define CAPTURE_CONVOLUTION_ENTRY_POINTS_H

#include "capture_native.h"

/* By the name of an operator, or NULL. */
CAPTURE_WEAK void *convolution_entry_point(const char *name);

#endif
