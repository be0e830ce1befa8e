/* New tensors and views from C.
 *
 * In:  sizes and strides in elements.
 * Out: a new reference to a torch.Tensor, or NULL with an exception.
 *
 * No C++ exception passes through: the C ABI of torch returns error codes.
 */
#define PY_SSIZE_T_CLEAN
#include "tensors/huge_pages.h"
#include "tensors/tensor_access.h"
#include "tensors/torch_symbols.h"

static PyObject *as_strided, *detach; /* methods of torch._C.TensorBase */

PyObject *tensor_from_handle(void *handle)
{
    PyObject *tensor = torch_symbols.wrap(handle);
    torch_symbols.delete_tensor(handle); /* the object has a reference of its own */
    if (tensor == NULL && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_RuntimeError, "torch could not wrap a tensor");
    }
    return tensor;
}

/* An allocation that fails throws, and no exception may pass through C. So this way is taken only for sizes
 * that fail where the process is lost anyway. */
enum {
    SURE_TO_FIT = 1 << 19
}; /* in elements; a block of more than 4 MiB is no small one, see huge_pages.h */

static int is_small(int ndim, const int64_t *sizes)
{
    int64_t count = 1;
    for (int i = 0; i < ndim; i++) {
        count *= sizes[i] > SURE_TO_FIT ? SURE_TO_FIT + 1 : sizes[i];
        if (count > SURE_TO_FIT) {
            return 0;
        }
    }
    return 1;
}

static PyObject *new_small(int dtype, int ndim, const int64_t *sizes, const int64_t *strides)
{
    void *tensor = NULL;
    torch_symbols.empty_cpu(&tensor, sizes, (size_t)ndim, strides, (size_t)ndim, (int8_t)dtype, false);
    PyObject *object = torch_symbols.wrap_moved(&tensor);
    if (object == NULL && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_RuntimeError, "torch could not wrap a tensor");
    }
    return object;
}

PyObject *tensor_new_strided(int dtype, int ndim, const int64_t *sizes, const int64_t *strides)
{
    if (torch_symbols.wrap_moved != NULL && torch_symbols.empty_cpu != NULL && is_small(ndim, sizes)) {
        return new_small(dtype, ndim, sizes, strides);
    }
    Handle handle = NULL;
    if (torch_symbols.empty_strided(ndim, sizes, strides, dtype, 0, 0, &handle) != 0) {
        PyErr_Format(PyExc_RuntimeError, "torch could not allocate a tensor of %d dims and scalar type %d",
                     ndim, dtype);
        return NULL;
    }
    PyObject *tensor = tensor_from_handle(handle);
    if (tensor != NULL) {
        welcome_huge_pages(tensor_data_ptr(tensor),
                           (size_t)tensor_numel(tensor) * (size_t)tensor_dtype_size(dtype));
    }
    return tensor;
}

static PyObject *dims_tuple(const int64_t *dims, int ndim)
{
    PyObject *tuple = PyTuple_New(ndim);
    for (int i = 0; tuple != NULL && i < ndim; i++) {
        PyObject *item = PyLong_FromLongLong(dims[i]);
        if (item == NULL) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SET_ITEM(tuple, i, item);
        }
    }
    return tuple;
}

static int find_method(PyObject **method, const char *name)
{
    if (*method == NULL) {
        *method = PyObject_GetAttrString((PyObject *)torch_symbols.tensor_type, name);
    }
    return *method == NULL ? -1 : 0;
}

PyObject *tensor_as_view(PyObject *base, int ndim, const int64_t *sizes, const int64_t *strides,
                         int64_t offset)
{
    PyObject *args[4] = {base, dims_tuple(sizes, ndim), dims_tuple(strides, ndim),
                         PyLong_FromLongLong(offset)};
    PyObject *view = NULL;
    if (args[1] != NULL && args[2] != NULL && args[3] != NULL
        && find_method(&as_strided, "as_strided") == 0) {
        view = PyObject_Vectorcall(as_strided, args, 4, NULL);
    }
    for (int i = 1; i < 4; i++) {
        Py_XDECREF(args[i]);
    }
    return view;
}

PyObject *tensor_detached(PyObject *tensor)
{
    return find_method(&detach, "detach") < 0 ? NULL : PyObject_Vectorcall(detach, &tensor, 1, NULL);
}

/* --- for tests --------------------------------------------------------------------------------------- */

#define MAX_TEST_DIMS 16

static int read_dims(PyObject *tuple, int64_t *out)
{
    Py_ssize_t ndim = PyTuple_GET_SIZE(tuple);
    if (ndim > MAX_TEST_DIMS) {
        PyErr_Format(PyExc_ValueError, "at most %d dims here, got %zd", MAX_TEST_DIMS, ndim);
        return -1;
    }
    for (Py_ssize_t i = 0; i < ndim; i++) {
        out[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
    }
    return PyErr_Occurred() ? -1 : (int)ndim;
}

static int read_geometry(PyObject *sizes, PyObject *strides, int64_t *out_sizes, int64_t *out_strides)
{
    if (!tensor_access_ready()) {
        PyErr_SetString(PyExc_RuntimeError, "call _capture.calibrate() first");
        return -1;
    }
    int ndim = read_dims(sizes, out_sizes), also = ndim < 0 ? -1 : read_dims(strides, out_strides);
    if (ndim >= 0 && also >= 0 && ndim != also) {
        PyErr_Format(PyExc_ValueError, "%d sizes and %d strides", ndim, also);
        return -1;
    }
    return also < 0 ? -1 : ndim;
}

static PyObject *new_strided(PyObject *module, PyObject *args)
{
    int dtype;
    PyObject *sizes, *strides;
    int64_t size_words[MAX_TEST_DIMS], stride_words[MAX_TEST_DIMS];
    if (!PyArg_ParseTuple(args, "iO!O!", &dtype, &PyTuple_Type, &sizes, &PyTuple_Type, &strides)) {
        return NULL;
    }
    int ndim = read_geometry(sizes, strides, size_words, stride_words);
    return ndim < 0 ? NULL : tensor_new_strided(dtype, ndim, size_words, stride_words);
}

static PyObject *as_view(PyObject *module, PyObject *args)
{
    PyObject *base, *sizes, *strides;
    long long offset;
    int64_t size_words[MAX_TEST_DIMS], stride_words[MAX_TEST_DIMS];
    if (!PyArg_ParseTuple(args, "OO!O!L", &base, &PyTuple_Type, &sizes, &PyTuple_Type, &strides, &offset)) {
        return NULL;
    }
    int ndim = read_geometry(sizes, strides, size_words, stride_words);
    if (ndim < 0 || !tensor_check(base)) {
        return PyErr_Occurred() ? NULL
                                : PyErr_Format(PyExc_TypeError, "expected a torch.Tensor, got %.200s",
                                               Py_TYPE(base)->tp_name);
    }
    return tensor_as_view(base, ndim, size_words, stride_words, offset);
}

static PyMethodDef methods[] = {
    {"tensor_new_strided", new_strided, METH_VARARGS,
     "tensor_new_strided(scalar_type, sizes, strides) -> Tensor with unset contents"},
    {"tensor_as_view", as_view, METH_VARARGS, "tensor_as_view(base, sizes, strides, storage_offset) -> view"},
    {NULL, NULL, 0, NULL},
};

int init_tensor_new(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
