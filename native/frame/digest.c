/* Numbers that stand for what a frame finds at its start: two frames with one number look alike.
 *
 * In:  the state of the thread; the arguments of a frame before its first instruction.
 * Out: a number of 64 bits. A glance at a frame sees nothing new where an earlier one had its number.
 *
 *     f(net, x[8, 3], 2), f(net, y[8, 3], 2)    ->    one number
 *     f(net, x[8, 3], 2), f(net, x[8, 4], 2)    ->    two numbers
 *
 * It follows `capture/sizes/glances.py`: arguments, their items, the settings of optimizers among both,
 * tensors that containers and objects among the arguments hold, and the lengths of lists that the closure
 * holds, or attributes of the closure's objects and of arguments do. Two states that happen to have one
 * number cost a capture that knows less. */

#include "frame/pyversion_objects.h"

#include "frame/digest.h"
#include "guards/guard_program.h"
#include "guards/raw_lookup.h"
#include "tensors/tensor_access.h"
#include "tensors/torch_symbols.h"

#include <string.h>

/* As in glances.py */
enum { MOST_ITEMS = 16, MOST_ATTRIBUTES = 64 };

/* Of what holds tensors so much is looked at: each frame that waits is. */
enum { MOST_HOLDERS = 64 };

typedef struct {
    uint64_t number;
    int knows_all; /* 0: there is something that only torch's accessors can read */
} Digest;

static void add(Digest *digest, uint64_t field)
{
    digest->number = (digest->number ^ field) * 1099511628211u; /* FNV-1a, over whole fields */
    digest->number ^= digest->number >> 29;
}

static void add_thread_state(Digest *digest)
{
    int64_t fields[GLOBAL_STATE_FIELDS] = {0};
    if (tensor_access_ready()) {
        tensor_global_state(fields);
    }
    for (int i = 0; i < GLOBAL_STATE_FIELDS; i++) {
        add(digest, (uint64_t)fields[i]);
    }
}

static Digest new_digest(void)
{
    Digest digest = {14695981039346656037u, 1};
    add_thread_state(&digest);
    return digest;
}

static void add_tensor(Digest *digest, PyObject *tensor)
{
    if (!tensor_is_plain(tensor)) {
        digest->knows_all = 0;
        return;
    }
    const int ndim = tensor_ndim(tensor);
    const int64_t *sizes = tensor_sizes(tensor), *strides = tensor_strides(tensor);
    add(digest, (uint64_t)ndim);
    for (int i = 0; i < ndim; i++) {
        add(digest, (uint64_t)sizes[i]);
        add(digest, (uint64_t)strides[i]);
    }
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Whole numbers of NumPy, among others: none of the program's code runs. Bools are no numbers here, and
 * arrays are none. */
static int is_built_in_index(PyTypeObject *type)
{
    const int has_length = type->tp_as_sequence != NULL && type->tp_as_sequence->sq_length != NULL;
    return !has_length && type != &PyBool_Type && !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)
           && type->tp_as_number != NULL && type->tp_as_number->nb_index != NULL;
}

static void add_index(Digest *digest, PyObject *value)
{
    int overflow;
    PyObject *index = PyNumber_Index(value);
    if (index == NULL) { /* no memory, or a number that is not whole */
        PyErr_Clear();
        return;
    }
    add(digest, (uint64_t)PyLong_AsLongLongAndOverflow(index, &overflow));
    Py_DECREF(index);
}

/* What has no items. */
static void add_single(Digest *digest, PyObject *value)
{
    int overflow;
    add(digest, (uintptr_t)(value == NULL ? NULL : Py_TYPE(value)));
    if (value == NULL) {
        return;
    }
    if (PyLong_CheckExact(value)) {
        add(digest, (uint64_t)PyLong_AsLongLongAndOverflow(value, &overflow));
    } else if (PyFloat_CheckExact(value)) {
        add(digest, bits_of(PyFloat_AS_DOUBLE(value)));
    } else if (tensor_check_exact(value)) {
        add_tensor(digest, value);
    } else if (is_built_in_index(Py_TYPE(value))) {
        add_index(digest, value);
    }
}

typedef void (*AddItem)(Digest *digest, PyObject *item, int is_first);

static void add_sequence(Digest *digest, PyObject *sequence, AddItem add_item)
{
    const Py_ssize_t count = Py_MIN(Py_SIZE(sequence), MOST_ITEMS);
    add(digest, (uint64_t)Py_SIZE(sequence));
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item =
            PyTuple_Check(sequence) ? PyTuple_GET_ITEM(sequence, i) : PyList_GET_ITEM(sequence, i);
        add_item(digest, item, i == 0 && PyTuple_Check(sequence));
    }
}

static void add_dict(Digest *digest, PyObject *dict, AddItem add_item)
{
    PyObject *key, *item;
    Py_ssize_t place = 0;
    for (int i = 0; i < MOST_ITEMS && PyDict_Next(dict, &place, &key, &item); i++) {
        if (PyUnicode_CheckExact(key)) {
            add(digest, (uint64_t)PyObject_Hash(key));
            add_item(digest, item, 0);
        }
    }
}

/* 1 if the value has items. */
static int add_items(Digest *digest, PyObject *value, AddItem add_item)
{
    if (value != NULL && (PyTuple_CheckExact(value) || PyList_CheckExact(value))) {
        add_sequence(digest, value, add_item);
    } else if (value != NULL && PyDict_CheckExact(value)) {
        add_dict(digest, value, add_item);
    } else {
        return 0;
    }
    return 1;
}

static void add_setting(Digest *digest, PyObject *value, int is_first)
{
    add_single(digest, value);
}

static void add_group(Digest *digest, PyObject *group, int is_first)
{
    add_items(digest, group, add_setting);
}

/* The settings of an optimizer, or of what looks like one. Else NULL. */
static PyObject *settings_of(PyObject *object)
{
    static RawKey name;
    PyObject *groups;
    if (name.object == NULL) {
        name.object = PyUnicode_InternFromString("param_groups");
        name.hash = name.object == NULL ? 0 : PyObject_Hash(name.object);
        PyErr_Clear();
    }
    const int is_found =
        name.object != NULL && raw_instance_attribute(object, &name, NULL, &groups) == RAW_FOUND;
    return is_found ? groups : NULL;
}

/* 1 if it has settings. */
static int add_settings(Digest *digest, PyObject *object)
{
    PyObject *groups = settings_of(object);
    add_items(digest, groups, add_group);
    return groups != NULL;
}

static int is_module(PyObject *object)
{
    return torch_symbols.module_type != NULL && PyObject_TypeCheck(object, torch_symbols.module_type);
}

/* An argument, or an item of one. The first of them may be the owner of the method: sizes are its own. */
static void add_object(Digest *digest, PyObject *value, int is_first)
{
    add_single(digest, value);
    if (value != NULL && (add_settings(digest, value) || is_module(value)) && is_first) {
        add(digest, (uintptr_t)value);
    }
}

static void add_length(Digest *digest, PyObject *value)
{
    if (value != NULL && (PyList_CheckExact(value) || guard_is_deque(value))) {
        add(digest, (uint64_t)Py_SIZE(value));
    }
}

/* The lengths of the lists that the object has as attributes. It gets no dict by this. */
static void add_lengths_of(Digest *digest, PyObject *object)
{
    PyObject *value, *dict = existing_dict(object);
    Py_ssize_t place = 0;
    if (has_inline_values(object)) {
        const Py_ssize_t count = Py_MIN(keys_entry_count(inline_keys(object)), MOST_ATTRIBUTES);
        for (Py_ssize_t i = 0; i < count; i++) {
            add_length(digest, inline_value_at(object, i));
        }
    } else if (dict != NULL) {
        for (int i = 0; i < MOST_ATTRIBUTES && PyDict_Next(dict, &place, NULL, &value); i++) {
            add_length(digest, value);
        }
    }
}

static void add_lengths(Digest *digest, const FrameState *frame)
{
    PyObject *closure = frame->function == NULL ? NULL : frame->function->func_closure;
    for (Py_ssize_t i = 0; closure != NULL && i < PyTuple_GET_SIZE(closure); i++) {
        PyObject *held = PyCell_GET(PyTuple_GET_ITEM(closure, i));
        add_length(digest, held);
        if (held != NULL) {
            add_lengths_of(digest, held);
        }
    }
    for (Py_ssize_t i = 0; i < frame->nlocals; i++) {
        if (frame->locals[i] != NULL) {
            add_lengths_of(digest, frame->locals[i]);
        }
    }
}

/* --- what the arguments hold ------------------------------------------------------------------------- */

/* A queue: what is found is looked into later. */
typedef struct {
    PyObject *values[MOST_HOLDERS];
    int count;
} Holders;

static int is_container(PyObject *value)
{
    return PyTuple_CheckExact(value) || PyList_CheckExact(value) || PyDict_CheckExact(value);
}

static int holds_tensors(PyObject *value)
{
    if (tensor_check_exact(value) || is_container(value)) {
        return 1;
    }
    return (Py_TYPE(value)->tp_flags & Py_TPFLAGS_HEAPTYPE) && !PyType_Check(value) && !is_module(value)
           && !PyObject_TypeCheck(value, torch_symbols.tensor_type) && settings_of(value) == NULL;
}

static void hold(Holders *holders, PyObject *value)
{
    if (value == NULL || holders->count == MOST_HOLDERS || !holds_tensors(value)) {
        return;
    }
    for (int i = 0; i < holders->count; i++) {
        if (holders->values[i] == value) {
            return;
        }
    }
    holders->values[holders->count++] = value;
}

static void hold_all(Holders *holders, PyObject *dict)
{
    PyObject *value;
    Py_ssize_t place = 0;
    while (dict != NULL && holders->count < MOST_HOLDERS && PyDict_Next(dict, &place, NULL, &value)) {
        hold(holders, value);
    }
}

static void hold_items(Holders *holders, PyObject *sequence)
{
    for (Py_ssize_t i = 0; i < Py_SIZE(sequence) && holders->count < MOST_HOLDERS; i++) {
        hold(holders, PyTuple_Check(sequence) ? PyTuple_GET_ITEM(sequence, i) : PyList_GET_ITEM(sequence, i));
    }
}

static void hold_attributes(Holders *holders, PyObject *object)
{
    if (!has_inline_values(object)) {
        hold_all(holders, existing_dict(object));
        return;
    }
    for (Py_ssize_t i = 0; i < keys_entry_count(inline_keys(object)); i++) {
        hold(holders, inline_value_at(object, i));
    }
}

/* The tensors that the arguments hold, the nearest first. The attributes of the first argument are its own.
 */
static void add_held_tensors(Digest *digest, const FrameState *frame)
{
    Holders holders = {.count = 0};
    for (Py_ssize_t i = 0; i < frame->nlocals; i++) {
        hold(&holders, frame->locals[i]);
    }
    PyObject *owner = frame->nlocals > 0 ? frame->locals[0] : NULL;
    for (int i = 0; i < holders.count; i++) {
        PyObject *value = holders.values[i];
        if (tensor_is_plain(value)) {
            add_tensor(digest, value);
        } else if (PyDict_CheckExact(value)) {
            hold_all(&holders, value);
        } else if (is_container(value)) {
            hold_items(&holders, value);
        } else if (value != owner && !tensor_check_exact(value)) {
            hold_attributes(&holders, value);
        }
    }
}

uint64_t digest_of_thread_state(void)
{
    return new_digest().number;
}

uint64_t digest_of_arguments(const FrameState *frame, PyObject *key)
{
    if (!tensor_access_ready()) {
        return 0;
    }
    Digest digest = new_digest();
    add(&digest, (uintptr_t)key);
    for (Py_ssize_t i = 0; i < frame->nlocals; i++) {
        if (!add_items(&digest, frame->locals[i], add_object)) {
            add_object(&digest, frame->locals[i], i == 0);
        }
    }
    add_held_tensors(&digest, frame);
    add_lengths(&digest, frame);
    return digest.knows_all ? digest.number : 0;
}
