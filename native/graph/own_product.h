/* Products of matrices by generated code: own_product.c. */
#ifndef CAPTURE_OWN_PRODUCT_H
#define CAPTURE_OWN_PRODUCT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* output = left @ right + bias, in float32; strides in elements; the columns of output and bias lie side by
 * side. bias: NULL for none. */
typedef struct {
    int64_t rows, columns, inner, output_row, left_row, left_column, right_row, right_column, bias_row;
} OwnProduct;

/* Whether the generated code takes it, and has its workspace. Call it on the thread that runs the product. */
bool own_product_ready(const OwnProduct *product);

void own_product_run(const OwnProduct *product, float *output, const float *left, const float *right,
                     const float *bias);

int init_own_product(PyObject *module);

#endif
