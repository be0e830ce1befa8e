/* Products of matrices by the function that codegen/llvm/dense/open_product.py writes.
 *
 * In:  the object files that setup.py links; sizes, strides and bare pointers.
 * Out: the product, with the bits of BLAS: codegen/launch/own_product.py has compared them, and names the
 *      function with `_capture.set_own_product`.
 *
 * An output with fewer columns than its tile has is computed as its transpose, and turned: its elements are
 * the same sums, in the same order.
 *
 * The workspace of a thread grows with the largest product, and goes with the thread.
 */
#include "graph/own_product.h"

#include <pthread.h>
#include <stdlib.h>

#include "capture_native.h"
#include "convolution/tiles.h"

#define ALIGNMENT 64

typedef void (*Product)(float *, const float *, const float *, const float *, void *, int64_t, int64_t,
                        int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
typedef int64_t (*NeededWorkspace)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                                   int64_t);

/* By level of x86-64. A build for another processor has none of them. */
extern CAPTURE_WEAK char product_x86_64_v3[], product_x86_64_v3_workspace[];
extern CAPTURE_WEAK char product_x86_64_v4[], product_x86_64_v4_workspace[];

static Product run_product;
static NeededWorkspace needed_workspace;
static int64_t least_rows, least_columns;

static pthread_key_t ends_with_thread;
static _Thread_local void *workspace;
static _Thread_local size_t workspace_size;

#define NUMBERS(p)                                                                                           \
    (p)->rows, (p)->columns, (p)->inner, (p)->output_row, (p)->left_row, (p)->left_column, (p)->right_row,   \
        (p)->right_column, (p)->bias_row

/* Columns from which on the transpose has the bits of BLAS (with fewer ones BLAS has sums of its own, and
 * narrow_product.c is fast), and inner elements that pay for turning. */
enum { LEAST_TURNED = 12, LEAST_INNER_TURNED = 16 };

static bool is_turned(const OwnProduct *product)
{
    return product->columns < least_columns && product->columns >= LEAST_TURNED
           && product->columns >= least_rows && product->rows >= least_columns
           && product->inner >= LEAST_INNER_TURNED && tiles_for(1) != NULL; /* `transpose` needs AVX2 */
}

static bool is_large_enough(const OwnProduct *product)
{
    return product->rows >= least_rows && product->columns >= least_columns;
}

static bool is_taken(const OwnProduct *product)
{
    return is_large_enough(product) || is_turned(product);
}

/* Its output, and its bias, have no gaps. */
static OwnProduct transpose_of(const OwnProduct *product)
{
    return (OwnProduct){.rows = product->columns,
                        .columns = product->rows,
                        .inner = product->inner,
                        .output_row = product->rows,
                        .left_row = product->right_column,
                        .left_column = product->right_row,
                        .right_row = product->left_column,
                        .right_column = product->left_row,
                        .bias_row = product->rows};
}

/* Bytes of the output or the bias of the transpose, up to where the next part of a workspace may begin. */
static size_t turned_bytes(const OwnProduct *product)
{
    const size_t size = (size_t)(product->rows * product->columns) * sizeof(float);
    return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

static size_t needed_bytes(const OwnProduct *product)
{
    const OwnProduct transposed = transpose_of(product);
    return is_turned(product) ? (size_t)needed_workspace(NUMBERS(&transposed)) + 2 * turned_bytes(product)
                              : (size_t)needed_workspace(NUMBERS(product));
}

bool own_product_ready(const OwnProduct *product)
{
    if (run_product == NULL || !is_taken(product)) {
        return false;
    }
    size_t needed = needed_bytes(product);
    if (needed <= workspace_size) {
        return true;
    }
    void *larger = aligned_alloc(ALIGNMENT, (needed + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1));
    if (larger == NULL || pthread_setspecific(ends_with_thread, larger) != 0) {
        free(larger);
        return false; /* BLAS may still have the memory that it needs */
    }
    free(workspace);
    workspace = larger;
    workspace_size = needed;
    return true;
}

static void run_turned(const OwnProduct *product, float *output, const float *left, const float *right,
                       const float *bias)
{
    const OwnProduct transposed = transpose_of(product);
    char *const turned = workspace, *const turned_bias = turned + turned_bytes(product);
    if (bias != NULL) {
        transpose(bias, product->bias_row, product->rows, product->columns, (float *)turned_bias,
                  product->rows);
    }
    run_product((float *)turned, right, left, bias == NULL ? NULL : (float *)turned_bias,
                turned_bias + turned_bytes(product), NUMBERS(&transposed));
    transpose((float *)turned, product->rows, product->columns, product->rows, output, product->output_row);
}

void own_product_run(const OwnProduct *product, float *output, const float *left, const float *right,
                     const float *bias)
{
    if (is_turned(product)) {
        run_turned(product, output, left, right, bias);
        return;
    }
    run_product(output, left, right, bias, workspace, NUMBERS(product));
}

/* set_own_product(address of the product, of its workspace's size, least rows, least columns) */
static PyObject *set_own_product(PyObject *module, PyObject *args)
{
    unsigned long long product, needed;
    long long rows, columns;
    if (!PyArg_ParseTuple(args, "KKLL", &product, &needed, &rows, &columns)) {
        return NULL;
    }
    needed_workspace = (NeededWorkspace)(uintptr_t)needed;
    least_rows = rows;
    least_columns = columns;
    run_product = (Product)(uintptr_t)product;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"set_own_product", set_own_product, METH_VARARGS,
     "set_own_product(product, workspace, rows, columns): addresses of the generated product of float32 "
     "matrices and of the function that tells the bytes of its workspace; the least output that it takes. "
     "0 as the first address: BLAS computes all products."},
    {NULL, NULL, 0, NULL},
};

static int add_built_products(PyObject *module)
{
    const struct {
        const char *level;
        const char *product, *workspace;
    } built[] = {
        {"x86-64-v3", product_x86_64_v3, product_x86_64_v3_workspace},
        {"x86-64-v4", product_x86_64_v4, product_x86_64_v4_workspace},
    };
    PyObject *addresses = PyDict_New();
    if (addresses == NULL) {
        return -1;
    }
    for (size_t i = 0; i < sizeof(built) / sizeof(built[0]); i++) {
        if (built[i].product == NULL) {
            continue;
        }
        PyObject *pair = Py_BuildValue("KK", (unsigned long long)(uintptr_t)built[i].product,
                                       (unsigned long long)(uintptr_t)built[i].workspace);
        if (pair == NULL || PyDict_SetItemString(addresses, built[i].level, pair) < 0) {
            Py_XDECREF(pair);
            Py_DECREF(addresses);
            return -1;
        }
        Py_DECREF(pair);
    }
    int status = PyModule_AddObjectRef(module, "built_products", addresses);
    Py_DECREF(addresses);
    return status;
}

int init_own_product(PyObject *module)
{
    if (pthread_key_create(&ends_with_thread, free) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "the process has no more keys for data of a thread");
        return -1;
    }
    return PyModule_AddFunctions(module, methods) < 0 ? -1 : add_built_products(module);
}
