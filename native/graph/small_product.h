/* Products of small float32 matrices, such as those of attention with few positions (small_product.c). */
#ifndef CAPTURE_SMALL_PRODUCT_H
#define CAPTURE_SMALL_PRODUCT_H

#include "graph/own_product.h"

/* Whether `small_product_run` computes it, faster than BLAS. */
bool small_product_takes(const OwnProduct *product);

/* output = left @ right */
void small_product_run(const OwnProduct *product, float *output, const float *left, const float *right);

#endif
