/* Tensor properties by torch's own accessors, for a build of torch whose layout was not found. They are ten
 * to a hundred times slower.
 *
 * Where C has no accessor, a method of TensorBase that is implemented in C answers; for exact tensors
 * (tensor_check_exact) such a method runs no Python code. For a subclass it could, so there the answer is
 * "unknown" (-1 or 0), which no guard accepts. No function here leaves an exception set. */
#ifndef CAPTURE_TENSOR_FALLBACK_H
#define CAPTURE_TENSOR_FALLBACK_H

#include <Python.h>
#include <stdint.h>

typedef enum { FALLBACK_REQUIRES_GRAD, FALLBACK_IS_LEAF } FallbackFlag;

/* 0, or -1 with an ImportError. It names `problem` (what calibration did not find) and what is missing here.
 */
int load_fallback(const char *problem);

int fallback_ndim(PyObject *tensor);
const int64_t *fallback_sizes(PyObject *tensor);
const int64_t *fallback_strides(PyObject *tensor);
int64_t fallback_storage_offset(PyObject *tensor);
int64_t fallback_numel(PyObject *tensor);
int fallback_dtype(PyObject *tensor);
int fallback_device(PyObject *tensor);
void *fallback_data_ptr(PyObject *tensor);
uint64_t fallback_keys(PyObject *tensor);
uintptr_t fallback_storage_key(PyObject *tensor);
uint32_t fallback_version(PyObject *tensor);
void fallback_bump_version(PyObject *tensor);
int fallback_flag(PyObject *tensor, FallbackFlag flag);
/* Borrowed, Py_None, or NULL where it can't be told. */
PyObject *fallback_grad(PyObject *tensor);

#endif
