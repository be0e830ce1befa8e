/* See tensor_fallback.h. */
#define PY_SSIZE_T_CLEAN
#include "tensors/tensor_fallback.h"
#include "tensors/tensor_access.h"
#include "tensors/torch_symbols.h"

/* Getters are attributes of TensorBase; functions are callables of torch._C. */
static struct {
    PyObject *requires_grad, *is_leaf, *retains_grad, *grad, *version, *untyped_storage, *storage_data_ptr,
        *storage_cdata;
    PyObject *dispatch_keys, *increment_version, *disable_modes;
} py;

static PyObject *attribute(const char *module_name, const char *owner_name, const char *name)
{
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *owner = module == NULL || owner_name == NULL ? Py_XNewRef(module)
                                                           : PyObject_GetAttrString(module, owner_name);
    PyObject *found = owner == NULL ? NULL : PyObject_GetAttrString(owner, name);
    Py_XDECREF(owner);
    Py_XDECREF(module);
    return found;
}

int load_fallback(const char *problem)
{
    const struct {
        PyObject **target;
        const char *owner, *name;
    } wanted[] = {
        {&py.requires_grad, "TensorBase", "requires_grad"},
        {&py.is_leaf, "TensorBase", "is_leaf"},
        {&py.retains_grad, "TensorBase", "retains_grad"},
        {&py.grad, "TensorBase", "grad"},
        {&py.version, "TensorBase", "_version"},
        {&py.untyped_storage, "TensorBase", "untyped_storage"},
        {&py.storage_data_ptr, "StorageBase", "data_ptr"},
        {&py.storage_cdata, "StorageBase", "_cdata"},
        {&py.dispatch_keys, NULL, "_dispatch_keys"},
        {&py.increment_version, NULL, "_increment_version"},
        {&py.disable_modes, NULL, "DisableTorchFunction"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        Py_XSETREF(*wanted[i].target, attribute("torch._C", wanted[i].owner, wanted[i].name));
        if (*wanted[i].target == NULL) {
            PyErr_Clear();
            PyErr_Format(PyExc_ImportError,
                         "capture can't read tensors of this torch: the place of %s was not found, and "
                         "torch._C has no %s to ask; "
                         "use hook='settrace', or torch 2.13",
                         problem == NULL ? "(nothing)" : problem, wanted[i].name);
            return -1;
        }
    }
    return 0;
}

/* --- by the C ABI ------------------------------------------------------------------------------------ */

#define FROM_HANDLE(function, type, missing)                                                                 \
    type value = 0;                                                                                          \
    return torch_symbols.function(tensor_handle(tensor), &value) == 0 ? value : (missing)

static int64_t ndim_of(PyObject *tensor)
{
    FROM_HANDLE(get_dim, int64_t, -1);
}
static int32_t device_type_of(PyObject *tensor)
{
    FROM_HANDLE(get_device_type, int32_t, 0xff);
}
static int32_t device_index_of(PyObject *tensor)
{
    FROM_HANDLE(get_device_index, int32_t, -1);
}

int fallback_ndim(PyObject *tensor)
{
    return (int)ndim_of(tensor);
}
const int64_t *fallback_sizes(PyObject *tensor)
{
    FROM_HANDLE(get_sizes, int64_t *, NULL);
}
const int64_t *fallback_strides(PyObject *tensor)
{
    FROM_HANDLE(get_strides, int64_t *, NULL);
}
int64_t fallback_storage_offset(PyObject *tensor)
{
    FROM_HANDLE(get_storage_offset, int64_t, -1);
}
int64_t fallback_numel(PyObject *tensor)
{
    FROM_HANDLE(get_numel, int64_t, -1);
}
int fallback_dtype(PyObject *tensor)
{
    FROM_HANDLE(get_dtype, int32_t, -1);
}
void *fallback_data_ptr(PyObject *tensor)
{
    FROM_HANDLE(get_data_ptr, void *, NULL);
}

int fallback_device(PyObject *tensor)
{
    return (device_type_of(tensor) & 0xff) | (device_index_of(tensor) & 0xff) << 8;
}

/* --- by Python's view of the tensor ------------------------------------------------------------------ */

/* A mode of the program sees what Python asks of a tensor; it must not see what we ask. NULL where there is
 * no mode. */
static PyObject *hide_from_modes(void)
{
    if (torch_symbols.function_stack_len != NULL && torch_symbols.function_stack_len() == 0) {
        return NULL;
    }
    PyObject *disabled = PyObject_CallNoArgs(py.disable_modes);
    PyObject *entered = disabled == NULL ? NULL : PyObject_CallMethod(disabled, "__enter__", NULL);
    Py_XDECREF(entered);
    if (entered == NULL) {
        PyErr_Clear();
        Py_CLEAR(disabled);
    }
    return disabled;
}

static void end_hiding(PyObject *disabled)
{
    if (disabled != NULL) {
        Py_XDECREF(PyObject_CallMethod(disabled, "__exit__", "OOO", Py_None, Py_None, Py_None));
        Py_DECREF(disabled);
    }
    PyErr_Clear();
}

/* The value of a getter for an exact tensor: new reference, or NULL without an exception. */
static PyObject *get(PyObject *descriptor, PyObject *object)
{
    descrgetfunc getter = Py_TYPE(descriptor)->tp_descr_get;
    PyObject *disabled = hide_from_modes();
    PyObject *value = getter == NULL ? NULL : getter(descriptor, object, (PyObject *)Py_TYPE(object));
    end_hiding(disabled);
    return value;
}

/* The integer in `value` (taken over); `missing` for NULL. No exception. */
static uint64_t as_integer(PyObject *value, uint64_t missing)
{
    if (value == NULL) {
        PyErr_Clear();
        return missing;
    }
    uint64_t result = PyLong_AsUnsignedLongLongMask(value);
    Py_DECREF(value);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return missing;
    }
    return result;
}

int fallback_flag(PyObject *tensor, FallbackFlag flag)
{
    PyObject *value = tensor_check_exact(tensor)
                          ? get(flag == FALLBACK_IS_LEAF ? py.is_leaf : py.requires_grad, tensor)
                          : NULL;
    int result = value == Py_True ? 1 : value == Py_False ? 0 : -1;
    Py_XDECREF(value);
    return result;
}

uint64_t fallback_keys(PyObject *tensor)
{
    PyObject *keys = PyObject_CallOneArg(py.dispatch_keys, tensor);
    PyObject *raw = keys == NULL ? NULL : PyObject_CallMethod(keys, "raw_repr", NULL);
    Py_XDECREF(keys);
    return as_integer(raw, 0);
}

uintptr_t fallback_storage_key(PyObject *tensor)
{
    PyObject *disabled = hide_from_modes();
    PyObject *storage = tensor_check_exact(tensor) ? PyObject_CallOneArg(py.untyped_storage, tensor) : NULL;
    end_hiding(disabled);
    if (storage == NULL) {
        return (uintptr_t)tensor;
    }
    uint64_t data = as_integer(PyObject_CallOneArg(py.storage_data_ptr, storage), 0);
    uint64_t key = data != 0 ? data : as_integer(get(py.storage_cdata, storage), (uintptr_t)tensor);
    Py_DECREF(storage);
    return (uintptr_t)key;
}

uint32_t fallback_version(PyObject *tensor)
{
    return (uint32_t)as_integer(tensor_check_exact(tensor) ? get(py.version, tensor) : NULL, 0);
}

void fallback_bump_version(PyObject *tensor)
{
    PyObject *list = PyList_New(1);
    if (list != NULL) {
        PyList_SET_ITEM(list, 0, Py_NewRef(tensor));
        Py_XDECREF(PyObject_CallOneArg(py.increment_version, list));
        Py_DECREF(list);
    }
    PyErr_Clear(); /* an inference tensor has no version */
}

PyObject *fallback_grad(PyObject *tensor)
{
    PyObject *leaf = get(py.is_leaf, tensor), *retains = get(py.retains_grad, tensor);
    int readable = leaf == Py_True || retains == Py_True; /* else a read of .grad warns, and there is none */
    Py_XDECREF(leaf);
    Py_XDECREF(retains);
    PyObject *grad = readable ? get(py.grad, tensor) : Py_NewRef(Py_None);
    Py_XDECREF(grad); /* the tensor keeps it, and a tensor keeps its Python object */
    return grad;
}
