/* The checks of guard programs that are more than one comparison.
 *
 * In:  the object in the register, and the operands behind the head word.
 * Out: 1 where the check holds. No check raises, allocates or runs user code.
 */
#include "frame/pyversion_objects.h" /* first */
#include "guards/guard_program.h"
#include "guards/constant_equal.h"
#include "tensors/tensor_access.h"

#include <string.h>

/* --- containers -------------------------------------------------------------------------------------- */

static Py_ssize_t raw_length(PyObject *object)
{
    if (PyList_Check(object) || PyTuple_Check(object)) {
        return Py_SIZE(object);
    }
    if (PyDict_Check(object)) {
        return PyDict_GET_SIZE(object);
    }
    if (PyUnicode_Check(object)) {
        return PyUnicode_GET_LENGTH(object);
    }
    if (PyAnySet_Check(object)) {
        return PySet_GET_SIZE(object);
    }
    if (PyBytes_Check(object)) {
        return PyBytes_GET_SIZE(object);
    }
    if (PyRange_Check(object)) {
        int64_t length;
        return int_value(((Range *)object)->length, &length) ? (Py_ssize_t)length : -1;
    }
    return guard_is_deque(object) ? Py_SIZE(object) : -1;
}

int guard_check_length(PyObject *object, int64_t length)
{
    return raw_length(object) == length;
}

int guard_load_length(PyObject *object, int64_t *length)
{
    *length = raw_length(object);
    return *length >= 0;
}

#define KEY_WORDS 3

int guard_check_dict_keys(PyObject *object, const int64_t *operands)
{
    int64_t count = operands[0];
    RawCursor cursor = {0, NULL, 0};
    PyObject *key, *value;
    if (!PyDict_Check(object) || PyDict_GET_SIZE(object) != count) {
        return 0;
    }
    for (int64_t i = 0; i < count; i++) {
        const RawKey *expected = (const RawKey *)(operands + 1 + KEY_WORDS * i);
        if (!raw_dict_next(object, &cursor, &key, &value)) {
            return 0;
        }
        if (key != expected->object && (expected->by_identity || !constant_equal(expected->object, key))) {
            return 0;
        }
    }
    return 1;
}

/* Whether the item is one of the expected elements. (Hashes do not help: equal NaNs have different hashes.)
 */
static int is_expected(PyObject *item, const int64_t *operands)
{
    for (int64_t i = 0; i < operands[0]; i++) {
        const RawKey *expected = (const RawKey *)(operands + 1 + KEY_WORDS * i);
        if (expected->object == item || (!expected->by_identity && constant_equal(expected->object, item))) {
            return 1;
        }
    }
    return 0;
}

int guard_check_set(PyObject *object, const int64_t *operands)
{
    Py_ssize_t position = 0;
    PyObject *item;
    Py_hash_t hash;
    if (!PyAnySet_Check(object) || PySet_GET_SIZE(object) != operands[0]) {
        return 0;
    }
    /* Both sides have as many distinct elements, so one direction is enough. */
    while (_PySet_NextEntry(object, &position, &item, &hash)) {
        if (!is_expected(item, operands)) {
            return 0;
        }
    }
    return 1;
}

/* The places in the table decide the order of the set and of everything that is made from it. */
int guard_check_set_layout(PyObject *object, const int64_t *operands)
{
    enum { COUNT, MASK, FILL, FINGER, ELEMENTS };
    Py_ssize_t position = 0;
    PyObject *item;
    Py_hash_t hash;
    if (!PyAnySet_Check(object)) {
        return 0;
    }
    PySetObject *set = (PySetObject *)object;
    if (set->mask != operands[MASK] || set->fill != operands[FILL] || set->finger != operands[FINGER]
        || 2 * set->used + 3 != operands[COUNT]) {
        return 0;
    }
    const int64_t *expected = operands + ELEMENTS;
    while (_PySet_NextEntry(object, &position, &item, &hash)) {
        if (position - 1 != expected[0] || hash != expected[1]) {
            return 0;
        }
        expected += 2;
    }
    return 1;
}

/* --- buffers ----------------------------------------------------------------------------------------- */

enum { B_TYPE, B_FORMAT, B_READONLY, B_COUNT, B_DIMS };

static int buffer_fits(const Py_buffer *view, const int64_t *o)
{
    int64_t format = 0;
    size_t length = view->format != NULL ? strlen(view->format) : 0;
    if (length >= sizeof format || view->readonly != o[B_READONLY] || 2 * (int64_t)view->ndim != o[B_COUNT]) {
        return 0;
    }
    memcpy(&format, view->format, length);
    const int64_t *sizes = o + B_DIMS, *strides = sizes + view->ndim;
    int same = format == o[B_FORMAT];
    for (int i = 0; same && i < view->ndim; i++) {
        same = view->shape[i] == sizes[i] && view->strides[i] == strides[i];
    }
    return same;
}

/* The only check that calls foreign code: the C function with which an object of the guarded class (NumPy's
 * array) gives out its buffer. */
int guard_check_buffer(PyObject *object, const int64_t *o)
{
    Py_buffer view;
    if ((int64_t)(uintptr_t)Py_TYPE(object) != o[B_TYPE]) {
        return 0;
    }
    if (PyObject_GetBuffer(object, &view, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
        PyErr_Clear();
        return 0;
    }
    int fits_it = buffer_fits(&view, o);
    PyBuffer_Release(&view);
    return fits_it;
}

/* --- tensors ----------------------------------------------------------------------------------------- */

enum { T_TYPE, T_DTYPE, T_DEVICE, T_KEYS, T_REQUIRES_GRAD, T_LEAF, T_NDIM, T_COUNT, T_DIMS };

/* -1 is a free size or stride. */
static inline int fits(const int64_t *pattern, const int64_t *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (pattern[i] != values[i] && pattern[i] != -1) {
            return 0;
        }
    }
    return 1;
}

/* The sizes, and the strides where the guard has them. */
static inline int geometry_fits(const int64_t *o, const int64_t *sizes, const int64_t *strides)
{
    int64_t ndim = o[T_NDIM];
    return ndim == 0
           || (sizes != NULL && strides != NULL && fits(o + T_DIMS, sizes, ndim)
               && (o[T_COUNT] == ndim || fits(o + T_DIMS + ndim, strides, ndim)));
}

static int check_by_accessors(PyObject *t, const int64_t *o)
{
    return tensor_dtype(t) == o[T_DTYPE] && tensor_device(t) == o[T_DEVICE]
           && (int64_t)tensor_dispatch_keys(t) == o[T_KEYS] && tensor_requires_grad(t) == o[T_REQUIRES_GRAD]
           && tensor_ndim(t) == o[T_NDIM] && (o[T_LEAF] < 0 || tensor_is_leaf(t) == o[T_LEAF])
           && geometry_fits(o, tensor_sizes(t), tensor_strides(t));
}

static inline int autograd_fits(PyObject *t, const char *meta, const int64_t *o)
{
    const TensorOffsets *at = &tensor_offsets;
    int inner = meta != NULL && TENSOR_FIELD(meta, at->meta_grad_fn, void *const) != NULL;
    int requires_grad = inner || (meta != NULL && tensor_requires_grad(t));
    return requires_grad == o[T_REQUIRES_GRAD] && (o[T_LEAF] < 0 || o[T_LEAF] == !inner);
}

int guard_check_tensor(PyObject *t, const int64_t *o)
{
    const TensorOffsets *at = &tensor_offsets;
    if ((int64_t)(uintptr_t)Py_TYPE(t) != o[T_TYPE]) {
        return 0;
    }
    if (!at->by_offset) {
        return check_by_accessors(t, o);
    }
    const char *impl = TENSOR_IMPL(t);
    int64_t ndim = TENSOR_FIELD(impl, at->ndim, const int64_t);
    if (TENSOR_FIELD(impl, at->dtype, const uint16_t) != o[T_DTYPE]
        || TENSOR_FIELD(impl, at->keys, const int64_t) != o[T_KEYS]
        || TENSOR_FIELD(impl, at->device, const uint16_t) != o[T_DEVICE] || ndim != o[T_NDIM]
        || !autograd_fits(t, TENSOR_FIELD(impl, at->autograd_meta, const char *const), o)) {
        return 0;
    }
    if (ndim > TENSOR_INLINE_DIMS) {
        const int64_t *outside = TENSOR_FIELD(impl, at->sizes, const int64_t *const);
        return geometry_fits(o, outside, outside + ndim);
    }
    return geometry_fits(o, &TENSOR_FIELD(impl, at->sizes, const int64_t),
                         &TENSOR_FIELD(impl, at->strides, const int64_t));
}

int guard_check_unwritten(PyObject *t, const int64_t *o)
{
    return tensor_check(t) && (int64_t)tensor_version(t) == o[0]
           && (int64_t)(uintptr_t)tensor_data_ptr(t) == o[1];
}

int guard_load_shape(PyObject *tensor, int64_t what, int64_t dim, int64_t *value)
{
    if (!tensor_check(tensor)) {
        return 0;
    }
    if (what == 2) {
        *value = tensor_storage_offset(tensor);
        return 1;
    }
    const int64_t *dims = what == 0 ? tensor_sizes(tensor) : tensor_strides(tensor);
    if (dims == NULL || dim < 0 || dim >= tensor_ndim(tensor)) {
        return 0;
    }
    *value = dims[dim];
    return 1;
}

int guard_check_global_state(const int64_t *operands)
{
    return operands[0] == GLOBAL_STATE_FIELDS && tensor_global_state_is(operands + 1);
}

int guard_check_state(const int64_t *operands)
{
    int collecting = PyGC_Disable(); /* the answer is a new object: no finalizer may run now */
    PyObject *answer =
        PyObject_CallObject((PyObject *)(uintptr_t)operands[0], (PyObject *)(uintptr_t)operands[1]);
    int same = answer != NULL && constant_equal((PyObject *)(uintptr_t)operands[2], answer);
    Py_XDECREF(answer);
    PyErr_Clear();
    if (collecting) {
        PyGC_Enable();
    }
    return same;
}

/* A borrowed reference: somebody else holds the object, as the stack of modes holds its modes. NULL without
 * an exception where there is no such object. */
PyObject *guard_load_state(const int64_t *operands)
{
    int collecting = PyGC_Disable();
    PyObject *answer =
        PyObject_CallObject((PyObject *)(uintptr_t)operands[0], (PyObject *)(uintptr_t)operands[1]);
    if (answer != NULL && Py_REFCNT(answer) == 1) {
        Py_CLEAR(answer);
    }
    Py_XDECREF(answer);
    PyErr_Clear();
    if (collecting) {
        PyGC_Enable();
    }
    return answer;
}

/* --- between places ---------------------------------------------------------------------------------- */

/* The position that was entered first with this key. The scratch of the program is an open hash table. */
static int64_t first_position(GuardProgram *program, uintptr_t key, int64_t position)
{
    size_t mask = (size_t)program->table_size - 1,
           i = (size_t)((key >> 4) * 0x9E3779B97F4A7C15u >> 20) & mask;
    while (program->table[2 * i] != 0) {
        if (program->table[2 * i] == key) {
            return (int64_t)program->table[2 * i + 1];
        }
        i = (i + 1) & mask;
    }
    program->table[2 * i] = key;
    program->table[2 * i + 1] = (uintptr_t)position;
    return position;
}

static void clear_table(GuardProgram *program)
{
    memset(program->table, 0, 2 * sizeof(uintptr_t) * (size_t)program->table_size);
}

int guard_check_distinct(GuardProgram *program, const int64_t *operands)
{
    clear_table(program);
    for (int64_t i = 0; i < operands[0]; i++) {
        if (first_position(program, (uintptr_t)program->registers[operands[1 + i]], i) != i) {
            return 0;
        }
    }
    return 1;
}

int guard_check_aliasing(GuardProgram *program, const int64_t *operands)
{
    clear_table(program);
    for (int64_t i = 0; i < operands[0]; i++) {
        PyObject *tensor = program->registers[operands[1 + 2 * i]];
        if (!tensor_check(tensor)
            || first_position(program, tensor_storage_key(tensor), i) != operands[2 + 2 * i]) {
            return 0;
        }
    }
    return 1;
}
