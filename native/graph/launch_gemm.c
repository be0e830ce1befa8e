/* Products of matrices by the BLAS that torch links, on bare pointers.
 *
 * In:  row-major C = A B, seen as column-major C' = B' A'. The plan has swapped the operands already, and
 * gives sizes, leading dimensions and transposes as BLAS wants them. Out: C in place.
 */
#include "graph/compiled_graph.h"

#include <dlfcn.h>
#include <string.h>

#include "graph/parallel.h"
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
 */
typedef struct {
    int64_t dtype, transpose_a, transpose_b, m, n, k, lda, ldb, ldc, a, b, c, alpha, beta, batch, step_a,
        step_b, step_c;
} Gemm;

static double as_double(int64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

typedef struct {
    const Gemm *gemm;
    char *a, *b, *c;
} Operands;

static int32_t products(const void *data, int64_t begin, int64_t end)
{
    const Operands *operands = data;
    const Gemm *gemm = operands->gemm;
    char *a = operands->a, *b = operands->b, *c = operands->c;
    const char *ta = gemm->transpose_a ? "T" : "N", *tb = gemm->transpose_b ? "T" : "N";
    int m = (int)gemm->m, n = (int)gemm->n, k = (int)gemm->k, lda = (int)gemm->lda, ldb = (int)gemm->ldb,
        ldc = (int)gemm->ldc;
    double alpha = as_double(gemm->alpha), beta = as_double(gemm->beta);
    float alpha_single = (float)alpha, beta_single = (float)beta;
    for (int64_t i = begin; i < end; i++) {
        if (gemm->dtype == DTYPE_FLOAT32) {
            sgemm(ta, tb, &m, &n, &k, &alpha_single, (float *)a + i * gemm->step_a, &lda,
                  (float *)b + i * gemm->step_b, &ldb, &beta_single, (float *)c + i * gemm->step_c, &ldc);
        } else {
            dgemm(ta, tb, &m, &n, &k, &alpha, (double *)a + i * gemm->step_a, &lda,
                  (double *)b + i * gemm->step_b, &ldb, &beta, (double *)c + i * gemm->step_c, &ldc);
        }
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
    Operands operands = {gemm, run->slots[gemm->a].data, run->slots[gemm->b].data, run->slots[gemm->c].data};
    if (gemm->batch * gemm->m * gemm->n * gemm->k < LONG_WORK) {
        products(&operands, 0, gemm->batch);
    } else {
        Py_BEGIN_ALLOW_THREADS parallel_run(products, &operands, gemm->batch, parts_of(gemm));
        Py_END_ALLOW_THREADS
    }
    return 0;
}

int run_bias(Run *run, const int64_t *operand)
{
    int64_t size = operand[0] == DTYPE_FLOAT32 ? 4 : 8, rows = operand[3], columns = operand[4];
    char *target = run->slots[operand[1]].data, *bias = run->slots[operand[2]].data;
    int64_t row_step = operand[5] * size, column_step = operand[6] * size;
    for (int64_t row = 0; row < rows; row++, bias += row_step) {
        if (column_step == size) {
            memcpy(target, bias, (size_t)(columns * size));
            target += columns * size;
            continue;
        }
        for (int64_t column = 0; column < columns; column++, target += size) {
            memcpy(target, bias + column * column_step, (size_t)size);
        }
    }
    return 0;
}
