/* Fast access to dicts and inline attribute values. The index of an entry is remembered as a hint.
 * A hint is never trusted: the entry at that index has to hold the key now. */
#ifndef CAPTURE_DICT_ACCESS_H
#define CAPTURE_DICT_ACCESS_H

#include "frame/pyversion_objects.h"

#include <string.h>

#include "guards/raw_lookup.h"

/* The same str by value. Names that a program makes at run time, as the children "0", "1" of a Sequential,
 * are not interned. */
static inline int same_str(const PyObject *candidate, const RawKey *key)
{
    const PyASCIIObject *a = (const PyASCIIObject *)candidate, *b = (const PyASCIIObject *)key->object;
    return a->hash == key->hash && !key->by_identity && PyUnicode_CheckExact(candidate)
           && PyUnicode_CheckExact(key->object) && a->length == b->length
           && PyUnicode_IS_COMPACT_ASCII(candidate) && PyUnicode_IS_COMPACT_ASCII(key->object)
           && memcmp(a + 1, b + 1, (size_t)a->length) == 0;
}

/* Whether the key stands at entry `index`. */
static inline int dict_entry_is(PyDictKeysObject *keys, int64_t index, const RawKey *key)
{
    if (index >= keys_entry_count(keys)) {
        return 0;
    }
    PyObject *candidate = keys_key(keys, index);
    return candidate == key->object || (candidate != NULL && keys_are_str(keys) && same_str(candidate, key));
}

/* The value at a hint, or NULL where the hint is wrong now. */
static inline PyObject *dict_hinted(PyObject *dict, int64_t hint, const RawKey *key)
{
    return dict_entry_is(dict_keys((PyDictObject *)dict), hint, key)
               ? dict_value_at((PyDictObject *)dict, (Py_ssize_t)hint)
               : NULL;
}

/* The instance attribute at a hint, or NULL. */
static inline PyObject *attribute_hinted(PyObject *object, int64_t hint, const RawKey *name)
{
    if (has_inline_values(object)) {
        return dict_entry_is(inline_keys(object), hint, name) ? inline_value_at(object, hint) : NULL;
    }
    PyObject *dict = existing_dict(object);
    return dict != NULL ? dict_hinted(dict, hint, name) : NULL;
}

#endif
