/* CPython 3.11: the tables of dicts, the attributes of instances, structs of built-in objects.
 *
 * Included by pyversion_objects.h only. A dict has keys: a table of slots that leads to entries. Either each
 * entry has its value, or the dict has an array of values. An instance without a dict may have its attribute
 * values in an array; the keys are then those of its type. All objects are borrowed. */

#ifndef CAPTURE_PY311_OBJECTS_H
#define CAPTURE_PY311_OBJECTS_H

#include <internal/pycore_dict.h>
#include <internal/pycore_ceval.h>
#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_object.h>
#include <internal/pycore_runtime.h>
#include <stdint.h>

/* --- signals ----------------------------------------------------------------------------------------- */

static inline InterpreterSignals find_interpreter_signals(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Main();
    return (InterpreterSignals){
        .main_thread = &_PyRuntime.main_thread,
        .signals = (const volatile int *)&_PyRuntime.ceval.signals_pending,
        .calls = (const volatile int *)&interpreter->ceval.pending.calls_to_do,
    };
}

static inline void interpreter_look_for_signals(void)
{
    _PyEval_SignalReceived(PyInterpreterState_Main());
}

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

/* --- the collector ----------------------------------------------------------------------------------- */

/* The youngest generation is a list in the order in which objects were made. Those behind `mark` join the
 * oldest one; returns their number. Where `mark` is young no more, none do. The next young collection comes
 * no earlier for them: it counts no more than the `made` objects of before the mark. A full collection comes
 * when a quarter of the old objects have not seen one yet. Of these only some can be garbage, so not all
 * count. */
enum { SETTLED_FOR_ONE_THAT_COUNTS = 4 };

static inline Py_ssize_t collector_make_old(PyObject *mark, int made)
{
    struct _gc_runtime_state *state = &PyInterpreterState_Get()->gc;
    PyGC_Head *young = &state->generations[0].head, *old = &state->generations[NUM_GENERATIONS - 1].head;
    PyGC_Head *permanent = &state->permanent_generation.head, *middle = &state->generations[1].head;
    PyGC_Head *const before = _Py_AS_GC(mark), *item = _PyGCHead_NEXT(before);
    Py_ssize_t count = 0;
    if (state->collecting) {
        return 0; /* it has lists of its own */
    }
    for (; item != young; item = _PyGCHead_NEXT(item), count++) {
        if (item == old || item == middle || item == permanent) {
            return 0;
        }
    }
    if (count == 0) {
        return 0;
    }
    PyGC_Head *const first = _PyGCHead_NEXT(before), *const last = _PyGCHead_PREV(young);
    PyGC_Head *const end = _PyGCHead_PREV(old);
    _PyGCHead_SET_NEXT(before, young);
    _PyGCHead_SET_PREV(young, before);
    _PyGCHead_SET_NEXT(end, first);
    _PyGCHead_SET_PREV(first, end);
    _PyGCHead_SET_NEXT(last, old);
    _PyGCHead_SET_PREV(old, last);
    state->long_lived_pending += count / SETTLED_FOR_ONE_THAT_COUNTS;
    const Py_ssize_t rest = state->generations[0].count - count;
    state->generations[0].count = (int)Py_MIN(Py_MAX(rest, 0), made);
    return count;
}

/* --- structs that CPython's headers do not declare --------------------------------------------------- */

/* Objects/odictobject.c keeps the order of an OrderedDict in a linked list. raw_lookup.c checks both structs
 * when the extension is loaded. */
typedef struct OrderNode {
    PyObject *key;
    Py_hash_t hash;
    struct OrderNode *next, *previous;
} OrderNode;
typedef struct {
    PyDictObject dict;
    OrderNode *first, *last;
} OrderedDict;

typedef struct {
    PyObject_HEAD
    PyObject *start, *stop, *step, *length;
} Range;

/* The iterators of lists, tuples and reversed lists. */
typedef struct {
    PyObject_HEAD
    Py_ssize_t index;
    PyObject *sequence; /* NULL when exhausted */
} SequenceIterator;

typedef struct {
    PyObject_HEAD
    long index, start, step, length;
} RangeIterator;

/* keys, values, items */
typedef struct {
    PyObject_HEAD
    PyDictObject *dict;     /* NULL when exhausted */
    Py_ssize_t used, entry; /* keys of the dict at the start; the entry of its table that is looked at next */
    PyObject *result;
    Py_ssize_t left;
} DictIterator;

typedef struct {
    PyObject_HEAD
    Py_ssize_t index;
    PyObject *inner, *result, *long_index; /* long_index: NULL, or the index where it does not fit */
} EnumerateIterator;

typedef struct {
    PyObject_HEAD
    Py_ssize_t size;
    PyObject *iterators, *result;
    int strict;
} ZipIterator;

typedef struct {
    PyObject_HEAD
    PyObject *iterators, *function;
} MapIterator;

typedef struct {
    PyObject_HEAD
    PyObject *function, *inner;
} FilterIterator;

typedef struct {
    PyObject_HEAD
    Py_ssize_t value;
    PyObject *long_value, *step; /* long_value: NULL, or the value where `value` is not used */
} CountIterator;

typedef struct {
    PyObject_HEAD
    PyObject *element;
    Py_ssize_t left; /* -1: without end */
} RepeatIterator;

typedef struct {
    PyObject_VAR_HEAD
    void *left_block, *right_block;
    Py_ssize_t left_index, right_index;
    size_t changes;
    Py_ssize_t most; /* -1: without limit */
} Deque;

#endif
