/* Tensor properties by torch's own accessors, for a build of torch whose layout could not be calibrated. Ten
 * to hundred times slower.
 *
 * What has no accessor in C is asked of methods of TensorBase implemented in C; those run no Python code for
 * tensor_check_exact tensors. For a subclass they would, so there they answer "unknown" (-1 or 0), which no
 * guard accepts. None of these leaves an exception set. */
#ifndef CAPTURE_TENSOR_FALLBACK_H
#define CAPTURE_TENSOR_FALLBACK_H

#include <Python.h>
#include <stdint.h>

typedef enum { FALLBACK_REQUIRES_GRAD, FALLBACK_IS_LEAF } FallbackFlag;

/* 0, or -1 with an ImportError that names `problem` (what calibration did not find) and what is missing here.
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
