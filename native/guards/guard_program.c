/* Runs guard programs: walks each source once, checks the guards, leaves the graph's inputs in slots.
 *
 * In:  words (guards/program.py writes them) and a frame as it stands at entry.
 * Out: -1 and the slots, or the index of the first guard that fails. A run never runs user code and never
 * raises. It allocates only the int object of a size that has changed since the last run.
 *
 *     type(x) is Tensor, x: float32[4]   ->   LOAD_LOCAL r0 0; CHECK_TENSOR r0 ...; STORE_SLOT r0 0
 *
 * References in registers and slots are borrowed: from the frame, from the objects on the way, from the
 * program. They are valid until some code runs that can change those objects. The caller takes references of
 * its own before that.
 */
#include "guards/dict_access.h" /* first, see pyversion_objects.h */
#include "guards/guard_program.h"
#include "guards/constant_equal.h"
#include "tensors/tensor_access.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

static PyTypeObject GuardProgram_Type;

/* --- the machine ------------------------------------------------------------------------------------- */

/* The int object of an integer slot: the object of the last run while the value is the same. */
static PyObject *int_object(GuardProgram *program, int64_t slot, int64_t value)
{
    PyObject *held = program->int_slots[slot];
    int64_t before;
    if (held != NULL && int_value(held, &before) && before == value) {
        return held;
    }
    PyObject *made = PyLong_FromLongLong(value);
    if (made == NULL) {
        PyErr_Clear();
        return NULL;
    }
    Py_XSETREF(program->int_slots[slot], made);
    return made;
}

static PyObject *load_free_cell(const FrameState *frame, int64_t index)
{
    PyObject *closure = frame->function == NULL ? NULL : frame->function->func_closure;
    return closure != NULL && index >= 0 && index < PyTuple_GET_SIZE(closure)
               ? PyTuple_GET_ITEM(closure, index)
               : NULL;
}

static PyObject *load_named(PyObject *dict, int64_t *operands)
{
    if (dict == NULL || !PyDict_Check(dict)) {
        return NULL;
    }
    PyObject *value = dict_hinted(dict, operands[3], (RawKey *)operands);
    if (value == NULL && raw_dict_find(dict, (RawKey *)operands, &operands[3], &value) != RAW_FOUND) {
        return NULL;
    }
    return value;
}

static PyObject *load_attribute(PyObject *owner, int64_t *operands)
{
    PyObject *value = NULL;
    return raw_attribute(owner, (RawKey *)operands, &operands[3], &value) == RAW_FOUND ? value : NULL;
}

static PyObject *load_type_attribute(PyObject *owner, int64_t *operands)
{
    PyObject *value = NULL;
    if (!PyType_Check(owner)) {
        return NULL;
    }
    int found =
        raw_type_attribute((PyTypeObject *)owner, (RawKey *)operands, (void *)(uintptr_t)operands[3], &value);
    return found == RAW_FOUND ? value : NULL;
}

static int lacks_attribute(PyObject *owner, int64_t *operands)
{
    PyObject *value;
    return raw_instance_attribute(owner, (RawKey *)operands, NULL, &value) == RAW_ABSENT;
}

static int attribute_outcome_is(PyObject *owner, int64_t *operands)
{
    PyObject *value;
    int64_t cache[RAW_CACHE_WORDS] = {0};
    return raw_attribute(owner, (RawKey *)operands, cache, &value) == operands[3];
}

static int class_lacks(PyObject *owner, int64_t *operands)
{
    PyObject *value;
    return PyType_Check(owner)
           && raw_type_attribute((PyTypeObject *)owner, (RawKey *)operands, NULL, &value) == RAW_ABSENT;
}

static int key_outcome_is(PyObject *dict, int64_t *operands)
{
    PyObject *value;
    return PyDict_Check(dict) && raw_dict_find(dict, (RawKey *)operands, NULL, &value) == operands[3];
}

static int in_range(PyObject *object, const int64_t *bounds)
{
    int64_t value;
    return int_value(object, &value) && bounds[0] <= value && value <= bounds[1];
}

static inline PyObject *item_of(PyObject *owner, int64_t index)
{
    if (PyTuple_Check(owner)) {
        return (uint64_t)index < (uint64_t)PyTuple_GET_SIZE(owner) ? PyTuple_GET_ITEM(owner, index) : NULL;
    }
    return PyList_Check(owner) && (uint64_t)index < (uint64_t)PyList_GET_SIZE(owner)
               ? PyList_GET_ITEM(owner, index)
               : NULL;
}

static inline int is_int(PyObject *object, int64_t expected)
{
    int64_t value;
    if (PyLong_CheckExact(object)
        && (size_t)(Py_SIZE(object) + 1) <= 2) { /* a small number has one digit at most */
        return Py_SIZE(object) * (int64_t)((PyLongObject *)object)->ob_digit[0] == expected;
    }
    return int_value(object, &value) && value == expected;
}

#define A HEAD_A(head)
#define B HEAD_B(head)
/* Each case knows the width of its instruction as a constant, so that the processor finds the next
 * instruction without a load from a table. */
#define LOAD(name, value)                                                                                    \
    case OP_##name:                                                                                          \
        word = o + WIDTH_##name;                                                                             \
        if ((registers[A] = (value)) == NULL) {                                                              \
            return HEAD_GUARD(head);                                                                         \
        }                                                                                                    \
        break
#define CHECK(name, condition)                                                                               \
    case OP_##name:                                                                                          \
        word = o + WIDTH_##name;                                                                             \
        if (!(condition)) {                                                                                  \
            return HEAD_GUARD(head);                                                                         \
        }                                                                                                    \
        break
#define CHECK_LIST(name, condition)                                                                          \
    case OP_##name:                                                                                          \
        word = o + guard_operand_words(OP_##name, o);                                                        \
        if (!(condition)) {                                                                                  \
            return HEAD_GUARD(head);                                                                         \
        }                                                                                                    \
        break

int guard_program_run(PyObject *self, const FrameState *frame, PyObject **slots)
{
    GuardProgram *program = (GuardProgram *)self;
    PyObject **registers = program->registers;
    int64_t *ints = program->ints, *word = program->words, *end = word + program->nwords;
    while (word < end) {
        int64_t head = *word;
        int64_t *o = word + 1;
        int op = HEAD_OP(head);
        switch (op) {
            LOAD(LOAD_LOCAL, (uint64_t)o[0] < (uint64_t)frame->nlocals ? frame->locals[o[0]] : NULL);
            LOAD(LOAD_GLOBAL, load_named(frame->globals, o));
            LOAD(LOAD_BUILTIN, load_named(frame->builtins, o));
            LOAD(LOAD_GLOBALS, frame->globals);
            LOAD(LOAD_FUNCTION, (PyObject *)frame->function);
            LOAD(LOAD_FREE_CELL, load_free_cell(frame, o[0]));
            LOAD(LOAD_CONSTANT, (PyObject *)(uintptr_t)o[0]);
            LOAD(LOAD_STATE, guard_load_state(o));
            LOAD(LOAD_ATTR, load_attribute(registers[B], o));
            LOAD(LOAD_TYPE_ATTR, load_type_attribute(registers[B], o));
            LOAD(LOAD_ITEM, item_of(registers[B], o[0]));
            LOAD(LOAD_DICT_ITEM, load_named(registers[B], o));
            CHECK(LOAD_SHAPE, guard_load_shape(registers[B], o[0], o[1], &ints[A]));
            CHECK(LOAD_INT, int_value(registers[B], &ints[A]));
            CHECK(LOAD_LENGTH, guard_load_length(registers[B], &ints[A]));
            CHECK(LOAD_FLOAT, guard_load_float(registers[B], &ints[A]));
            CHECK(LOAD_NUMPY_INT, guard_load_numpy_int(registers[B], o[0], &ints[A]));
            CHECK_LIST(LOAD_COMPUTED, guard_load_computed(ints, o, &ints[A]));
            CHECK(CHECK_TYPE, (int64_t)(uintptr_t)Py_TYPE(registers[B]) == o[0]);
            CHECK(CHECK_ID, (int64_t)(uintptr_t)registers[B] == o[0]);
            CHECK(CHECK_SAME, registers[A] == registers[B]);
            CHECK(CHECK_LENGTH, guard_check_length(registers[B], o[0]));
            CHECK(CHECK_INT, is_int(registers[B], o[0]));
            CHECK(CHECK_CONSTANT, constant_equal((PyObject *)(uintptr_t)o[0], registers[B]));
            CHECK(CHECK_CONTENTS, contents_equal((PyObject *)(uintptr_t)o[0], registers[B]));
            CHECK(CHECK_INT_RANGE, in_range(registers[B], o));
            CHECK_LIST(CHECK_ITERATOR, guard_check_iterator(registers[B], o));
            CHECK_LIST(CHECK_TENSOR, guard_check_tensor(registers[B], o));
            CHECK(CHECK_UNWRITTEN, guard_check_unwritten(registers[B], o));
            CHECK_LIST(CHECK_BUFFER, guard_check_buffer(registers[B], o));
            CHECK(CHECK_FUNCTION, is_python_function(registers[B]));
            CHECK_LIST(CHECK_GLOBAL_STATE, guard_check_global_state(o));
            CHECK(CHECK_STATE, guard_check_state(o));
            CHECK(CHECK_NO_ATTRIBUTE, lacks_attribute(registers[B], o));
            CHECK(CHECK_HAS_ATTRIBUTE, attribute_outcome_is(registers[B], o));
            CHECK(CHECK_CLASS_LACKS, class_lacks(registers[B], o));
            CHECK(CHECK_DICT_CONTAINS, key_outcome_is(registers[B], o));
            CHECK_LIST(CHECK_DICT_KEYS, guard_check_dict_keys(registers[B], o));
            CHECK_LIST(CHECK_SET, guard_check_set(registers[B], o));
            CHECK_LIST(CHECK_SET_LAYOUT, guard_check_set_layout(registers[B], o));
            CHECK_LIST(CHECK_DISTINCT, guard_check_distinct(program, o));
            CHECK_LIST(CHECK_ALIASING, guard_check_aliasing(program, o));
            CHECK_LIST(CHECK_SHAPE, guard_check_shape(ints, o));
            CHECK(STORE_SLOT, (slots[o[0]] = registers[B]) != NULL);
            CHECK(STORE_INT_SLOT, (slots[o[0]] = int_object(program, o[0], ints[B])) != NULL);
        default: /* the rarer loads */
            word = o + guard_widths[op].fixed;
            if ((registers[A] = guard_load_member(op, registers[B], o)) == NULL) {
                return HEAD_GUARD(head);
            }
        }
    }
    return -1;
}

Py_ssize_t guard_program_nslots(PyObject *program)
{
    return ((GuardProgram *)program)->nslots;
}
int guard_program_check(PyObject *object)
{
    return PyObject_TypeCheck(object, &GuardProgram_Type);
}

/* --- the Python object ------------------------------------------------------------------------------- */

static int copy_words(GuardProgram *self, PyObject *words)
{
    Py_ssize_t size = PyBytes_GET_SIZE(words);
    if (size % (Py_ssize_t)sizeof(int64_t) != 0) {
        PyErr_Format(PyExc_ValueError, "a guard program of %zd bytes is not a sequence of int64", size);
        return -1;
    }
    self->nwords = size / (Py_ssize_t)sizeof(int64_t);
    self->words = PyMem_Malloc((size_t)size + 1);
    if (self->words == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(self->words, PyBytes_AS_STRING(words), (size_t)size);
    return 0;
}

static int allocate_scratch(GuardProgram *self)
{
    self->registers = PyMem_Calloc((size_t)self->nregisters + 1, sizeof(PyObject *));
    self->ints = PyMem_Calloc((size_t)self->nints + 1, sizeof(int64_t));
    self->int_slots = PyMem_Calloc((size_t)self->nslots + 1, sizeof(PyObject *));
    self->table = PyMem_Calloc(2 * (size_t)self->table_size + 1, sizeof(uintptr_t));
    if (self->registers == NULL || self->ints == NULL || self->int_slots == NULL || self->table == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

#define LARGEST 65536

static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"words", "objects", "registers", "ints", "slots", "places", NULL};
    PyObject *words, *objects;
    int registers, ints, slots, places = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "SO!iii|i", names, &words, &PyTuple_Type, &objects,
                                     &registers, &ints, &slots, &places)) {
        return NULL;
    }
    if (registers < 0 || registers > LARGEST || ints < 0 || ints > LARGEST || slots < 0 || slots > LARGEST
        || places < 0 || places > LARGEST) {
        return PyErr_Format(PyExc_ValueError, "a guard program has at most %d registers, slots and places",
                            LARGEST);
    }
    GuardProgram *self = (GuardProgram *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->objects = Py_NewRef(objects);
    self->nregisters = registers;
    self->nints = ints;
    self->nslots = slots;
    for (self->table_size = 4; self->table_size < 2 * places; self->table_size *= 2) {
    }
    if (copy_words(self, words) < 0 || allocate_scratch(self) < 0 || guard_program_verify(self) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static int program_traverse(GuardProgram *self, visitproc visit, void *arg)
{
    Py_VISIT(self->objects);
    return 0;
}

/* The words point into `objects`, and the program can not run without them. So there is no tp_clear: other
 * objects break the cycles. */
static void program_dealloc(GuardProgram *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    for (int i = 0; self->int_slots != NULL && i < self->nslots; i++) {
        Py_XDECREF(self->int_slots[i]);
    }
    PyMem_Free(self->int_slots);
    PyMem_Free(self->registers);
    PyMem_Free(self->ints);
    PyMem_Free(self->table);
    PyMem_Free(self->words);
    Py_CLEAR(self->objects);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *slots_tuple(GuardProgram *self, PyObject **slots)
{
    PyObject *tuple = PyTuple_New(self->nslots);
    for (int i = 0; tuple != NULL && i < self->nslots; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(slots[i]));
    }
    return tuple;
}

/* _capture.NULL, which stands for an unbound local in the tuple of check(). The reference is borrowed,
 * because the module keeps the object. NULL with an exception. */
static PyObject *null_marker(void)
{
    PyObject *module = PyImport_ImportModule("_capture");
    PyObject *marker = module == NULL ? NULL : PyObject_GetAttrString(module, "NULL");
    Py_XDECREF(module);
    Py_XDECREF(marker);
    return marker;
}

static PyObject *program_check(GuardProgram *self, PyObject *args)
{
    PyObject *locals, *globals, *builtins, *function;
    if (!PyArg_ParseTuple(args, "O!O!O!O!", &PyTuple_Type, &locals, &PyDict_Type, &globals, &PyDict_Type,
                          &builtins, &PyFunction_Type, &function)) {
        return NULL;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(locals);
    PyObject *unbound = null_marker();
    PyObject **values =
        unbound == NULL ? NULL : PyMem_Calloc((size_t)(count + self->nslots) + 1, sizeof(PyObject *));
    if (values == NULL) {
        return unbound == NULL ? NULL : PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *value = PyTuple_GET_ITEM(locals, i);
        values[i] = value == unbound ? NULL : value;
    }
    FrameState frame = {values, count, (PyFunctionObject *)function, globals, builtins};
    int failed = guard_program_run((PyObject *)self, &frame, values + count);
    PyObject *slots = failed < 0 ? slots_tuple(self, values + count) : Py_NewRef(Py_None);
    PyMem_Free(values);
    return slots == NULL ? NULL : Py_BuildValue("(iN)", failed, slots);
}

/* Runs `count` times and returns the seconds, for benchmarks. */
static PyObject *program_time(GuardProgram *self, PyObject *args)
{
    PyObject *locals, *globals, *builtins, *function;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "O!O!O!O!n", &PyTuple_Type, &locals, &PyDict_Type, &globals, &PyDict_Type,
                          &builtins, &PyFunction_Type, &function, &count)) {
        return NULL;
    }
    PyObject **slots = PyMem_Calloc((size_t)self->nslots + 1, sizeof(PyObject *));
    if (slots == NULL) {
        return PyErr_NoMemory();
    }
    FrameState frame = {((PyTupleObject *)locals)->ob_item, PyTuple_GET_SIZE(locals),
                        (PyFunctionObject *)function, globals, builtins};
    int failed = -1;
    _PyTime_t start = _PyTime_GetPerfCounter();
    for (Py_ssize_t i = 0; i < count && failed < 0; i++) {
        failed = guard_program_run((PyObject *)self, &frame, slots);
    }
    double seconds = _PyTime_AsSecondsDouble(_PyTime_GetPerfCounter() - start);
    PyMem_Free(slots);
    if (failed >= 0) {
        return PyErr_Format(PyExc_ValueError, "guard %d fails in this frame", failed);
    }
    return PyFloat_FromDouble(seconds);
}

static PyMethodDef program_methods[] = {
    {"check", (PyCFunction)program_check, METH_VARARGS,
     "check(locals, globals, builtins, function) -> (index of the failed guard | -1, slots | None)\n\n"
     "`locals` has an item for each of the code's co_nlocalsplus; _capture.NULL marks an unbound one."},
    {"time", (PyCFunction)program_time, METH_VARARGS,
     "time(locals, globals, builtins, function, count) -> seconds for that many runs"},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef program_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(GuardProgram, weakrefs), READONLY, NULL},
    {"objects", T_OBJECT, offsetof(GuardProgram, objects), READONLY, "Objects that the program holds."},
    {"nslots", T_INT, offsetof(GuardProgram, nslots), READONLY, "Number of slots."},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject GuardProgram_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_capture.GuardProgram",
    .tp_doc = "GuardProgram(words, objects, registers, ints, slots, places=0): see guards/program.py.",
    .tp_basicsize = sizeof(GuardProgram),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = program_new,
    .tp_dealloc = (destructor)program_dealloc,
    .tp_traverse = (traverseproc)program_traverse,
    .tp_methods = program_methods,
    .tp_members = program_members,
    .tp_weaklistoffset = offsetof(GuardProgram, weakrefs),
};

int init_guard_program(PyObject *module)
{
    init_guard_widths();
    if (init_raw_lookup() < 0 || init_guard_loads() < 0 || init_guard_iterators(module) < 0
        || PyModule_AddType(module, &GuardProgram_Type) < 0) {
        return -1;
    }
    PyObject *table = guard_instruction_table(), *operators = guard_shape_operators();
    int status =
        table == NULL || operators == NULL || PyModule_AddObjectRef(module, "guard_instructions", table) < 0
            ? -1
            : PyModule_AddObjectRef(module, "shape_operators", operators);
    Py_XDECREF(table);
    Py_XDECREF(operators);
    return status;
}
