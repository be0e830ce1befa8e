/* Products of matrices by the BLAS that torch links, on bare pointers.
 *
 * In:  row-major C = A B, seen as column-major C' = B' A'. The plan has swapped the operands already, and
 * gives sizes, leading dimensions and transposes as BLAS wants them. Out: C in place.
 *
 * Generated code computes the product instead (own_product.c) where it takes it and BLAS would have one
 * thread: on several, BLAS adds in another order.
 */
#include "graph/compiled_graph.h"

#include <dlfcn.h>
#include <string.h>

#include "graph/matrix_product.h"
#include "graph/narrow_product.h"
#include "graph/own_product.h"
#include "graph/parallel.h"
#include "graph/small_product.h"
#include "tensors/tensor_access.h"

#define PART_WORK 1500000 /* so many multiplications are worth a thread: some 25 us */

typedef void (*Sgemm)(const char *, const char *, const int *, const int *, const int *, const float *,
                      const float *, const int *, const float *, const int *, const float *, float *,
                      const int *);
typedef void (*Dgemm)(const char *, const char *, const int *, const int *, const int *, const double *,
                      const double *, const int *, const double *, const int *, const double *, double *,
                      const int *);
static Sgemm sgemm;
static Dgemm dgemm;

int init_gemm(void)
{
    if (sgemm != NULL && dgemm != NULL) {
        return 0;
    }
    void *library = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
    if (library != NULL) {
        sgemm = (Sgemm)dlsym(library, "sgemm_");
        dgemm = (Dgemm)dlsym(library, "dgemm_");
    }
    if (sgemm == NULL || dgemm == NULL) {
        PyErr_SetString(PyExc_ImportError,
                        "libtorch_cpu.so is not loaded or exports no sgemm_ and dgemm_: import torch first");
        return -1;
    }
    return 0;
}

/* Operands: dtype, transposes of the first and second matrix, m n k, leading dimensions a b c, slots a b c,
 * alpha beta (bits of a double), batch, and the elements from one matrix of the batch to the next for a b c.
 * Then the bias: its slot, or -1 for none, and the elements from one row and one column to the next. With a
 * bias the batch is 1.
 */
typedef struct {
    int64_t dtype, transpose_a, transpose_b, m, n, k, lda, ldb, ldc, a, b, c, alpha, beta, batch, step_a,
        step_b, step_c, bias, bias_row, bias_column;
} Gemm;

static double as_double(int64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

typedef struct {
    const Gemm *gemm;
    char *a, *b, *c, *bias;
} Operands;

/* Whether native code may compute the product; if so, its sizes and strides. */
static bool own_product_of(const Gemm *gemm, OwnProduct *product)
{
    bool plain = as_double(gemm->beta) == 0, biased = gemm->bias >= 0 && as_double(gemm->beta) == 1;
    *product = (OwnProduct){
        .rows = gemm->n,
        .columns = gemm->m,
        .inner = gemm->k,
        .output_row = gemm->ldc,
        .left_row = gemm->transpose_b ? 1 : gemm->ldb,
        .left_column = gemm->transpose_b ? gemm->ldb : 1,
        .right_row = gemm->transpose_a ? 1 : gemm->lda,
        .right_column = gemm->transpose_a ? gemm->lda : 1,
        .bias_row = gemm->bias_row,
    };
    return gemm->dtype == DTYPE_FLOAT32 && as_double(gemm->alpha) == 1
           && gemm->k > 1 /* of one factor each, BLAS keeps the sign of a zero */
           && (plain || biased);
}

/* The bias, in each row of the output. */
static void spread_bias(const Gemm *gemm, char *target, const char *bias)
{
    int64_t size = gemm->dtype == DTYPE_FLOAT32 ? 4 : 8, columns = gemm->m;
    for (int64_t row = 0; row < gemm->n; row++, bias += gemm->bias_row * size) {
        if (gemm->bias_column == 1) {
            memcpy(target, bias, (size_t)(columns * size));
            target += columns * size;
            continue;
        }
        for (int64_t column = 0; column < columns; column++, target += size) {
            memcpy(target, bias + column * gemm->bias_column * size, (size_t)size);
        }
    }
}

static void product_by_blas(const Operands *operands, int64_t i)
{
    const Gemm *gemm = operands->gemm;
    char *a = operands->a, *b = operands->b, *c = operands->c;
    const char *ta = gemm->transpose_a ? "T" : "N", *tb = gemm->transpose_b ? "T" : "N";
    int m = (int)gemm->m, n = (int)gemm->n, k = (int)gemm->k, lda = (int)gemm->lda, ldb = (int)gemm->ldb,
        ldc = (int)gemm->ldc;
    double alpha = as_double(gemm->alpha), beta = as_double(gemm->beta);
    float alpha_single = (float)alpha, beta_single = (float)beta;
    if (operands->bias != NULL) {
        spread_bias(gemm, c, operands->bias);
    }
    if (gemm->dtype == DTYPE_FLOAT32) {
        sgemm(ta, tb, &m, &n, &k, &alpha_single, (float *)a + i * gemm->step_a, &lda,
              (float *)b + i * gemm->step_b, &ldb, &beta_single, (float *)c + i * gemm->step_c, &ldc);
    } else {
        dgemm(ta, tb, &m, &n, &k, &alpha, (double *)a + i * gemm->step_a, &lda,
              (double *)b + i * gemm->step_b, &ldb, &beta, (double *)c + i * gemm->step_c, &ldc);
    }
}

/* The products [begin, end) of the batch. */
static void narrow_products(const Operands *operands, const OwnProduct *product, int64_t begin, int64_t end)
{
    const Gemm *gemm = operands->gemm;
    if (operands->bias != NULL) {
        spread_bias(gemm, operands->c, operands->bias);
    }
    for (int64_t i = begin; i < end; i++) {
        narrow_product_run(product, operands->bias != NULL, (float *)operands->c + i * gemm->step_c,
                           (float *)operands->b + i * gemm->step_b, (float *)operands->a + i * gemm->step_a);
    }
}

static int32_t products(const void *data, int64_t begin, int64_t end)
{
    const Operands *operands = data;
    const Gemm *gemm = operands->gemm;
    OwnProduct product;
    bool is_own = own_product_of(gemm, &product);
    if (is_own && narrow_product_takes(&product)) {
        narrow_products(operands, &product, begin, end);
        return 0;
    }
    bool may_be_own = is_own && (gemm->bias < 0 || gemm->bias_column == 1) && parallel_is_alone();
    if (may_be_own && own_product_ready(&product)) {
        for (int64_t i = begin; i < end; i++) {
            own_product_run(&product, (float *)operands->c + i * gemm->step_c,
                            (float *)operands->b + i * gemm->step_b, (float *)operands->a + i * gemm->step_a,
                            (float *)operands->bias);
        }
        return 0;
    }
    if (is_own && gemm->bias < 0 && gemm->batch > 1 && small_product_takes(&product)) {
        for (int64_t i = begin; i < end; i++) {
            small_product_run(&product, (float *)operands->c + i * gemm->step_c,
                              (float *)operands->b + i * gemm->step_b,
                              (float *)operands->a + i * gemm->step_a);
        }
        return 0;
    }
    for (int64_t i = begin; i < end; i++) {
        product_by_blas(operands, i);
    }
    return 0;
}

/* The threads divide many products between them, each product on one thread. A few are left to BLAS, which
 * divides each of them between all threads. */
static int64_t parts_of(const Gemm *gemm)
{
    int64_t one = gemm->m * gemm->n * gemm->k;
    int64_t parts = parallel_parts(gemm->batch, one < PART_WORK ? PART_WORK / (one > 0 ? one : 1) + 1 : 1);
    return parts < gemm->batch ? parts : 1;
}

int run_gemm(Run *run, const int64_t *operand)
{
    const Gemm *gemm = (const Gemm *)operand;
    Operands operands = {gemm, run->slots[gemm->a].data, run->slots[gemm->b].data, run->slots[gemm->c].data,
                         gemm->bias < 0 ? NULL : run->slots[gemm->bias].data};
    if (gemm->batch * gemm->m * gemm->n * gemm->k < LONG_WORK) {
        products(&operands, 0, gemm->batch);
    } else {
        Py_BEGIN_ALLOW_THREADS parallel_run(products, &operands, gemm->batch, parts_of(gemm));
        Py_END_ALLOW_THREADS
    }
    return 0;
}

void matrix_product(const MatrixProduct *product)
{
    double one = 1;
    Gemm gemm = {.dtype = product->is_double ? DTYPE_FLOAT64 : DTYPE_FLOAT32,
                 .transpose_a = product->transposed,
                 .m = product->columns,
                 .n = product->rows,
                 .k = product->inner,
                 .lda = product->transposed ? product->inner : product->columns,
                 .ldb = product->inner,
                 .ldc = product->columns,
                 .batch = 1,
                 .bias = product->addend == NULL ? -1 : 0,
                 .bias_row = product->columns,
                 .bias_column = 1};
    memcpy(&gemm.alpha, &one, sizeof(one));
    memcpy(&gemm.beta, &one, product->addend == NULL ? 0 : sizeof(one));
    Operands operands = {&gemm, (char *)product->right, (char *)product->left, product->output,
                         (char *)product->addend};
    products(&operands, 0, 1);
}
