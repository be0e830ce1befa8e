/* Look-ups past all user code: see raw_lookup.h.
 *
 * The look-up of CPython calls `__eq__` of a key whose hash collides. This look-up walks the same probe
 * sequence and compares keys by identity or as built-in constants. A collision that only `__eq__` can decide
 * is "uncertain".
 */
#define PY_SSIZE_T_CLEAN
#include "guards/dict_access.h" /* first, see pyversion_objects.h */
#include <structmember.h>

#include "guards/constant_equal.h"
#include "guards/raw_lookup.h"
#include "capture_native.h"
#include "tensors/torch_symbols.h"

#define MAX_NESTING 50

/* --- keys -------------------------------------------------------------------------------------------- */

static int is_scalar_key(PyObject *key)
{
    PyTypeObject *type = Py_TYPE(key);
    return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyBool_Type || type == &PyFloat_Type
           || type == &PyBytes_Type || type == &PyComplex_Type;
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
        int equal = PyObject_RichCompareBool(a, b, Py_EQ); /* numbers of built-in types run C code alone */
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

/* --- dicts ------------------------------------------------------------------------------------------- */

/* The index of the entry with this key. -1: there is none. -2: that is uncertain. */
static Py_ssize_t find_index(PyDictKeysObject *keys, const RawKey *key)
{
    size_t mask = keys_slot_count(keys) - 1, perturb = (size_t)key->hash, i = (size_t)key->hash & mask;
    for (;;) {
        Py_ssize_t index = keys_slot(keys, i);
        if (index == KEYS_EMPTY_SLOT) {
            return -1;
        }
        if (index >= 0) {
            Py_hash_t hash;
            PyObject *candidate = keys_key_and_hash(keys, index, &hash);
            if (candidate != NULL && hash == key->hash) {
                int match = raw_key_matches(key, candidate);
                if (match != RAW_ABSENT) {
                    return match == RAW_FOUND ? index : -2;
                }
            }
        }
        perturb >>= KEYS_PERTURB_SHIFT;
        i = (i * 5 + perturb + 1) & mask;
    }
}

/* The same with a hint: the entry of the last time, if the key is still there. */
static inline Py_ssize_t find_hinted(PyDictKeysObject *keys, const RawKey *key, int64_t *hint)
{
    if (hint != NULL && dict_entry_is(keys, *hint, key)) {
        return *hint;
    }
    Py_ssize_t index = find_index(keys, key);
    if (hint != NULL && index >= 0) {
        *hint = index;
    }
    return index;
}

int raw_dict_find(PyObject *dict, const RawKey *key, int64_t *hint, PyObject **value)
{
    PyDictObject *d = (PyDictObject *)dict;
    Py_ssize_t index = find_hinted(dict_keys(d), key, hint);
    if (index < 0) {
        return index == -1 ? RAW_ABSENT : RAW_UNCERTAIN;
    }
    *value = dict_value_at(d, index);
    return *value == NULL ? RAW_ABSENT : RAW_FOUND;
}

/* --- iteration order --------------------------------------------------------------------------------- */

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

/* Whether entry i of the dict is its item i, because nothing was ever deleted from the table. */
static int is_dense(PyObject *dict)
{
    PyDictObject *d = (PyDictObject *)dict;
    return !PyODict_Check(dict) && !dict_has_split_values(d)
           && PyDict_GET_SIZE(dict) == keys_entry_count(dict_keys(d));
}

int raw_dict_position(PyObject *dict, Py_ssize_t position, PyObject **key, PyObject **value)
{
    RawCursor cursor = {0, NULL, 0};
    if (position >= PyDict_GET_SIZE(dict)) {
        return RAW_ABSENT;
    }
    if (is_dense(dict)) { /* without this, guards on each item of a long dict take the square of its length */
        cursor.position = position;
        return raw_dict_next(dict, &cursor, key, value) ? RAW_FOUND : RAW_ABSENT;
    }
    for (Py_ssize_t i = 0; i <= position; i++) {
        if (!raw_dict_next(dict, &cursor, key, value)) {
            return RAW_ABSENT;
        }
    }
    return RAW_FOUND;
}

/* --- attributes -------------------------------------------------------------------------------------- */

/* An object that has no dict yet has its attribute values in an array. The order is that of the shared keys
 * of the type. */
static int inline_value(PyObject *object, const RawKey *name, int64_t *hint, PyObject **value)
{
    Py_ssize_t index = find_hinted(inline_keys(object), name, hint);
    if (index < 0) {
        return index == -1 ? RAW_ABSENT : RAW_UNCERTAIN;
    }
    *value = inline_value_at(object, index);
    return *value == NULL ? RAW_ABSENT : RAW_FOUND;
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
    if (!PyObject_TypeCheck(object, PyDescr_TYPE(descriptor))
        || (member->type != T_OBJECT && member->type != T_OBJECT_EX)) {
        return RAW_UNCERTAIN;
    }
    *value = *(PyObject **)((char *)object + member->offset);
    if (*value == NULL && member->type == T_OBJECT) {
        *value = Py_None;
    }
    return *value == NULL ? RAW_ABSENT : RAW_FOUND;
}

/* What a look-up found. The cache words of the instruction remember it.
 *
 * PATH: the version tag of the type, above one of the paths below. A tag names one state of one type, for
 * ever: while the tag is the same, the MRO says the same of the name.
 *
 * VERSION: the version tag of the instance dict, which is as unique. VALUE or TABLES: what the dict led to.
 * TABLES are `_parameters`, `_buffers`, `_modules` of an nn.Module. The type or the dict keeps these objects
 * alive while the tags are the same.
 *
 * HINT: the index of the entry, in the keys of the instance or in the table.
 */
enum { CACHE_PATH, CACHE_VERSION, CACHE_VALUE, CACHE_HINT, CACHE_TABLES };
enum { PATH_NONE, PATH_INSTANCE, PATH_CLASS, PATH_MODULE }; /* PATH_MODULE + n: found in table n */
#define TABLES 3
_Static_assert(CACHE_TABLES + TABLES == RAW_CACHE_WORDS, "the cache words of LOAD_ATTR");

/* The instance dict, which has a version. NULL for inline values and for objects without a dict. */
static inline PyDictObject *versioned_dict(PyObject *object)
{
    PyObject *dict = has_inline_values(object) ? NULL : existing_dict(object);
    return dict != NULL && PyDict_Check(dict) ? (PyDictObject *)dict : NULL;
}

static RawKey table_names[TABLES];

static void remember(PyObject *object, int path, PyObject *value, int64_t *cache)
{
    PyTypeObject *type = Py_TYPE(object);
    PyDictObject *dict = versioned_dict(object);
    cache[CACHE_PATH] = has_type_version(type) ? (int64_t)type_version(type) << 8 | path : 0;
    cache[CACHE_VERSION] = dict != NULL ? dict_version(dict) : 0;
    cache[CACHE_VALUE] = (int64_t)(uintptr_t)value;
}

/* Where nn.Module.__getattr__ looks. */
static int module_attribute(PyObject *object, const RawKey *name, int64_t *cache, PyObject **value)
{
    if (torch_symbols.module_type == NULL || !PyType_IsSubtype(Py_TYPE(object), torch_symbols.module_type)) {
        return RAW_ABSENT;
    }
    for (int i = 0; i < TABLES; i++) {
        PyObject *table;
        int found = raw_instance_attribute(object, &table_names[i], NULL, &table);
        if (found != RAW_FOUND || !PyDict_Check(table)) {
            return found == RAW_ABSENT
                       ? RAW_ABSENT
                       : RAW_UNCERTAIN; /* a module before its __init__, or a module with other tables */
        }
        cache[CACHE_TABLES + i] = (int64_t)(uintptr_t)table;
        found = raw_dict_find(table, name, &cache[CACHE_HINT], value);
        if (found == RAW_FOUND) {
            remember(object, PATH_MODULE + i, NULL, cache);
        }
        if (found != RAW_ABSENT) {
            return found;
        }
    }
    return RAW_ABSENT;
}

/* The same by remembered tables. The tables before the one with the name must still lack it. */
static inline PyObject *module_hinted(int table, const RawKey *name, const int64_t *cache)
{
    PyObject *shadow;
    for (int i = 0; i < table; i++) {
        PyObject *earlier = (PyObject *)(uintptr_t)cache[CACHE_TABLES + i];
        if (PyDict_GET_SIZE(earlier) != 0 && raw_dict_find(earlier, name, NULL, &shadow) != RAW_ABSENT) {
            return NULL;
        }
    }
    return dict_hinted((PyObject *)(uintptr_t)cache[CACHE_TABLES + table], cache[CACHE_HINT], name);
}

static int find_attribute(PyObject *object, const RawKey *name, int64_t *cache, PyObject **value)
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
    if (PyType_Check(object)) {
        *value = _PyType_Lookup((PyTypeObject *)object, name->object);
        *value = *value == NULL ? descriptor : *value;
        return *value == NULL ? RAW_ABSENT : RAW_FOUND;
    }
    /* The entry of the class becomes a data descriptor when its own class changes. No version of this class
     * tells of that. */
    int may_take_over = descriptor != NULL && PyType_HasFeature(Py_TYPE(descriptor), Py_TPFLAGS_HEAPTYPE);
    int found = raw_instance_attribute(object, name, &cache[CACHE_HINT], value);
    if (found == RAW_FOUND && !may_take_over) {
        remember(object, PATH_INSTANCE, *value, cache);
    }
    if (found != RAW_ABSENT) {
        return found;
    }
    if (descriptor != NULL) {
        *value = descriptor;
        if (!may_take_over) {
            remember(object, PATH_CLASS, descriptor, cache);
        }
        return RAW_FOUND;
    }
    return module_attribute(object, name, cache, value);
}

/* The path of the last time, where the type says the same of the name. NULL: look again. */
static inline PyObject *cached_attribute(PyObject *object, const RawKey *name, int64_t *cache)
{
    int path = (int)(cache[CACHE_PATH] & 0xff);
    PyObject *value = (PyObject *)(uintptr_t)cache[CACHE_VALUE], *shadow;
    PyDictObject *dict = versioned_dict(object);
    if (dict != NULL && dict_version(dict) == cache[CACHE_VERSION]) {
        return path >= PATH_MODULE ? module_hinted(path - PATH_MODULE, name, cache) : value;
    }
    if (path == PATH_INSTANCE) {
        return attribute_hinted(object, cache[CACHE_HINT], name);
    }
    if (path == PATH_CLASS) {
        return raw_instance_attribute(object, name, NULL, &shadow) == RAW_ABSENT ? value : NULL;
    }
    return NULL;
}

static RawKey getattr_name, getattribute_name;

/* A Python `__getattribute__` decides about every name. */
static int has_own_getattribute(PyTypeObject *type)
{
    PyObject *found = _PyType_Lookup(type, getattribute_name.object);
    return found != NULL && is_python_function(found);
}

/* A `__getattr__` other than nn.Module's decides about names that are not found. */
static int has_own_getattr(PyObject *object)
{
    PyObject *found = NULL;
    if (PyModule_Check(object)) {
        return raw_instance_attribute(object, &getattr_name, NULL, &found) != RAW_ABSENT;
    }
    found = _PyType_Lookup(Py_TYPE(object), getattr_name.object);
    return found != NULL
           && (torch_symbols.module_type == NULL
               || found != _PyType_Lookup(torch_symbols.module_type, getattr_name.object));
}

int raw_attribute(PyObject *object, const RawKey *name, int64_t *cache, PyObject **value)
{
    PyTypeObject *type = Py_TYPE(object);
    if (cache[CACHE_PATH] != 0 && cache[CACHE_PATH] >> 8 == type_version(type) && has_type_version(type)) {
        *value = cached_attribute(object, name, cache);
        if (*value != NULL) {
            return RAW_FOUND;
        }
    }
    cache[CACHE_PATH] = 0;
    if (has_own_getattribute(type)) {
        return RAW_UNCERTAIN;
    }
    int found = find_attribute(object, name, cache, value);
    return found == RAW_ABSENT && has_own_getattr(object) ? RAW_UNCERTAIN : found;
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

/* --- start ------------------------------------------------------------------------------------------- */

static int order_is_readable(void)
{
    PyObject *dict = PyODict_New(), *key = NULL, *value = NULL;
    PyObject *a = PyUnicode_InternFromString("a"), *b = PyUnicode_InternFromString("b"), *moved = NULL;
    int good = 0;
    if (dict != NULL && a != NULL && b != NULL && PyODict_SetItem(dict, a, Py_None) == 0
        && PyODict_SetItem(dict, b, Py_None) == 0) {
        moved = PyObject_CallMethod(dict, "move_to_end", "O", a);
        good = moved != NULL && raw_dict_position(dict, 0, &key, &value) == RAW_FOUND && key == b
               && raw_dict_position(dict, 1, &key, &value) == RAW_FOUND && key == a;
    }
    Py_XDECREF(moved);
    Py_XDECREF(a);
    Py_XDECREF(b);
    Py_XDECREF(dict);
    return good;
}

static int intern(const char *text, RawKey *key)
{
    PyObject *name = PyUnicode_InternFromString(text);
    if (name == NULL) {
        return -1;
    }
    *key = (RawKey){0, name, PyObject_Hash(name)};
    return 0;
}

int init_raw_lookup(void)
{
    if (intern("_parameters", &table_names[0]) < 0 || intern("_buffers", &table_names[1]) < 0
        || intern("_modules", &table_names[2]) < 0 || intern("__getattr__", &getattr_name) < 0
        || intern("__getattribute__", &getattribute_name) < 0) {
        return -1;
    }
    if (!order_is_readable()) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ImportError,
                            "the layout of this interpreter's OrderedDict is not the expected one");
        }
        return -1;
    }
    return 0;
}
