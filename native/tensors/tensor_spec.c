/* Is a tensor what the plan was made for? Where only its layout differs: a copy in the right one. */
#include "graph/compiled_graph.h"

#include <string.h>

#include "tensors/tensor_access.h"

int spec_matches(const TensorSpec *spec, PyObject *tensor, bool strides_too)
{
    if (!tensor_is_plain(tensor) || tensor_dtype(tensor) != spec->dtype
        || tensor_ndim(tensor) != spec->ndim) {
        return 0;
    }
    const int64_t *sizes = tensor_sizes(tensor), *strides = tensor_strides(tensor);
    for (int64_t i = 0; i < spec->ndim; i++) {
        if (sizes[i] != spec->sizes[i]) {
            return 0;
        }
        if (strides_too && strides[i] != spec->strides[i] && sizes[i] != 1 && spec->numel != 0) {
            return 0;
        }
    }
    return 1;
}

/* No gaps and no overlaps, in some order of the dims. */
static bool is_dense(PyObject *tensor)
{
    const int64_t *sizes = tensor_sizes(tensor), *strides = tensor_strides(tensor);
    int ndim = tensor_ndim(tensor);
    for (int64_t expected = 1, found = -1, left = tensor_numel(tensor); left > 1; expected *= sizes[found]) {
        for (found = 0; found < ndim && !(strides[found] == expected && sizes[found] > 1); found++) {
        }
        if (found == ndim) {
            return false;
        }
        left /= sizes[found];
    }
    return true;
}

bool spec_takes(const TensorSpec *spec, PyObject *tensor)
{
    return spec_matches(spec, tensor, true) || !is_dense(tensor);
}

static PyObject *dims_text(const int64_t *dims, int64_t ndim)
{
    PyObject *list = PyList_New(ndim);
    for (int64_t i = 0; list != NULL && i < ndim; i++) {
        PyObject *item = PyLong_FromLongLong(dims[i]);
        if (item == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, i, item);
        }
    }
    return list;
}

static void set_mismatch(const TensorSpec *spec, PyObject *tensor, const char *what, int64_t number)
{
    PyObject *sizes = dims_text(spec->sizes, spec->ndim), *strides = dims_text(spec->strides, spec->ndim);
    if (sizes != NULL && strides != NULL && !tensor_check(tensor)) {
        PyErr_Format(PyExc_TypeError, "%s %lld: expected a tensor of size %R, got a %.200s", what,
                     (long long)number, sizes, Py_TYPE(tensor)->tp_name);
    } else if (sizes != NULL && strides != NULL) {
        PyObject *shape = PyObject_GetAttrString(tensor, "shape"),
                 *dtype = PyObject_GetAttrString(tensor, "dtype");
        if (shape != NULL && dtype != NULL) {
            PyErr_Format(PyExc_TypeError,
                         "%s %lld: expected a strided CPU tensor of size %R, stride %R and scalar type %lld, "
                         "got size %S, %S, or another kind of tensor",
                         what, (long long)number, sizes, strides, (long long)spec->dtype, shape, dtype);
        }
        Py_XDECREF(shape);
        Py_XDECREF(dtype);
    }
    Py_XDECREF(sizes);
    Py_XDECREF(strides);
}

/* A copy by torch costs 3 us. torch copies many elements faster than this function does. */
enum { FEW_ELEMENTS = 1024 };

static void copy_elements(char *to, const char *from, const int64_t *sizes, const int64_t *to_strides,
                          const int64_t *from_strides, int64_t ndim, int64_t bytes)
{
    if (ndim == 0) {
        memcpy(to, from, (size_t)bytes);
        return;
    }
    int64_t to_step = *to_strides * bytes, from_step = *from_strides * bytes;
    for (int64_t i = 0; i < *sizes; i++, to += to_step, from += from_step) {
        if (ndim == 1 && bytes == 4) {
            memcpy(to, from, 4);
        } else {
            copy_elements(to, from, sizes + 1, to_strides + 1, from_strides + 1, ndim - 1, bytes);
        }
    }
}

PyObject *spec_conform(const TensorSpec *spec, PyObject *tensor, const char *what, int64_t number)
{
    if (spec_matches(spec, tensor, true)) {
        return Py_NewRef(tensor);
    }
    if (!spec_matches(spec, tensor, false)) {
        set_mismatch(spec, tensor, what, number);
        return NULL;
    }
    PyObject *copy = tensor_new_strided((int)spec->dtype, (int)spec->ndim, spec->sizes, spec->strides);
    int bytes = tensor_dtype_size((int)spec->dtype);
    if (copy != NULL && spec->numel <= FEW_ELEMENTS && bytes > 0) {
        copy_elements(tensor_data_ptr(copy), tensor_data_ptr(tensor), spec->sizes, spec->strides,
                      tensor_strides(tensor), spec->ndim, bytes);
        return copy;
    }
    PyObject *same = copy == NULL ? NULL : PyObject_CallMethod(copy, "copy_", "O", tensor);
    if (same == NULL) {
        Py_XDECREF(copy);
        return NULL;
    }
    Py_DECREF(same);
    return copy;
}

void slot_set(Slot *slot, PyObject *tensor)
{
    if (slot->owned) {
        Py_DECREF(slot->tensor);
    }
    slot->tensor = tensor;
    slot->owned = true;
    slot->data = tensor_data_ptr(tensor);
}
