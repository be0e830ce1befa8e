/* Tensors from C, without torch headers.
 *
 * In:  a PyObject* that `tensor_check` accepts.
 * Out: its properties. They are read at calibrated offsets of TensorImpl and StorageImpl (see
 *      tensor_calibrate.c); where the layout of this torch could not be found, torch's C and Python accessors
 *      read them.
 *
 *     tensor_sizes(t)[0]      -> t.size(0), 1 ns
 *     tensor_new_strided(...) -> torch.empty_strided(...), 0.4 us
 *
 * Nothing here may be called before `_capture.calibrate()` has succeeded (tensor_access_ready() tells). All
 * functions need the GIL.
 */
#ifndef CAPTURE_TENSOR_ACCESS_H
#define CAPTURE_TENSOR_ACCESS_H

#include <Python.h>
#include <stdint.h>

/* c10::ScalarType by number. */
enum {
    DTYPE_UINT8 = 0,
    DTYPE_INT8 = 1,
    DTYPE_INT16 = 2,
    DTYPE_INT32 = 3,
    DTYPE_INT64 = 4,
    DTYPE_FLOAT16 = 5,
    DTYPE_FLOAT32 = 6,
    DTYPE_FLOAT64 = 7,
    DTYPE_COMPLEX64 = 9,
    DTYPE_COMPLEX128 = 10,
    DTYPE_BOOL = 11,
    DTYPE_BFLOAT16 = 15,
};

/* Byte offsets. by_offset is 0 where calibration found no unique layout: then accessors are used. */
typedef struct {
    int ready;
    int by_offset;
    int forced;          /* the caller asked for accessors (tests) */
    const char *problem; /* the property that was not found, or NULL */
    int storage, autograd_meta, version_counter, ndim, sizes, strides, storage_offset, numel, dtype, device,
        keys;                                   /* in TensorImpl */
    int pyobj;                                  /* in TensorImpl: its Python object */
    int storage_data, storage_nbytes;           /* in StorageImpl */
    int version_value;                          /* in VersionCounter, u32 */
    int meta_grad, meta_grad_fn, meta_requires; /* in AutogradMeta */
} TensorOffsets;
extern TensorOffsets tensor_offsets;

int tensor_access_ready(void);

/* 1 for a torch.Tensor or a subclass. */
int tensor_check(PyObject *object);
/* 1 for exactly torch.Tensor or torch.nn.Parameter: no Python override can sit on it. */
int tensor_check_exact(PyObject *object);
/* 1 for an exact tensor (tensor_check_exact) that is dense, strided, on the CPU and without a conjugate,
 * negative or other special dispatch key: its elements may be read at data_ptr by sizes and strides. */
int tensor_is_plain(PyObject *object);

/* The first element (storage data + storage offset). NULL for tensors without elements or memory. */
void *tensor_data_ptr(PyObject *tensor);
int tensor_ndim(PyObject *tensor);
/* `ndim` items each, in elements; valid until the tensor is resized or freed. */
const int64_t *tensor_sizes(PyObject *tensor);
const int64_t *tensor_strides(PyObject *tensor);
int64_t tensor_storage_offset(PyObject *tensor);
int64_t tensor_numel(PyObject *tensor);
/* c10::ScalarType. */
int tensor_dtype(PyObject *tensor);
/* Bytes of an element; 0 for a dtype that is unknown here. */
int tensor_dtype_size(int dtype);
/* The device type (0 is CPU) in the low byte, its index (0xff: none) in the next. */
int tensor_device(PyObject *tensor);
/* The raw DispatchKeySet of the tensor alone. */
uint64_t tensor_dispatch_keys(PyObject *tensor);
int tensor_requires_grad(PyObject *tensor);
int tensor_is_leaf(PyObject *tensor);
/* Equal for two tensors that share memory. It is the storage's data pointer; where that is NULL the storage
 * itself; without a storage the TensorImpl. */
uintptr_t tensor_storage_key(PyObject *tensor);

uint32_t tensor_version(PyObject *tensor);
/* Every write from native code has to call this: it raises the version, which autograd compares for saved
 * tensors. Inference tensors have no version: nothing is done. */
void tensor_bump_version(PyObject *tensor);

/* A new CPU tensor with unset contents and no autograd history. New reference, or NULL with an exception. */
PyObject *tensor_new_strided(int dtype, int ndim, const int64_t *sizes, const int64_t *strides);
/* as_strided of `base`, done by torch itself: a view that autograd knows (`_base`, shared version counter).
 * `offset` counts elements from the start of the storage. */
PyObject *tensor_as_view(PyObject *base, int ndim, const int64_t *sizes, const int64_t *strides,
                         int64_t offset);
/* The same memory and version as a tensor that is no view. */
PyObject *tensor_detached(PyObject *tensor);
/* Wraps an AtenTensorHandle (of aoti_torch_*) and takes it over. New reference, or NULL with an exception
 * (the handle is freed then too). */
PyObject *tensor_from_handle(void *handle);
/* The AtenTensorHandle inside a tensor: borrowed, valid as long as the object. */
static inline void *tensor_handle(PyObject *tensor)
{
    return (char *)tensor + 16;
}

/* `tensor.grad` of a tensor_check_exact tensor: borrowed reference (the tensor owns it), Py_None, or NULL
 * where it can't be told. Never raises. */
PyObject *tensor_grad(PyObject *tensor);

/* State of thread and process, in the order of guards/properties/global_state.py. */
#define GLOBAL_STATE_FIELDS 14
void tensor_global_state(int64_t out[GLOBAL_STATE_FIELDS]);
/* Is the state as expected? Compares the same fields, without those that the thread's dispatch keys imply. */
int tensor_global_state_is(const int64_t expected[GLOBAL_STATE_FIELDS]);

/* Reads a property at its offset; only where tensor_offsets.by_offset. */
#define TENSOR_IMPL(tensor) (*(char **)tensor_handle(tensor))
#define TENSOR_FIELD(base, offset, type) (*(type *)((base) + (offset)))
#define TENSOR_INLINE_DIMS 5 /* the sizes and strides of more dims stand behind a pointer */

int init_tensor_access(PyObject *module);

#endif
