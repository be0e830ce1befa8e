/* Look-ups past all user code: see raw_lookup.h.
 *
 * CPython's own dict look-up calls `__eq__` of a key whose hash collides. This one walks the same probe sequence and compares keys itself: by
 * identity, or as built-in constants; a collision that only `__eq__` could decide is "uncertain".
 */
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1 /* layout of dict keys and of inline values */
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "internal/pycore_dict.h"
#include "internal/pycore_object.h"
#include <structmember.h>

#include "constant_equal.h"
#include "raw_lookup.h"
#include "torch_symbols.h"

#define MAX_NESTING 50
#define PERTURB_SHIFT 5 /* as in Objects/dictobject.c */

/* --- keys --------------------------------------------------------------------------------------------------------------- */

static int is_scalar_key(PyObject *key)
{
    PyTypeObject *type = Py_TYPE(key);
    return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyBool_Type || type == &PyFloat_Type || type == &PyBytes_Type ||
           type == &PyComplex_Type;
}

/* Equality of keys in a dict, where 1, True and 1.0 are one key. */
static int keys_equal(PyObject *a, PyObject *b, int depth)
{
    if (a == b) {
        return RAW_FOUND;
    }
    if (is_scalar_key(a) && is_scalar_key(b)) {
        if (Py_TYPE(a) == Py_TYPE(b) && Py_TYPE(a) != &PyFloat_Type && Py_TYPE(a) != &PyComplex_Type) {
            return constant_equal(a, b) ? RAW_FOUND : RAW_ABSENT;
        }
        int equal = PyObject_RichCompareBool(a, b, Py_EQ); /* numbers of built-in types: C code alone */
        if (equal < 0) {
            PyErr_Clear();
            return RAW_UNCERTAIN;
        }
        return equal ? RAW_FOUND : RAW_ABSENT;
    }
    if (!PyTuple_CheckExact(a) || !PyTuple_CheckExact(b) || depth > MAX_NESTING) {
        return constant_equal(a, b) ? RAW_FOUND : RAW_UNCERTAIN;
    }
    int result = PyTuple_GET_SIZE(a) == PyTuple_GET_SIZE(b) ? RAW_FOUND : RAW_ABSENT;
    for (Py_ssize_t i = 0; result == RAW_FOUND && i < PyTuple_GET_SIZE(a); i++) {
        result = keys_equal(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i), depth + 1);
    }
    return result;
}

int raw_key_matches(const RawKey *key, PyObject *candidate)
{
    if (key->object == candidate) {
        return RAW_FOUND;
    }
    return key->by_identity ? RAW_UNCERTAIN : keys_equal(key->object, candidate, 0);
}

/* --- dicts -------------------------------------------------------------------------------------------------------------- */

static inline Py_ssize_t index_at(const PyDictKeysObject *keys, size_t i)
{
    switch (keys->dk_log2_index_bytes - keys->dk_log2_size) {
    case 0: return ((const int8_t *)keys->dk_indices)[i];
    case 1: return ((const int16_t *)keys->dk_indices)[i];
    case 2: return ((const int32_t *)keys->dk_indices)[i];
    default: return (Py_ssize_t)((const int64_t *)keys->dk_indices)[i];
    }
}

static inline PyObject *entry_key(PyDictKeysObject *keys, Py_ssize_t index, Py_hash_t *hash)
{
    if (DK_IS_UNICODE(keys)) {
        PyObject *key = DK_UNICODE_ENTRIES(keys)[index].me_key;
        *hash = key == NULL ? 0 : ((PyASCIIObject *)key)->hash;
        return key;
    }
    PyDictKeyEntry *entry = &DK_ENTRIES(keys)[index];
    *hash = entry->me_hash;
    return entry->me_key;
}

/* Index of the entry with this key, -1 where there is none, -2 where that is uncertain. */
static Py_ssize_t find_index(PyDictKeysObject *keys, const RawKey *key)
{
    size_t mask = DK_SIZE(keys) - 1, perturb = (size_t)key->hash, i = (size_t)key->hash & mask;
    for (;;) {
        Py_ssize_t index = index_at(keys, i);
        if (index == DKIX_EMPTY) {
            return -1;
        }
        if (index >= 0) {
            Py_hash_t hash;
            PyObject *candidate = entry_key(keys, index, &hash);
            if (candidate != NULL && hash == key->hash) {
                int match = raw_key_matches(key, candidate);
                if (match != RAW_ABSENT) {
                    return match == RAW_FOUND ? index : -2;
                }
            }
        }
        perturb >>= PERTURB_SHIFT;
        i = (i * 5 + perturb + 1) & mask;
    }
}

/* The same with a hint: the entry where the key stood last time, if it still stands there. */
static inline Py_ssize_t find_hinted(PyDictKeysObject *keys, const RawKey *key, int64_t *hint)
{
    if (hint != NULL && *hint < keys->dk_nentries) {
        PyObject *there = DK_IS_UNICODE(keys) ? DK_UNICODE_ENTRIES(keys)[*hint].me_key : DK_ENTRIES(keys)[*hint].me_key;
        if (there == key->object) {
            return *hint;
        }
    }
    Py_ssize_t index = find_index(keys, key);
    if (hint != NULL && index >= 0) {
        *hint = index;
    }
    return index;
}

static inline PyObject *value_at(PyDictObject *dict, Py_ssize_t index)
{
    if (dict->ma_values != NULL) {
        return dict->ma_values->values[index];
    }
    PyDictKeysObject *keys = dict->ma_keys;
    return DK_IS_UNICODE(keys) ? DK_UNICODE_ENTRIES(keys)[index].me_value : DK_ENTRIES(keys)[index].me_value;
}

int raw_dict_find(PyObject *dict, const RawKey *key, int64_t *hint, PyObject **value)
{
    PyDictObject *d = (PyDictObject *)dict;
    Py_ssize_t index = find_hinted(d->ma_keys, key, hint);
    if (index < 0) {
        return index == -1 ? RAW_ABSENT : RAW_UNCERTAIN;
    }
    *value = value_at(d, index);
    return *value == NULL ? RAW_ABSENT : RAW_FOUND;
}

/* --- iteration order ------------------------------------------------------------------------------------------------------ */

/* Objects/odictobject.c keeps the order of an OrderedDict in a linked list. init_raw_lookup checks these two. */
typedef struct OrderNode {
    PyObject *key;
    Py_hash_t hash;
    struct OrderNode *next, *previous;
} OrderNode;
typedef struct {
    PyDictObject dict;
    OrderNode *first, *last;
} OrderedDict;

static int next_ordered(PyObject *dict, RawCursor *cursor, PyObject **key, PyObject **value)
{
    OrderNode *node = cursor->started ? cursor->node : ((OrderedDict *)dict)->first;
    cursor->started = 1;
    if (node == NULL) {
        return 0;
    }
    cursor->node = node->next;
    *key = node->key;
    RawKey raw = {0, node->key, node->hash};
    return raw_dict_find(dict, &raw, NULL, value) == RAW_FOUND;
}

int raw_dict_next(PyObject *dict, RawCursor *cursor, PyObject **key, PyObject **value)
{
    if (PyODict_Check(dict)) {
        return next_ordered(dict, cursor, key, value);
    }
    return PyDict_Next(dict, &cursor->position, key, value);
}

int raw_dict_position(PyObject *dict, Py_ssize_t position, PyObject **key, PyObject **value)
{
    RawCursor cursor = {0, NULL, 0};
    if (position >= PyDict_GET_SIZE(dict)) {
        return RAW_ABSENT;
    }
    for (Py_ssize_t i = 0; i <= position; i++) {
        if (!raw_dict_next(dict, &cursor, key, value)) {
            return RAW_ABSENT;
        }
    }
    return RAW_FOUND;
}

/* --- attributes ------------------------------------------------------------------------------------------------------------ */

#if PY_VERSION_HEX < 0x030C0000
/* Attribute values of an object that has no dict yet stand in an array ordered as the type's shared keys. */
static int inline_value(PyObject *object, const RawKey *name, int64_t *hint, PyObject **value)
{
    PyDictValues *values = *_PyObject_ValuesPointer(object);
    Py_ssize_t index = find_hinted(((PyHeapTypeObject *)Py_TYPE(object))->ht_cached_keys, name, hint);
    if (index < 0) {
        return index == -1 ? RAW_ABSENT : RAW_UNCERTAIN;
    }
    *value = values->values[index];
    return *value == NULL ? RAW_ABSENT : RAW_FOUND;
}

static int has_inline_values(PyObject *object)
{
    return (Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) && *_PyObject_ValuesPointer(object) != NULL;
}
#else
#error "inline values of this Python version: see docs/architecture.md 1.3"
#endif

static PyObject *existing_dict(PyObject *object)
{
    if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
        return *_PyObject_ManagedDictPointer(object);
    }
    PyObject **pointer = _PyObject_GetDictPtr(object);
    return pointer == NULL ? NULL : *pointer;
}

int raw_instance_attribute(PyObject *object, const RawKey *name, int64_t *hint, PyObject **value)
{
    if (has_inline_values(object)) {
        return inline_value(object, name, hint, value);
    }
    PyObject *dict = existing_dict(object);
    return dict == NULL || !PyDict_Check(dict) ? RAW_ABSENT : raw_dict_find(dict, name, hint, value);
}

PyObject *raw_instance_dict(PyObject *object)
{
    int collecting = PyGC_Disable(); /* a collection could run finalizers */
    PyObject **pointer = _PyObject_GetDictPtr(object);
    if (pointer != NULL && *pointer == NULL) {
        *pointer = PyDict_New();
    }
    if (collecting) {
        PyGC_Enable();
    }
    PyErr_Clear();
    return pointer == NULL ? NULL : *pointer;
}

/* A slot, or a member of a C type, that holds an object. */
static int read_member(PyObject *descriptor, PyObject *object, PyObject **value)
{
    PyMemberDef *member = ((PyMemberDescrObject *)descriptor)->d_member;
    if (!PyObject_TypeCheck(object, PyDescr_TYPE(descriptor)) || (member->type != T_OBJECT && member->type != T_OBJECT_EX)) {
        return RAW_UNCERTAIN;
    }
    *value = *(PyObject **)((char *)object + member->offset);
    if (*value == NULL && member->type == T_OBJECT) {
        *value = Py_None;
    }
    return *value == NULL ? RAW_ABSENT : RAW_FOUND;
}

static RawKey table_names[3]; /* _parameters, _buffers, _modules */

static int module_attribute(PyObject *object, const RawKey *name, int64_t *hints, PyObject **value)
{
    if (torch_symbols.module_type == NULL || !PyType_IsSubtype(Py_TYPE(object), torch_symbols.module_type)) {
        return RAW_ABSENT;
    }
    for (int i = 0; i < 3; i++) {
        PyObject *table;
        int found = raw_instance_attribute(object, &table_names[i], i == 0 ? &hints[1] : NULL, &table);
        if (found == RAW_FOUND && PyDict_Check(table)) {
            found = raw_dict_find(table, name, &hints[2], value);
            if (found != RAW_ABSENT) {
                return found;
            }
        } else if (found == RAW_UNCERTAIN) {
            return found;
        }
    }
    return RAW_ABSENT;
}

int raw_attribute(PyObject *object, const RawKey *name, int64_t *hints, PyObject **value)
{
    PyObject *descriptor = _PyType_Lookup(Py_TYPE(object), name->object);
    if (descriptor != NULL) {
        if (Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) {
            return read_member(descriptor, object, value);
        }
        if (Py_TYPE(descriptor)->tp_descr_set != NULL) {
            return RAW_UNCERTAIN;
        }
    }
    int found;
    if (PyType_Check(object)) {
        *value = _PyType_Lookup((PyTypeObject *)object, name->object);
        found = *value == NULL ? RAW_ABSENT : RAW_FOUND;
    } else {
        found = raw_instance_attribute(object, name, &hints[0], value);
    }
    if (found == RAW_ABSENT && descriptor != NULL) {
        *value = descriptor;
        return RAW_FOUND;
    }
    return found == RAW_ABSENT ? module_attribute(object, name, hints, value) : found;
}

int raw_type_attribute(PyTypeObject *type, const RawKey *name, const void *after, PyObject **value)
{
    if (after == NULL) {
        *value = _PyType_Lookup(type, name->object);
        return *value == NULL ? RAW_ABSENT : RAW_FOUND;
    }
    Py_ssize_t count = type->tp_mro == NULL ? 0 : PyTuple_GET_SIZE(type->tp_mro), start = 0;
    while (start < count && PyTuple_GET_ITEM(type->tp_mro, start) != after) {
        start++;
    }
    for (Py_ssize_t i = start + 1; i < count; i++) {
        PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(type->tp_mro, i);
        int found = raw_dict_find(base->tp_dict, name, NULL, value);
        if (found != RAW_ABSENT) {
            return found;
        }
    }
    return RAW_ABSENT;
}

/* --- start ------------------------------------------------------------------------------------------------------------------ */

static int order_is_readable(void)
{
    PyObject *dict = PyODict_New(), *key = NULL, *value = NULL;
    PyObject *a = PyUnicode_InternFromString("a"), *b = PyUnicode_InternFromString("b"), *moved = NULL;
    int good = 0;
    if (dict != NULL && a != NULL && b != NULL && PyODict_SetItem(dict, a, Py_None) == 0 && PyODict_SetItem(dict, b, Py_None) == 0) {
        moved = PyObject_CallMethod(dict, "move_to_end", "O", a);
        good = moved != NULL && raw_dict_position(dict, 0, &key, &value) == RAW_FOUND && key == b &&
               raw_dict_position(dict, 1, &key, &value) == RAW_FOUND && key == a;
    }
    Py_XDECREF(moved);
    Py_XDECREF(a);
    Py_XDECREF(b);
    Py_XDECREF(dict);
    return good;
}

int init_raw_lookup(void)
{
    static const char *const names[] = {"_parameters", "_buffers", "_modules"};
    for (int i = 0; i < 3; i++) {
        PyObject *name = PyUnicode_InternFromString(names[i]);
        if (name == NULL) {
            return -1;
        }
        table_names[i] = (RawKey){0, name, PyObject_Hash(name)};
    }
    if (!order_is_readable()) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ImportError, "OrderedDict of this interpreter is not laid out as in CPython 3.11");
        }
        return -1;
    }
    return 0;
}
