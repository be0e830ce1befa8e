/* CPython 3.11: the tables of dicts, and the attributes of instances.
 *
 * Included by pyversion_dict.h only. A dict has keys: a table of slots that leads to entries. Either each
 * entry has its value, or the dict has an array of values. An instance without a dict may have its attribute
 * values in an array; the keys are then those of its type. All objects are borrowed. */

#ifndef CAPTURE_PY311_DICT_H
#define CAPTURE_PY311_DICT_H

#include <internal/pycore_dict.h>
#include <internal/pycore_object.h>
#include <stdint.h>

/* --- keys -------------------------------------------------------------------------------------------- */

enum { KEYS_EMPTY_SLOT = DKIX_EMPTY };
enum { KEYS_PERTURB_SHIFT = 5 }; /* as in Objects/dictobject.c */

static inline Py_ssize_t keys_entry_count(const PyDictKeysObject *keys)
{
    return keys->dk_nentries;
}

static inline size_t keys_slot_count(const PyDictKeysObject *keys)
{
    return (size_t)DK_SIZE(keys);
}

/* All keys are of type str. */
static inline int keys_are_str(const PyDictKeysObject *keys)
{
    return DK_IS_UNICODE(keys);
}

/* The index of the entry, KEYS_EMPTY_SLOT, or another negative number for a deleted entry. */
static inline Py_ssize_t keys_slot(const PyDictKeysObject *keys, size_t slot)
{
    switch (keys->dk_log2_index_bytes - keys->dk_log2_size) {
    case 0:
        return ((const int8_t *)keys->dk_indices)[slot];
    case 1:
        return ((const int16_t *)keys->dk_indices)[slot];
    case 2:
        return ((const int32_t *)keys->dk_indices)[slot];
    default:
        return (Py_ssize_t)((const int64_t *)keys->dk_indices)[slot];
    }
}

/* NULL for a deleted entry. */
static inline PyObject *keys_key(PyDictKeysObject *keys, Py_ssize_t index)
{
    return DK_IS_UNICODE(keys) ? DK_UNICODE_ENTRIES(keys)[index].me_key : DK_ENTRIES(keys)[index].me_key;
}

/* The same with the hash of the key. */
static inline PyObject *keys_key_and_hash(PyDictKeysObject *keys, Py_ssize_t index, Py_hash_t *hash)
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

/* --- dicts ------------------------------------------------------------------------------------------- */

static inline PyDictKeysObject *dict_keys(const PyDictObject *dict)
{
    return dict->ma_keys;
}

/* The values stand in an array, in the order of insertion. */
static inline int dict_has_split_values(const PyDictObject *dict)
{
    return dict->ma_values != NULL;
}

static inline PyObject *dict_value_at(PyDictObject *dict, Py_ssize_t index)
{
    if (dict->ma_values != NULL) {
        return dict->ma_values->values[index];
    }
    PyDictKeysObject *keys = dict->ma_keys;
    return DK_IS_UNICODE(keys) ? DK_UNICODE_ENTRIES(keys)[index].me_value : DK_ENTRIES(keys)[index].me_value;
}

/* A number that no other state of any dict has. */
static inline int64_t dict_version(const PyDictObject *dict)
{
    return (int64_t)dict->ma_version_tag;
}

/* --- instances --------------------------------------------------------------------------------------- */

static inline int has_inline_values(PyObject *object)
{
    return (Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) && *_PyObject_ValuesPointer(object) != NULL;
}

/* For an object with inline values. */
static inline PyDictKeysObject *inline_keys(PyObject *object)
{
    return ((PyHeapTypeObject *)Py_TYPE(object))->ht_cached_keys;
}

static inline PyObject *inline_value_at(PyObject *object, Py_ssize_t index)
{
    return (*_PyObject_ValuesPointer(object))->values[index];
}

/* The instance dict, if there is one already. */
static inline PyObject *existing_dict(PyObject *object)
{
    if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
        return *_PyObject_ManagedDictPointer(object);
    }
    PyObject **pointer = _PyObject_GetDictPtr(object);
    return pointer == NULL ? NULL : *pointer;
}

#endif
