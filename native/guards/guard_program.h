/* What the parts of the guard machine share. The instruction set is in guard_instructions.h. */
#ifndef CAPTURE_GUARD_PROGRAM_H
#define CAPTURE_GUARD_PROGRAM_H

#include "capture_native.h"
#include "guards/guard_instructions.h"
#include "guards/raw_lookup.h"

#define HEAD_OP(word) ((int)((word)&0xff))
#define HEAD_A(word) ((int)((word) >> 8 & 0xffff))
#define HEAD_B(word) ((int)((word) >> 24 & 0xffff))
#define HEAD_GUARD(word) ((int)((word) >> 40 & 0x7fffff))

typedef struct {
    PyObject_HEAD
    int64_t *words; /* object operands are pointers here */
    Py_ssize_t nwords;
    PyObject *objects; /* tuple that owns them */
    int nregisters, nints, nslots;
    PyObject **registers; /* scratch of a run. No user code runs meanwhile, so no run interrupts another. */
    int64_t *ints;
    PyObject **int_slots; /* the int objects that the last run has put in slots */
    uintptr_t *table;     /* scratch of CHECK_DISTINCT and CHECK_ALIASING: `table_size` pairs */
    Py_ssize_t table_size;
    vectorcallfunc vectorcall;
    PyObject *weakrefs;
} GuardProgram;

/* guard_verify.c: checks that the words do not lead outside of the arrays of the program, and turns object
 * indices into pointers. 0, or -1 with ValueError. */
int guard_program_verify(GuardProgram *program);
PyObject *guard_instruction_table(void);
PyObject *guard_shape_operators(void);

/* The operand words of an instruction: `fixed` ones, a count included, and `repeated` ones for each of the
 * count. */
typedef struct {
    int fixed, repeated;
} GuardWidth;
extern GuardWidth guard_widths[OP_COUNT];
void init_guard_widths(void);

/* The count is the last of the fixed words. */
static inline int64_t guard_operand_words(int op, const int64_t *operands)
{
    const GuardWidth *width = &guard_widths[op];
    return width->fixed + width->repeated * operands[width->fixed - 1];
}

/* guard_loads.c: a borrowed reference, or NULL where the place does not exist. */
PyObject *guard_load_member(int op, PyObject *owner, const int64_t *operands);
int guard_is_deque(PyObject *object);
int init_guard_loads(void);

/* guard_checks.c: 1 where the check holds. `operands` stand behind the head word. */
int guard_load_length(PyObject *object, int64_t *length);
int guard_check_length(PyObject *object, int64_t length);
int guard_check_iterator(PyObject *object, const int64_t *operands);
int guard_check_unwritten(PyObject *tensor, const int64_t *operands);
int guard_check_tensor(PyObject *object, const int64_t *operands);
int guard_check_buffer(PyObject *object, const int64_t *operands);
int guard_check_global_state(const int64_t *operands);
int guard_check_state(const int64_t *operands);
PyObject *guard_load_state(const int64_t *operands);
int guard_check_dict_keys(PyObject *object, const int64_t *operands);
int guard_check_set(PyObject *object, const int64_t *operands);
int guard_check_set_layout(PyObject *object, const int64_t *operands);
int guard_check_distinct(GuardProgram *program, const int64_t *operands);
int guard_check_aliasing(GuardProgram *program, const int64_t *operands);
int guard_check_shape(const int64_t *ints, const int64_t *operands);
int guard_load_computed(const int64_t *ints, const int64_t *operands, int64_t *target);
int guard_load_shape(PyObject *tensor, int64_t what, int64_t dim, int64_t *value);
int guard_load_float(PyObject *object, int64_t *bits);
int guard_load_numpy_int(PyObject *object, int64_t type, int64_t *value);

/* guard_iterators.c */
int init_guard_iterators(PyObject *module);
PyObject *guard_load_iterator_part(PyObject *owner, const int64_t *operands);

#endif
