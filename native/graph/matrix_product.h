/* One product of matrices on bare pointers, for native code outside of a launch plan (launch_gemm.c). */
#ifndef CAPTURE_MATRIX_PRODUCT_H
#define CAPTURE_MATRIX_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

/* output = left @ right + addend, all row-major and without gaps. `transposed`: the memory of `right` has its
 * transpose. `addend`: NULL for none. */
typedef struct {
    bool is_double, transposed;
    int64_t rows, columns, inner;
    const void *left, *right, *addend;
    void *output;
} MatrixProduct;

/* It needs no GIL. `init_gemm` has found BLAS. No size is 0. */
void matrix_product(const MatrixProduct *product);

#endif
