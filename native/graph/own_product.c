/* Products of matrices by the function that codegen/llvm/dense/open_product.py writes.
 *
 * In:  its address, from `_capture.set_own_product`; sizes, strides and bare pointers.
 * Out: the product, with the bits of BLAS: codegen/launch/own_product.py has compared them.
 *
 * The function is compiled when it would have saved a part of what that costs. Until then BLAS computes the
 * products and a clock runs: what they take, less what the function would, is added up.
 *
 * An output with fewer columns than its tile has is computed as its transpose, and turned: its elements are
 * the same sums, in the same order.
 *
 * The workspace of a thread grows with the largest product, and goes with the thread.
 */
#include "graph/own_product.h"

#include <pthread.h>
#include <stdlib.h>

#include "convolution/tiles.h"
#include "graph/clock.h"

#define ALIGNMENT 64

/* Nanoseconds of a call of the function beside its multiplications. Measured from 8 x 64 x 64 on. */
#define CALL 300
/* BLAS takes at most so many times as long: what took longer was interrupted. */
#define MOST 4

typedef void (*Product)(float *, const float *, const float *, const float *, void *, int64_t, int64_t,
                        int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
typedef int64_t (*NeededWorkspace)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                                   int64_t);

static Product run_product;
static NeededWorkspace needed_workspace;
static int64_t least_rows, least_columns;

static PyObject *compile_it; /* NULL: nobody waits for it */
static int64_t saved, worth; /* nanoseconds */
static int64_t rate;         /* multiplications of the function in a nanosecond */

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

int64_t own_product_watch(const OwnProduct *product)
{
    return compile_it != NULL && is_taken(product) ? nanoseconds() : 0;
}

/* Several threads may do so, each for its share of the products. */
void own_product_watched(const OwnProduct *product, int64_t count, int64_t begin)
{
    int64_t taken = nanoseconds() - begin;
    int64_t own = count * (CALL + product->rows * product->columns * product->inner / rate);
    int64_t more = (taken < MOST * own ? taken : MOST * own) - own;
    if (more > 0) {
        __atomic_fetch_add(&saved, more, __ATOMIC_RELAXED);
    }
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

int own_product_compile_if_due(void)
{
    if (compile_it == NULL || __atomic_load_n(&saved, __ATOMIC_RELAXED) < worth) {
        return 0;
    }
    PyObject *function = compile_it; /* it is called once */
    compile_it = NULL;
    PyThreadState *tstate = PyThreadState_Get();
    PyThreadState_EnterTracing(tstate); /* what traces or profiles the program sees none of it */
    PyObject *result = PyObject_CallNoArgs(function);
    PyThreadState_LeaveTracing(tstate);
    Py_DECREF(function);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* await_own_product(function or None, nanoseconds, multiplications, least rows, least columns) */
static PyObject *await_own_product(PyObject *module, PyObject *args)
{
    PyObject *function;
    long long nanoseconds, multiplications, rows, columns;
    if (!PyArg_ParseTuple(args, "OLLLL", &function, &nanoseconds, &multiplications, &rows, &columns)) {
        return NULL;
    }
    if (multiplications < 1) {
        return PyErr_Format(PyExc_ValueError, "%lld multiplications in a nanosecond", multiplications);
    }
    least_rows = rows;
    least_columns = columns;
    saved = 0;
    worth = nanoseconds;
    rate = multiplications;
    Py_XSETREF(compile_it, function == Py_None ? NULL : Py_NewRef(function));
    Py_RETURN_NONE;
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
    {"await_own_product", await_own_product, METH_VARARGS,
     "await_own_product(function, nanoseconds, multiplications, rows, columns): the function is called in "
     "front of a graph, once the generated product would have saved so much time for outputs of that least "
     "size, if it does so many multiplications in a nanosecond. None: nobody waits for it."},
    {NULL, NULL, 0, NULL},
};

int init_own_product(PyObject *module)
{
    if (pthread_key_create(&ends_with_thread, free) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "the process has no more keys for data of a thread");
        return -1;
    }
    return PyModule_AddFunctions(module, methods);
}
