/* Products of float32 matrices of which one is narrow: narrow_product.c. */
#ifndef CAPTURE_NARROW_PRODUCT_H
#define CAPTURE_NARROW_PRODUCT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/own_product.h"

/* Whether it is faster here than BLAS. That depends on sizes and strides alone, and on the processor. */
bool narrow_product_takes(const OwnProduct *product);

/* output = left @ right, or output += left @ right. Large ones are divided between threads, which does not
 * change the result. */
void narrow_product_run(const OwnProduct *product, bool adds, float *output, const float *left,
                        const float *right);

int init_narrow_product(PyObject *module);

#endif
