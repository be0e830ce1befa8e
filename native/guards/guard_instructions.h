/* The instruction set of guard programs. `_capture.guard_instructions` tells it to guards/assembler.py.
 *
 * An instruction is a head word and operand words (int64).
 * Head: bits 0-7 opcode, 8-23 field A, 24-39 field B, 40-62 index of the guard that fails.
 *
 * Fields A and B:
 *     d    object register written         D    integer register written
 *     s    object register read            S    integer register read
 *     -    unused
 * Operands:
 *     i    integer
 *     o    object: an index into the objects of the program, a pointer once loaded
 *     a    address of an object that is not held
 *     k..  key, three words: 0 and an object, or 1 and an address; then the hash of the key
 *     c    cache, zero at first
 *     *    a count word; the letters behind it are repeated that often
 */
#ifndef CAPTURE_GUARD_INSTRUCTIONS_H
#define CAPTURE_GUARD_INSTRUCTIONS_H

/* clang-format off */
#define GUARD_INSTRUCTIONS(X)                                                                                \
    /* loads */                                                                                              \
    X(LOAD_LOCAL, "d-", "i") /* index in localsplus */                                                       \
    X(LOAD_GLOBAL, "d-", "k..c")                                                                             \
    X(LOAD_BUILTIN, "d-", "k..c")                                                                            \
    X(LOAD_GLOBALS, "d-", "")                                                                                \
    X(LOAD_FUNCTION, "d-", "")                                                                               \
    X(LOAD_FREE_CELL, "d-", "i") /* index in co_freevars */                                                  \
    X(LOAD_CONSTANT, "d-", "o")                                                                              \
    X(LOAD_STATE, "d-", "oo") /* a built-in function, its arguments: an object that the process holds */     \
    X(LOAD_ATTR, "ds", "k..ccccccc")                                                                         \
    X(LOAD_TYPE_ATTR, "ds", "k..a") /* the class to start behind, or 0 */                                    \
    X(LOAD_MODULE_DICT, "ds", "")                                                                            \
    X(LOAD_DICT, "ds", "")                                                                                   \
    X(LOAD_TYPE, "ds", "")                                                                                   \
    X(LOAD_MRO_ITEM, "ds", "i")                                                                              \
    X(LOAD_FUNCTION_FIELD, "ds", "i") /* number in FUNCTION_FIELDS */                                        \
    X(LOAD_CLASS_NAME, "ds", "i") /* 0: __name__, 1: __qualname__ */                                         \
    X(LOAD_CELL, "ds", "")                                                                                   \
    X(LOAD_METHOD_FIELD, "ds", "i") /* 0 __self__, 1 __func__ */                                             \
    X(LOAD_BUILTIN_SELF, "ds", "a") /* the method's descriptor */                                            \
    X(LOAD_ITEM, "ds", "i")                                                                                  \
    X(LOAD_DEQUE_ITEM, "ds", "i")                                                                            \
    X(LOAD_DICT_ITEM, "ds", "k..c")                                                                          \
    X(LOAD_DICT_KEY, "ds", "i")                                                                              \
    X(LOAD_DICT_VALUE, "ds", "i")                                                                            \
    X(LOAD_ITERATOR_PART, "ds", "i")                                                                         \
    X(LOAD_GRAD, "ds", "")                                                                                   \
    X(LOAD_WEAKREF, "ds", "")                                                                                \
    X(LOAD_SHAPE, "Ds", "ii") /* 0 size, 1 stride, 2 storage offset; dim */                                  \
    X(LOAD_INT, "Ds", "") /* an exact int of 64 bits */                                                      \
    X(LOAD_LENGTH, "Ds", "") /* of a built-in container */                                                   \
    X(LOAD_FLOAT, "Ds", "") /* the bits of a float, no nan */                                               \
    X(LOAD_NUMPY_INT, "Ds", "a") /* the type of the number */                                               \
    X(LOAD_COMPUTED, "D-", "*ii") /* the value of an expression, as CHECK_SHAPE has it */                    \
    /* checks */                                                                                             \
    X(CHECK_TYPE, "-s", "a")                                                                                 \
    X(CHECK_ID, "-s", "a")                                                                                   \
    X(CHECK_SAME, "ss", "")                                                                                  \
    X(CHECK_LENGTH, "-s", "i")                                                                               \
    X(CHECK_INT, "-s", "i") /* an exact int with this value */                                               \
    X(CHECK_CONSTANT, "-s", "o")                                                                             \
    X(CHECK_CONTENTS, "-s", "o")                                                                             \
    X(CHECK_INT_RANGE, "-s", "ii")                                                                           \
    X(CHECK_ITERATOR, "-s", "*i")                                                                            \
    X(CHECK_TENSOR, "-s", "aiiiiii*i") /* see guards/properties/tensor.py */                                 \
    X(CHECK_UNWRITTEN, "-s", "ii") /* version, address of the first element */                               \
    X(CHECK_BUFFER, "-s", "aii*i") /* type, element format, read-only, sizes then strides */                 \
    X(CHECK_FUNCTION, "-s", "") /* a plain function */                                                       \
    X(CHECK_GLOBAL_STATE, "--", "*i")                                                                        \
    X(CHECK_STATE, "--", "ooo") /* a built-in function, its arguments, what it answers */                    \
    X(CHECK_NO_ATTRIBUTE, "-s", "k..")                                                                       \
    X(CHECK_HAS_ATTRIBUTE, "-s", "k..i")                                                                     \
    X(CHECK_CLASS_LACKS, "-s", "k..")                                                                        \
    X(CHECK_DICT_CONTAINS, "-s", "k..i")                                                                     \
    X(CHECK_DICT_KEYS, "-s", "*k..")                                                                         \
    X(CHECK_SET, "-s", "*k..")                                                                               \
    X(CHECK_SET_LAYOUT, "-s", "*i") /* mask, fill; place and hash of each element */                         \
    X(CHECK_DISTINCT, "--", "*i") /* registers */                                                            \
    X(CHECK_ALIASING, "--", "*ii") /* register; the first position with the same storage */                  \
    X(CHECK_SHAPE, "--", "*ii") /* postfix: operator, and the integer register or constant of a load */      \
    /* results */                                                                                            \
    X(STORE_SLOT, "-s", "i")                                                                                 \
    X(STORE_INT_SLOT, "-S", "i")

/* clang-format on */

typedef enum {
#define X(name, fields, operands) OP_##name,
    GUARD_INSTRUCTIONS(X)
#undef X
        OP_COUNT
} GuardOp;

/* Operand words of instructions without a list. */
enum {
#define X(name, fields, operands) WIDTH_##name = sizeof(operands) - 1,
    GUARD_INSTRUCTIONS(X)
#undef X
};

/* Operators of CHECK_SHAPE with their number of operands: the two loads, then those of
 * guards.conditions.OPERATORS. `_capture.shape_operators` tells their numbers to guards/kinds/sizes.py. */
/* clang-format off */
#define SHAPE_OPERATORS(X)                                                                                   \
    X(LOAD, 0) X(CONST, 0)                                                                                   \
    X(ADD, 2) X(SUB, 2) X(MUL, 2) X(FLOORDIV, 2) X(MOD, 2) X(MAX, 2) X(MIN, 2) X(EQ, 2) X(NE, 2)             \
    X(LT, 2) X(LE, 2) X(AND, 2) X(OR, 2) X(NOT, 1) X(NEG, 1) X(BIT_AND, 2) X(BIT_OR, 2) X(BIT_XOR, 2)        \
    X(LSHIFT, 2) X(RSHIFT, 2) X(POW, 2) X(BIT_LENGTH, 1) X(ISQRT, 1)                                         \
    X(FLOAT, 1) X(FADD, 2) X(FSUB, 2) X(FMUL, 2) X(FDIV, 2) X(FPOW, 2) X(FEQ, 2) X(FNE, 2) X(FLT, 2)         \
    X(FLE, 2) X(FNEG, 1) X(FABS, 1) X(TRUNC, 1) X(FLOOR, 1) X(CEIL, 1) X(ROUND, 1) X(FMAX, 2) X(FMIN, 2)     \
    X(SQRT, 1) X(EXP, 1) X(LOG, 1) X(LOG2, 1) X(LOG10, 1) X(SIN, 1) X(COS, 1) X(TANH, 1)
/* clang-format on */
typedef enum {
#define X(name, arity) SHAPE_##name,
    SHAPE_OPERATORS(X)
#undef X
        SHAPE_COUNT
} ShapeOp;
extern const char shape_arity[SHAPE_COUNT];
#define SHAPE_DEPTH 64

#endif
