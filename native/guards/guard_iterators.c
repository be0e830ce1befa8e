/* The state of built-in iterators: numbers that say how far they have come, and the objects that they walk
 * over.
 *
 * In:  an iterator, a view of a dict or a deque.
 * Out: its numbers or a part. guards/properties/iterator_state.py gives the same from Python.
 *
 * The part of a view is its dict. The number of a deque is the most items that it may hold.
 */
#include "guards/dict_access.h" /* first, see pyversion_objects.h */
#include "guards/guard_program.h"

#include <string.h>

enum { MOST_NUMBERS = 4 };

/* The number of words that were written, or -1 where the state has no such form. */
static int sequence_numbers(PyObject *object, int64_t *numbers)
{
    SequenceIterator *iterator = (SequenceIterator *)object;
    numbers[0] = iterator->index;
    return iterator->sequence == NULL ? -1 : 1;
}

static PyObject *sequence_part(PyObject *object, Py_ssize_t index)
{
    return index == 0 ? ((SequenceIterator *)object)->sequence : NULL;
}

static int range_numbers(PyObject *object, int64_t *numbers)
{
    RangeIterator *iterator = (RangeIterator *)object;
    numbers[0] = iterator->index;
    numbers[1] = iterator->start;
    numbers[2] = iterator->step;
    numbers[3] = iterator->length;
    return 4;
}

/* The number of keys among the first entries of the table. */
static Py_ssize_t keys_before(PyDictObject *dict, Py_ssize_t end)
{
    Py_ssize_t count = 0;
    if (dict_has_split_values(dict)) { /* in the order of insertion, without gaps */
        return end < dict->ma_used ? end : dict->ma_used;
    }
    for (Py_ssize_t i = 0; i < end && i < keys_entry_count(dict_keys(dict)); i++) {
        count += dict_value_at(dict, i) != NULL;
    }
    return count;
}

/* The state exists only where the dict has the keys of the start: then the last items of the dict are left.
 */
static int dict_numbers(PyObject *object, int64_t *numbers)
{
    DictIterator *iterator = (DictIterator *)object;
    PyDictObject *dict = iterator->dict;
    if (dict == NULL || dict->ma_used != iterator->used
        || keys_before(dict, iterator->entry) != iterator->used - iterator->left) {
        return -1;
    }
    numbers[0] = iterator->used - iterator->left;
    numbers[1] = iterator->used;
    return 2;
}

static PyObject *dict_part(PyObject *object, Py_ssize_t index)
{
    return index == 0 ? (PyObject *)((DictIterator *)object)->dict : NULL;
}

static PyObject *no_part(PyObject *object, Py_ssize_t index)
{
    return NULL;
}

static int enumerate_numbers(PyObject *object, int64_t *numbers)
{
    EnumerateIterator *iterator = (EnumerateIterator *)object;
    numbers[0] = iterator->index;
    return iterator->long_index == NULL ? 1 : -1;
}

static PyObject *enumerate_part(PyObject *object, Py_ssize_t index)
{
    return index == 0 ? ((EnumerateIterator *)object)->inner : NULL;
}

static PyObject *tuple_item(PyObject *tuple, Py_ssize_t index)
{
    return index >= 0 && index < PyTuple_GET_SIZE(tuple) ? PyTuple_GET_ITEM(tuple, index) : NULL;
}

static int zip_numbers(PyObject *object, int64_t *numbers)
{
    ZipIterator *iterator = (ZipIterator *)object;
    numbers[0] = iterator->size;
    numbers[1] = iterator->strict;
    return 2;
}

static PyObject *zip_part(PyObject *object, Py_ssize_t index)
{
    return tuple_item(((ZipIterator *)object)->iterators, index);
}

static int no_numbers(PyObject *object, int64_t *numbers)
{
    return 0;
}

static PyObject *map_part(PyObject *object, Py_ssize_t index)
{
    MapIterator *iterator = (MapIterator *)object;
    return index == 0 ? iterator->function : tuple_item(iterator->iterators, index - 1);
}

static PyObject *filter_part(PyObject *object, Py_ssize_t index)
{
    FilterIterator *iterator = (FilterIterator *)object;
    return index == 0 ? iterator->function : index == 1 ? iterator->inner : NULL;
}

static int count_numbers(PyObject *object, int64_t *numbers)
{
    CountIterator *iterator = (CountIterator *)object;
    int overflow = 0;
    if (iterator->long_value == NULL) {
        numbers[0] = iterator->value;
        return 1;
    }
    if (!PyLong_CheckExact(iterator->long_value)) {
        return -1;
    }
    numbers[0] = PyLong_AsLongLongAndOverflow(iterator->long_value, &overflow);
    return overflow ? -1 : 1;
}

static PyObject *count_part(PyObject *object, Py_ssize_t index)
{
    return index == 0 ? ((CountIterator *)object)->step : NULL;
}

static int repeat_numbers(PyObject *object, int64_t *numbers)
{
    numbers[0] = ((RepeatIterator *)object)->left;
    return 1;
}

static PyObject *repeat_part(PyObject *object, Py_ssize_t index)
{
    return index == 0 ? ((RepeatIterator *)object)->element : NULL;
}

static PyObject *view_part(PyObject *object, Py_ssize_t index)
{
    return index == 0 ? (PyObject *)((_PyDictViewObject *)object)->dv_dict : NULL;
}

static int deque_numbers(PyObject *object, int64_t *numbers)
{
    numbers[0] = ((Deque *)object)->most;
    return 1;
}

static struct {
    PyTypeObject *type;
    int (*numbers)(PyObject *, int64_t *);
    PyObject *(*part)(PyObject *, Py_ssize_t);
} KINDS[] = {
    {&PyListIter_Type, sequence_numbers, sequence_part},
    {&PyTupleIter_Type, sequence_numbers, sequence_part},
    {&PyListRevIter_Type, sequence_numbers, sequence_part},
    {&PyRangeIter_Type, range_numbers, no_part},
    {&PyEnum_Type, enumerate_numbers, enumerate_part},
    {&PyZip_Type, zip_numbers, zip_part},
    {&PyMap_Type, no_numbers, map_part},
    {&PyFilter_Type, no_numbers, filter_part},
    {&PyDictIterKey_Type, dict_numbers, dict_part},
    {&PyDictIterValue_Type, dict_numbers, dict_part},
    {&PyDictIterItem_Type, dict_numbers, dict_part},
    {&PyDictKeys_Type, no_numbers, view_part},
    {&PyDictValues_Type, no_numbers, view_part},
    {&PyDictItems_Type, no_numbers, view_part},
    {&PyODictKeys_Type, no_numbers, view_part},
    {&PyODictValues_Type, no_numbers, view_part},
    {&PyODictItems_Type, no_numbers, view_part},
    {NULL, deque_numbers, no_part},
    {NULL, count_numbers, count_part},
    {NULL, repeat_numbers, repeat_part},
};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

static int kind_of(PyObject *iterator)
{
    for (int i = 0; i < KIND_COUNT; i++) {
        if (Py_IS_TYPE(iterator, KINDS[i].type)) {
            return i;
        }
    }
    return -1;
}

PyObject *guard_load_iterator_part(PyObject *owner, const int64_t *operands)
{
    const int kind = kind_of(owner);
    return kind < 0 ? NULL : KINDS[kind].part(owner, (Py_ssize_t)operands[0]);
}

int guard_check_iterator(PyObject *object, const int64_t *operands)
{
    int64_t numbers[MOST_NUMBERS];
    const int kind = kind_of(object);
    const int count = kind < 0 ? -1 : KINDS[kind].numbers(object, numbers);
    return count == operands[0] && memcmp(numbers, operands + 1, (size_t)count * sizeof *numbers) == 0;
}

/* --- moving ------------------------------------------------------------------------------------------ */

static int move_count(CountIterator *iterator, PyObject *number)
{
    if (iterator->long_value != NULL) {
        Py_SETREF(iterator->long_value, Py_NewRef(number));
        return 0;
    }
    iterator->value = PyLong_AsSsize_t(number);
    return iterator->value == -1 && PyErr_Occurred() ? -1 : 0;
}

/* Python itself can move these iterators only by taking items. */
static PyObject *move_iterator(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 2 || !PyLong_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, "move_iterator: expected an iterator and an int");
        return NULL;
    }
    if (Py_IS_TYPE(args[0], KINDS[KIND_COUNT - 2].type)) {
        if (move_count((CountIterator *)args[0], args[1]) < 0) {
            return NULL;
        }
        Py_RETURN_NONE;
    }
    const Py_ssize_t number = PyLong_AsSsize_t(args[1]);
    if (number == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (Py_IS_TYPE(args[0], KINDS[KIND_COUNT - 1].type)) {
        ((RepeatIterator *)args[0])->left = number;
    } else if (Py_IS_TYPE(args[0], &PyEnum_Type) && ((EnumerateIterator *)args[0])->long_index == NULL) {
        ((EnumerateIterator *)args[0])->index = number;
    } else {
        PyErr_Format(PyExc_TypeError, "move_iterator: a %.200s can't be moved", Py_TYPE(args[0])->tp_name);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"move_iterator", (PyCFunction)(void (*)(void))move_iterator, METH_FASTCALL,
     "move_iterator(iterator, number): the index of an enumerate, the next value of an itertools.count, what "
     "is left of an itertools.repeat."},
    {NULL, NULL, 0, NULL},
};

/* The last three kinds are classes that Python's headers do not give. */
int init_guard_iterators(PyObject *module)
{
    static const char *const NAMES[][2] = {
        {"collections", "deque"}, {"itertools", "count"}, {"itertools", "repeat"}};
    int failed = 0;
    for (int i = 0; i < 3 && !failed; i++) {
        PyObject *home = PyImport_ImportModule(NAMES[i][0]);
        PyTypeObject *type = home == NULL ? NULL : (PyTypeObject *)PyObject_GetAttrString(home, NAMES[i][1]);
        Py_XDECREF(home);
        failed = type == NULL;
        KINDS[KIND_COUNT - 3 + i].type = type;
    }
    return failed ? -1 : PyModule_AddFunctions(module, functions);
}
