/* Look-ups in dicts and objects that never run user code and never raise.
 *
 * In:  an object and a key with its hash.
 * Out: a borrowed reference. The answer is "uncertain" where only `__eq__`, `__getattr__` or a property can
 * tell. It fails a guard.
 */
#ifndef CAPTURE_RAW_LOOKUP_H
#define CAPTURE_RAW_LOOKUP_H

#include <Python.h>
#include <stdint.h>

/* Three words of a guard program. `by_identity`: `object` is only an address to compare with. Its object may
 * be dead. */
typedef struct {
    int64_t by_identity;
    PyObject *object;
    Py_hash_t hash;
} RawKey;

enum { RAW_UNCERTAIN = -1, RAW_ABSENT = 0, RAW_FOUND = 1 };

/* `hint` remembers the entry, or is NULL. A wrong hint costs only time. */
int raw_dict_find(PyObject *dict, const RawKey *key, int64_t *hint, PyObject **value);
/* The item at a position of the iteration order. (An OrderedDict has its own order.) */
int raw_dict_position(PyObject *dict, Py_ssize_t position, PyObject **key, PyObject **value);
/* Walks in iteration order: 1 and the next item, or 0 at the end. The cursor is all zero at the start. */
typedef struct {
    Py_ssize_t position;
    void *node;
    int started;
} RawCursor;
int raw_dict_next(PyObject *dict, RawCursor *cursor, PyObject **key, PyObject **value);

/* The attribute as guards.lookup.raw_attribute finds it. `cache` has RAW_CACHE_WORDS words, zero at first. */
#define RAW_CACHE_WORDS 7
int raw_attribute(PyObject *object, const RawKey *name, int64_t *cache, PyObject **value);
/* The attribute in the instance's own dict or inline values alone. */
int raw_instance_attribute(PyObject *object, const RawKey *name, int64_t *hint, PyObject **value);
/* The instance dict itself. It is made now where there are only inline values. NULL where there is none. */
PyObject *raw_instance_dict(PyObject *object);
/* The entry in the MRO of `type`; with `after`, behind the class at that address. */
int raw_type_attribute(PyTypeObject *type, const RawKey *name, const void *after, PyObject **value);

/* Whether a key in a container, of the same hash, stands for `key`: RAW_FOUND, RAW_ABSENT or RAW_UNCERTAIN.
 */
int raw_key_matches(const RawKey *key, PyObject *candidate);

/* 0, or -1 with an ImportError where the structs of the interpreter are not the expected ones. */
int init_raw_lookup(void);

#endif
