/* Checks a guard program before it may run. A malformed program raises ValueError and never crashes.
 *
 * In:  words as the encoder wrote them, object operands as indices.
 * Out: the same words with pointers, or -1.
 */
#include "guards/guard_program.h"

#include <string.h>

typedef struct {
    const char *name, *fields, *operands;
} InstructionShape;

static const InstructionShape SHAPES[OP_COUNT] = {
#define X(name, fields, operands) {#name, fields, operands},
    GUARD_INSTRUCTIONS(X)
#undef X
};

static const char *const SHAPE_NAMES[SHAPE_COUNT] = {
#define X(name, arity) #name,
    SHAPE_OPERATORS(X)
#undef X
};

GuardWidth guard_widths[OP_COUNT];

void init_guard_widths(void)
{
    for (int op = 0; op < OP_COUNT; op++) {
        int *width = &guard_widths[op].fixed;
        *width = 0;
        guard_widths[op].repeated = 0;
        for (const char *kind = SHAPES[op].operands; *kind != '\0'; kind++) {
            *width += 1;
            width = *kind == '*' ? &guard_widths[op].repeated : width;
        }
    }
}

typedef struct {
    GuardProgram *program;
    Py_ssize_t position;
    uint8_t *defined, *ints_defined; /* registers that an earlier instruction has written */
    int next_slot;
} Reader;

static int refuse(const Reader *reader, const char *what)
{
    PyErr_Format(PyExc_ValueError, "malformed guard program: %s near word %zd of %zd", what, reader->position,
                 reader->program->nwords);
    return -1;
}

static int next_word(Reader *reader, int64_t **word)
{
    if (reader->position >= reader->program->nwords) {
        return refuse(reader, "it ends inside an instruction");
    }
    *word = &reader->program->words[reader->position++];
    return 0;
}

static int use_register(const Reader *reader, char field, int64_t index)
{
    int is_int = field == 'D' || field == 'S', writes = field == 'd' || field == 'D';
    uint8_t *defined = is_int ? reader->ints_defined : reader->defined;
    if (field == '-') {
        return index == 0 ? 0 : refuse(reader, "an unused field is set");
    }
    if (index < 0 || index >= (is_int ? reader->program->nints : reader->program->nregisters)) {
        return refuse(reader, "a register out of range");
    }
    if (!writes && !defined[index]) {
        return refuse(reader, "a register is read before it is written");
    }
    defined[index] = 1;
    return 0;
}

static int use_object(Reader *reader, int64_t *word)
{
    if (*word < 0 || *word >= PyTuple_GET_SIZE(reader->program->objects)) {
        return refuse(reader, "an object index out of range");
    }
    *word = (int64_t)(uintptr_t)PyTuple_GET_ITEM(reader->program->objects, *word);
    return 0;
}

static int use_operand(Reader *reader, char kind)
{
    int64_t *word, *object;
    if (next_word(reader, &word) < 0) {
        return -1;
    }
    if (kind == 'o') {
        return use_object(reader, word);
    }
    if (kind == 'c' && *word != 0) {
        return refuse(reader, "a cache word is not zero");
    }
    if (kind != 'k') {
        return 0;
    }
    if (next_word(reader, &object) < 0 || (*word == 0 && use_object(reader, object) < 0)) {
        return -1;
    }
    if (*word != 0 && *word != 1) {
        return refuse(reader, "a key is neither an object nor an address");
    }
    return next_word(reader, &word); /* the hash */
}

static int use_operands(Reader *reader, const char *operands)
{
    int64_t *count;
    for (; *operands != '\0' && *operands != '*'; operands++) {
        if (*operands != '.' && use_operand(reader, *operands) < 0) {
            return -1;
        }
    }
    if (*operands == '\0') {
        return 0;
    }
    if (next_word(reader, &count) < 0 || *count < 0 || *count > reader->program->nwords) {
        return PyErr_Occurred() ? -1 : refuse(reader, "a count out of range");
    }
    for (int64_t i = 0; i < *count; i++) {
        for (const char *kind = operands + 1; *kind != '\0'; kind++) {
            if (*kind != '.' && use_operand(reader, *kind) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* --- what single instructions need beyond their operands' kinds -------------------------------------- */

static int name_is_str(const Reader *reader, const int64_t *operands)
{
    return operands[0] == 0 && PyUnicode_CheckExact((PyObject *)(uintptr_t)operands[1])
               ? 0
               : refuse(reader, "a name is not a str");
}

static int is_state_function(const Reader *reader, const int64_t *operands)
{
    int good = PyCFunction_CheckExact((PyObject *)(uintptr_t)operands[0])
               && PyTuple_CheckExact((PyObject *)(uintptr_t)operands[1]);
    return good ? 0 : refuse(reader, "a state is read by something else than a built-in function");
}

static int registers_in_list(const Reader *reader, const int64_t *operands, int step)
{
    if (operands[0] * 2 > reader->program->table_size) {
        return refuse(reader, "more places than the scratch table was made for");
    }
    for (int64_t i = 0; i < operands[0]; i++) {
        if (use_register(reader, 's', operands[1 + step * i]) < 0) {
            return -1;
        }
    }
    return 0;
}

static int shape_is_sound(const Reader *reader, const int64_t *operands)
{
    int depth = 0;
    for (int64_t i = 0; i < operands[0]; i++) {
        int64_t op = operands[1 + 2 * i];
        if (op < 0 || op >= SHAPE_COUNT || depth < shape_arity[op]) {
            return refuse(reader, "a shape expression is not postfix");
        }
        if (op == SHAPE_LOAD && use_register(reader, 'S', operands[2 + 2 * i]) < 0) {
            return -1;
        }
        depth += 1 - shape_arity[op];
        if (depth > SHAPE_DEPTH) {
            return refuse(reader, "a shape expression is too deep");
        }
    }
    return depth == 1 ? 0 : refuse(reader, "a shape expression leaves no single value");
}

static int is_sound(Reader *reader, int op, const int64_t *operands)
{
    switch (op) {
    case OP_LOAD_ATTR:
    case OP_LOAD_TYPE_ATTR:
    case OP_CHECK_NO_ATTRIBUTE:
    case OP_CHECK_HAS_ATTRIBUTE:
    case OP_CHECK_CLASS_LACKS:
        return name_is_str(reader, operands);
    case OP_LOAD_STATE:
    case OP_CHECK_STATE:
        return is_state_function(reader, operands);
    case OP_CHECK_DISTINCT:
        return registers_in_list(reader, operands, 1);
    case OP_CHECK_ALIASING:
        return registers_in_list(reader, operands, 2);
    case OP_CHECK_BUFFER:
        return operands[3] % 2 == 0 ? 0 : refuse(reader, "sizes without strides");
    case OP_CHECK_SHAPE:
    case OP_LOAD_COMPUTED:
        return shape_is_sound(reader, operands);
    case OP_CHECK_TENSOR: /* ndim, and a count of sizes or of sizes and strides */
        if (operands[6] < 0 || (operands[7] != operands[6] && operands[7] != 2 * operands[6])) {
            return refuse(reader, "a tensor check with the wrong number of sizes");
        }
        return 0;
    case OP_STORE_SLOT:
    case OP_STORE_INT_SLOT:
        return operands[0] == reader->next_slot++ && operands[0] < reader->program->nslots
                   ? 0
                   : refuse(reader, "slots out of order");
    default:
        return 0;
    }
}

static int verify_instruction(Reader *reader)
{
    int64_t *head;
    if (next_word(reader, &head) < 0) {
        return -1;
    }
    int op = HEAD_OP(*head);
    if (op >= OP_COUNT) {
        return refuse(reader, "an unknown instruction");
    }
    const int64_t *operands = head + 1;
    const char *fields = SHAPES[op].fields;
    if (use_register(reader, fields[1], HEAD_B(*head)) < 0
        || use_register(reader, fields[0], HEAD_A(*head)) < 0
        || use_operands(reader, SHAPES[op].operands) < 0) {
        return -1;
    }
    return is_sound(reader, op, operands);
}

int guard_program_verify(GuardProgram *program)
{
    Reader reader = {program, 0, PyMem_Calloc(1, (size_t)program->nregisters + 1),
                     PyMem_Calloc(1, (size_t)program->nints + 1), 0};
    int status = reader.defined == NULL || reader.ints_defined == NULL ? (PyErr_NoMemory(), -1) : 0;
    while (status == 0 && reader.position < program->nwords) {
        status = verify_instruction(&reader);
    }
    if (status == 0 && reader.next_slot != program->nslots) {
        status = refuse(&reader, "a slot is never filled");
    }
    PyMem_Free(reader.defined);
    PyMem_Free(reader.ints_defined);
    return status;
}

PyObject *guard_instruction_table(void)
{
    PyObject *table = PyTuple_New(OP_COUNT);
    for (int i = 0; table != NULL && i < OP_COUNT; i++) {
        PyObject *row = Py_BuildValue("(sss)", SHAPES[i].name, SHAPES[i].fields, SHAPES[i].operands);
        if (row == NULL) {
            Py_CLEAR(table);
        } else {
            PyTuple_SET_ITEM(table, i, row);
        }
    }
    return table;
}

PyObject *guard_shape_operators(void)
{
    PyObject *table = PyTuple_New(SHAPE_COUNT);
    for (int i = 0; table != NULL && i < SHAPE_COUNT; i++) {
        PyObject *row = Py_BuildValue("(si)", SHAPE_NAMES[i], (int)shape_arity[i]);
        if (row == NULL) {
            Py_CLEAR(table);
        } else {
            PyTuple_SET_ITEM(table, i, row);
        }
    }
    return table;
}
