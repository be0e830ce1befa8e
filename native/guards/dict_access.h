/* Fast paths into dicts and inline attribute values by a remembered entry index. Only for raw_lookup.c and
 * guard_program.c: layouts of CPython 3.11.
 *
 * A hint is never trusted: the entry at that index has to hold this key now.
 */
#ifndef CAPTURE_DICT_ACCESS_H
#define CAPTURE_DICT_ACCESS_H

#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include <Python.h>
#include "internal/pycore_dict.h"
#include "internal/pycore_object.h"
#include <stdint.h>
#include <string.h>

#include "guards/raw_lookup.h"

#if PY_VERSION_HEX >= 0x030C0000
#error "dict keys and inline values of this Python version: see docs/architecture.md 1.3"
#endif

/* The same str by value: names made at run time (the children of a Sequential, "0", "1") are not interned. */
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
    if (index >= keys->dk_nentries) {
        return 0;
    }
    if (!DK_IS_UNICODE(keys)) {
        return DK_ENTRIES(keys)[index].me_key == key->object;
    }
    PyObject *candidate = DK_UNICODE_ENTRIES(keys)[index].me_key;
    return candidate == key->object || (candidate != NULL && same_str(candidate, key));
}

static inline PyObject *dict_value_at(PyDictObject *dict, Py_ssize_t index)
{
    if (dict->ma_values != NULL) {
        return dict->ma_values->values[index];
    }
    PyDictKeysObject *keys = dict->ma_keys;
    return DK_IS_UNICODE(keys) ? DK_UNICODE_ENTRIES(keys)[index].me_value : DK_ENTRIES(keys)[index].me_value;
}

/* The value at a hint, or NULL where it doesn't hold any more. */
static inline PyObject *dict_hinted(PyObject *dict, int64_t hint, const RawKey *key)
{
    return dict_entry_is(((PyDictObject *)dict)->ma_keys, hint, key)
               ? dict_value_at((PyDictObject *)dict, (Py_ssize_t)hint)
               : NULL;
}

static inline int has_inline_values(PyObject *object)
{
    return (Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) && *_PyObject_ValuesPointer(object) != NULL;
}

/* The instance dict if there is one already; borrowed. */
static inline PyObject *existing_dict(PyObject *object)
{
    if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
        return *_PyObject_ManagedDictPointer(object);
    }
    PyObject **pointer = _PyObject_GetDictPtr(object);
    return pointer == NULL ? NULL : *pointer;
}

/* The instance attribute at a hint, or NULL. */
static inline PyObject *attribute_hinted(PyObject *object, int64_t hint, const RawKey *name)
{
    if (has_inline_values(object)) {
        PyDictKeysObject *keys = ((PyHeapTypeObject *)Py_TYPE(object))->ht_cached_keys;
        return dict_entry_is(keys, hint, name) ? (*_PyObject_ValuesPointer(object))->values[hint] : NULL;
    }
    PyObject *dict = existing_dict(object);
    return dict != NULL ? dict_hinted(dict, hint, name) : NULL;
}

#endif
