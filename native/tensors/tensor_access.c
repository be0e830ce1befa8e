/* Properties of tensors: see tensor_access.h. */
#define PY_SSIZE_T_CLEAN
#include "tensors/huge_pages.h"
#include "tensors/tensor_access.h"
#include "tensors/tensor_calibrate.h"
#include "tensors/tensor_fallback.h"
#include "tensors/tensor_methods.h"
#include "tensors/torch_symbols.h"

#include <stddef.h>
#include <string.h>

TensorOffsets tensor_offsets;

#define LARGEST_OFFSET 256 /* the samples of a calibration are no longer */
#define AT(base, offset, type) (*(type *)((char *)(base) + (offset)))

static inline void *impl_of(PyObject *tensor)
{
    return *(void **)tensor_handle(tensor);
}

int tensor_access_ready(void)
{
    return tensor_offsets.ready;
}

int tensor_check(PyObject *object)
{
    return tensor_check_exact(object)
           || (torch_symbols.tensor_type != NULL && PyObject_TypeCheck(object, torch_symbols.tensor_type));
}

int tensor_check_exact(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    return type != NULL && (type == torch_symbols.tensor_type || type == torch_symbols.parameter_type);
}

int tensor_is_plain(PyObject *object)
{
    return tensor_check_exact(object)
           && (tensor_dispatch_keys(object) & ~torch_symbols.grad_keys) == torch_symbols.plain_keys;
}

/* --- geometry ---------------------------------------------------------------------------------------- */

int tensor_ndim(PyObject *tensor)
{
    if (!tensor_offsets.by_offset) {
        return fallback_ndim(tensor);
    }
    return (int)AT(impl_of(tensor), tensor_offsets.ndim, size_t);
}

const int64_t *tensor_sizes(PyObject *tensor)
{
    if (!tensor_offsets.by_offset) {
        return fallback_sizes(tensor);
    }
    char *impl = impl_of(tensor);
    if (AT(impl, tensor_offsets.ndim, size_t) <= TENSOR_INLINE_DIMS) {
        return &AT(impl, tensor_offsets.sizes, const int64_t);
    }
    return AT(impl, tensor_offsets.sizes, const int64_t *);
}

const int64_t *tensor_strides(PyObject *tensor)
{
    if (!tensor_offsets.by_offset) {
        return fallback_strides(tensor);
    }
    char *impl = impl_of(tensor);
    size_t ndim = AT(impl, tensor_offsets.ndim, size_t);
    if (ndim <= TENSOR_INLINE_DIMS) {
        return &AT(impl, tensor_offsets.strides, const int64_t);
    }
    return AT(impl, tensor_offsets.sizes, const int64_t *) + ndim;
}

int64_t tensor_storage_offset(PyObject *tensor)
{
    return tensor_offsets.by_offset ? AT(impl_of(tensor), tensor_offsets.storage_offset, int64_t)
                                    : fallback_storage_offset(tensor);
}

int64_t tensor_numel(PyObject *tensor)
{
    return tensor_offsets.by_offset ? AT(impl_of(tensor), tensor_offsets.numel, int64_t)
                                    : fallback_numel(tensor);
}

static const uint8_t DTYPE_BYTES[] = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4,
                                      2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1,  1, 2, 4, 8};

int tensor_dtype(PyObject *tensor)
{
    return tensor_offsets.by_offset ? AT(impl_of(tensor), tensor_offsets.dtype, uint16_t)
                                    : fallback_dtype(tensor);
}

int tensor_dtype_size(int dtype)
{
    return dtype >= 0 && dtype < (int)sizeof DTYPE_BYTES ? DTYPE_BYTES[dtype] : 0;
}

int tensor_device(PyObject *tensor)
{
    return tensor_offsets.by_offset ? AT(impl_of(tensor), tensor_offsets.device, uint16_t)
                                    : fallback_device(tensor);
}

uint64_t tensor_dispatch_keys(PyObject *tensor)
{
    return tensor_offsets.by_offset ? AT(impl_of(tensor), tensor_offsets.keys, uint64_t)
                                    : fallback_keys(tensor);
}

/* --- memory ------------------------------------------------------------------------------------------ */

void *tensor_data_ptr(PyObject *tensor)
{
    if (!tensor_offsets.by_offset) {
        return fallback_data_ptr(tensor);
    }
    char *impl = impl_of(tensor);
    char *storage = AT(impl, tensor_offsets.storage, char *);
    char *data = storage == NULL ? NULL : AT(storage, tensor_offsets.storage_data, char *);
    if (data == NULL || AT(impl, tensor_offsets.numel, int64_t) == 0) {
        return NULL;
    }
    return data
           + AT(impl, tensor_offsets.storage_offset, int64_t)
                 * tensor_dtype_size(AT(impl, tensor_offsets.dtype, uint16_t));
}

uintptr_t tensor_storage_key(PyObject *tensor)
{
    if (!tensor_offsets.by_offset) {
        return fallback_storage_key(tensor);
    }
    char *impl = impl_of(tensor);
    char *storage = AT(impl, tensor_offsets.storage, char *);
    if (storage == NULL) {
        return (uintptr_t)impl;
    }
    uintptr_t data = AT(storage, tensor_offsets.storage_data, uintptr_t);
    return data != 0 ? data : (uintptr_t)storage;
}

/* NULL for an inference tensor: it has no version. */
static uint32_t *version_of(PyObject *tensor)
{
    char *counter = AT(impl_of(tensor), tensor_offsets.version_counter, char *);
    return counter == NULL ? NULL : &AT(counter, tensor_offsets.version_value, uint32_t);
}

uint32_t tensor_version(PyObject *tensor)
{
    if (!tensor_offsets.by_offset) {
        return fallback_version(tensor);
    }
    uint32_t *version = version_of(tensor);
    return version == NULL ? 0 : __atomic_load_n(version, __ATOMIC_RELAXED);
}

void tensor_bump_version(PyObject *tensor)
{
    if (!tensor_offsets.by_offset) {
        fallback_bump_version(tensor);
        return;
    }
    uint32_t *version = version_of(tensor);
    if (version != NULL) {
        __atomic_fetch_add(version, 1, __ATOMIC_RELAXED);
    }
}

/* --- autograd ---------------------------------------------------------------------------------------- */

static inline char *meta_of(PyObject *tensor)
{
    return AT(impl_of(tensor), tensor_offsets.autograd_meta, char *);
}

int tensor_requires_grad(PyObject *tensor)
{
    if (!tensor_offsets.by_offset) {
        return fallback_flag(tensor, FALLBACK_REQUIRES_GRAD);
    }
    char *meta = meta_of(tensor);
    if (meta == NULL) {
        return 0;
    }
    if (AT(meta, tensor_offsets.meta_requires, uint8_t)
        || AT(meta, tensor_offsets.meta_grad_fn, void *) != NULL) {
        return 1;
    }
    /* For a view that was made without grad mode, torch gives its base's answer. */
    return fallback_flag(tensor, FALLBACK_REQUIRES_GRAD) == 1;
}

int tensor_is_leaf(PyObject *tensor)
{
    if (!tensor_offsets.by_offset) {
        return fallback_flag(tensor, FALLBACK_IS_LEAF);
    }
    char *meta = meta_of(tensor);
    return meta == NULL || AT(meta, tensor_offsets.meta_grad_fn, void *) == NULL;
}

PyObject *tensor_grad(PyObject *tensor)
{
    if (!tensor_check_exact(tensor)) {
        return NULL;
    }
    if (!tensor_offsets.by_offset) {
        return fallback_grad(tensor);
    }
    char *meta = meta_of(tensor);
    char *grad = meta == NULL ? NULL : AT(meta, tensor_offsets.meta_grad, char *);
    if (grad == NULL || grad == torch_symbols.undefined_tensor) {
        return Py_None;
    }
    PyObject *object = AT(grad, tensor_offsets.pyobj, PyObject *);
    return object != NULL
               ? object
               : fallback_grad(
                   tensor); /* there is no Python object yet: torch makes it, and the gradient keeps it */
}

/* --- for tests, and for a look ----------------------------------------------------------------------- */

static PyObject *dims_tuple(const int64_t *dims, int ndim)
{
    PyObject *tuple = PyTuple_New(ndim);
    for (int i = 0; tuple != NULL && i < ndim; i++) {
        PyObject *item = PyLong_FromLongLong(dims[i]);
        if (item == NULL) {
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, i, item);
    }
    return tuple;
}

static int require_tensor(PyObject *object)
{
    if (!tensor_offsets.ready) {
        PyErr_SetString(PyExc_RuntimeError,
                        "tensors can't be read before _capture.calibrate() has been called");
        return -1;
    }
    if (!tensor_check(object)) {
        PyErr_Format(PyExc_TypeError, "expected a torch.Tensor, got %.200s", Py_TYPE(object)->tp_name);
        return -1;
    }
    return 0;
}

static PyObject *info(PyObject *module, PyObject *t)
{
    if (require_tensor(t) < 0) {
        return NULL;
    }
    int ndim = tensor_ndim(t);
    PyObject *sizes = dims_tuple(tensor_sizes(t), ndim), *strides = dims_tuple(tensor_strides(t), ndim);
    if (sizes == NULL || strides == NULL) {
        Py_XDECREF(sizes);
        Py_XDECREF(strides);
        return NULL;
    }
    PyObject *grad = tensor_grad(t);
    return Py_BuildValue(
        "{s:i,s:N,s:N,s:L,s:L,s:i,s:i,s:i,s:K,s:K,s:K,s:I,s:O,s:O,s:O,s:O}", "ndim", ndim, "sizes", sizes,
        "strides", strides, "storage_offset", (long long)tensor_storage_offset(t), "numel",
        (long long)tensor_numel(t), "dtype", tensor_dtype(t), "device_type", tensor_device(t) & 0xff,
        "device_index", (int)(int8_t)(tensor_device(t) >> 8), "dispatch_keys",
        (unsigned long long)tensor_dispatch_keys(t), "data_ptr",
        (unsigned long long)(uintptr_t)tensor_data_ptr(t), "storage_key",
        (unsigned long long)tensor_storage_key(t), "version", (unsigned int)tensor_version(t),
        "requires_grad", tensor_requires_grad(t) ? Py_True : Py_False, "is_leaf",
        tensor_is_leaf(t) ? Py_True : Py_False, "is_plain", tensor_is_plain(t) ? Py_True : Py_False, "grad",
        grad == NULL ? Py_Ellipsis : grad);
}

static PyObject *bump_version(PyObject *module, PyObject *t)
{
    if (require_tensor(t) < 0) {
        return NULL;
    }
    tensor_bump_version(t);
    Py_RETURN_NONE;
}

static PyObject *global_state(PyObject *module, PyObject *ignored)
{
    int64_t state[GLOBAL_STATE_FIELDS];
    if (!tensor_offsets.ready) {
        PyErr_SetString(PyExc_RuntimeError, "call _capture.calibrate() first");
        return NULL;
    }
    tensor_global_state(state);
    return dims_tuple(state, GLOBAL_STATE_FIELDS);
}

/* What calibration finds, by name. */
static const struct {
    const char *name;
    size_t place;
} FIELDS[] = {
#define FIELD(name)                                                                                          \
    {                                                                                                        \
#name, offsetof(TensorOffsets, name)                                                                 \
    }
    FIELD(storage),        FIELD(autograd_meta),  FIELD(version_counter),
    FIELD(ndim),           FIELD(sizes),          FIELD(strides),
    FIELD(storage_offset), FIELD(numel),          FIELD(dtype),
    FIELD(device),         FIELD(keys),           FIELD(pyobj),
    FIELD(storage_data),   FIELD(storage_nbytes), FIELD(version_value),
    FIELD(meta_grad),      FIELD(meta_grad_fn),   FIELD(meta_requires),
#undef FIELD
};
#define FIELD_COUNT (sizeof FIELDS / sizeof *FIELDS)
#define FIELD_OF(offsets, i) (*(int *)((char *)(offsets) + FIELDS[i].place))

static PyObject *layout(PyObject *module, PyObject *ignored)
{
    PyObject *found = Py_BuildValue("{s:z}", "problem", tensor_offsets.problem);
    for (size_t i = 0; found != NULL && i < FIELD_COUNT; i++) {
        PyObject *offset = PyLong_FromLong(FIELD_OF(&tensor_offsets, i));
        if (offset == NULL || PyDict_SetItemString(found, FIELDS[i].name, offset) < 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(offset);
    }
    return found;
}

/* The offsets of a dict as `layout` gives it. 0, or -1 with ValueError: it is no such dict. */
static int read_layout(PyObject *layout, TensorOffsets *out)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        PyObject *offset = PyDict_GetItemString(layout, FIELDS[i].name);
        long value = offset != NULL && PyLong_CheckExact(offset) ? PyLong_AsLong(offset) : -1;
        if (value < 0 || value >= LARGEST_OFFSET) {
            PyErr_Clear();
            PyErr_Format(PyExc_ValueError, "no place of %s in the layout of tensors", FIELDS[i].name);
            return -1;
        }
        FIELD_OF(out, i) = (int)value;
    }
    return 0;
}

/* --- start ------------------------------------------------------------------------------------------- */

/* From now on tensors are read at these places. 0, or -1 with an exception. */
static int start(TensorOffsets found, const char *problem, int force_accessors)
{
    if (load_fallback(problem) < 0) {
        return -1;
    }
    found.by_offset = problem == NULL && !force_accessors;
    found.ready = 1;
    found.problem = problem;
    found.forced = force_accessors;
    tensor_offsets = found;
    if (load_plain_tensor() < 0) {
        tensor_offsets.ready = 0;
        return -1;
    }
    return 0;
}

/* calibrate(force_accessors=False, known=None) -> "offsets" | "accessors" */
static PyObject *calibrate(PyObject *module, PyObject *args)
{
    int force_accessors = 0;
    PyObject *known = NULL;
    const char *problem = NULL;
    TensorOffsets found = {0};
    if (!PyArg_ParseTuple(args, "|pO!", &force_accessors, &PyDict_Type, &known)) {
        return NULL;
    }
    if (!tensor_offsets.ready || tensor_offsets.forced != force_accessors) {
        if (load_torch_symbols() < 0 || load_tensor_methods() < 0
            || (known != NULL ? read_layout(known, &found) : tensor_calibrate(&found, &problem)) < 0
            || start(found, problem, force_accessors) < 0) {
            return NULL;
        }
    }
    return PyUnicode_FromString(tensor_offsets.by_offset ? "offsets" : "accessors");
}

static PyObject *is_calibrated(PyObject *module, PyObject *ignored)
{
    return PyBool_FromLong(tensor_access_ready());
}

static PyObject *is_plain(PyObject *module, PyObject *object)
{
    if (!tensor_access_ready()) {
        PyErr_SetString(PyExc_RuntimeError, "call _capture.calibrate() first");
        return NULL;
    }
    return PyBool_FromLong(tensor_is_plain(object));
}

static PyMethodDef methods[] = {
    {"is_plain", is_plain, METH_O,
     "Is it a tensor of no special kind, whose elements native code may read? Not those of vmap, subclasses, "
     "sparse ones ..."},
    {"calibrate", calibrate, METH_VARARGS,
     "calibrate(force_accessors=False, known=None) -> 'offsets' | 'accessors'\n\nFind out how to read "
     "tensors "
     "of this torch. Needed once, after `import torch`. known: what `tensor_layout` said in another process "
     "with the same `torch_build`. ValueError where it is none."},
    {"is_calibrated", is_calibrated, METH_NOARGS, "Whether tensors can be read."},
    {"tensor_info", info, METH_O, "tensor_info(t) -> dict of all that native code reads of a tensor"},
    {"tensor_layout", layout, METH_NOARGS,
     "Byte offsets found by calibrate(), and the property that it did not find (or None)."},
    {"tensor_bump_version", bump_version, METH_O, "Raise the version counter, as a write in place does."},
    {"global_state", global_state, METH_NOARGS,
     "The fields of guards.properties.global_state.GlobalState as native code reads them."},
    {NULL, NULL, 0, NULL},
};

int init_tensor_access(PyObject *module)
{
    return PyModule_AddFunctions(module, methods) < 0 || init_huge_pages(module) < 0
                   || init_torch_build(module) < 0
               ? -1
               : init_tensor_new(module);
}
