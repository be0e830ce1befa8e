/* Conditions over sizes, ints and floats, and ints that are computed from them.
 *
 * In:  the integer registers, and postfix code for a stack of 64-bit words.
 * Out: whether the value is not 0, or the value. guards/conditions.py knows which word is an int and
 * which word is a double. Each operator does what Python does, with the same C functions.
 */
#include "guards/guard_program.h"

#include <math.h>
#include <string.h>

const char shape_arity[SHAPE_COUNT] = {
#define X(name, arity) arity,
    SHAPE_OPERATORS(X)
#undef X
};

#define EXACT_DOUBLES ((int64_t)1 << 53)

typedef union {
    int64_t i;
    double f;
} Word;

static int64_t floor_mod(int64_t a, int64_t b)
{
    int64_t r = b == -1 ? 0 : a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* `base ** exponent` for an exponent that is not negative. */
static int integer_power(int64_t base, int64_t exponent, int64_t *out)
{
    int64_t result = 1;
    int fits = exponent >= 0;
    for (; fits && exponent > 0; exponent >>= 1) {
        fits = (exponent & 1) == 0 || !__builtin_mul_overflow(result, base, &result);
        if (exponent > 1) {
            fits = fits && !__builtin_mul_overflow(base, base, &base);
        }
    }
    *out = result;
    return fits;
}

static int shift_left(int64_t a, int64_t b, int64_t *out)
{
    return b >= 0 && b < 63 && !__builtin_mul_overflow(a, (int64_t)1 << b, out);
}

static int64_t bit_length(int64_t a)
{
    uint64_t magnitude = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
    return magnitude == 0 ? 0 : 64 - __builtin_clzll(magnitude);
}

/* The integer root of 0 <= a < 2**53. */
static int64_t integer_root(int64_t a)
{
    int64_t root = (int64_t)sqrt((double)a);
    return root - (root * root > a) + ((root + 1) * (root + 1) <= a);
}

/* Applies an operator to ints; `b` is the upper one on the stack. 0 where the value leaves 64 bits or is
 * undefined. */
static int apply_to_ints(int64_t op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case SHAPE_ADD:
        return !__builtin_add_overflow(a, b, out);
    case SHAPE_SUB:
        return !__builtin_sub_overflow(a, b, out);
    case SHAPE_MUL:
        return !__builtin_mul_overflow(a, b, out);
    case SHAPE_FLOORDIV:
        if (b == 0 || (a == INT64_MIN && b == -1)) {
            return 0;
        }
        *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
        return 1;
    case SHAPE_MOD:
        if (b == 0) {
            return 0;
        }
        *out = floor_mod(a, b);
        return 1;
    case SHAPE_MAX:
        *out = a > b ? a : b;
        return 1;
    case SHAPE_MIN:
        *out = a < b ? a : b;
        return 1;
    case SHAPE_EQ:
        *out = a == b;
        return 1;
    case SHAPE_NE:
        *out = a != b;
        return 1;
    case SHAPE_LT:
        *out = a < b;
        return 1;
    case SHAPE_LE:
        *out = a <= b;
        return 1;
    case SHAPE_AND:
        *out = a && b;
        return 1;
    case SHAPE_OR:
        *out = a || b;
        return 1;
    case SHAPE_NOT:
        *out = !b;
        return 1;
    case SHAPE_NEG:
        return !__builtin_sub_overflow((int64_t)0, b, out);
    case SHAPE_BIT_AND:
        *out = a & b;
        return 1;
    case SHAPE_BIT_OR:
        *out = a | b;
        return 1;
    case SHAPE_BIT_XOR:
        *out = a ^ b;
        return 1;
    case SHAPE_LSHIFT:
        return shift_left(a, b, out);
    case SHAPE_RSHIFT:
        *out = b > 63 ? (a < 0 ? -1 : 0) : a >> (b & 63);
        return b >= 0;
    case SHAPE_POW:
        return integer_power(a, b, out);
    case SHAPE_BIT_LENGTH:
        *out = bit_length(b);
        return 1;
    case SHAPE_ISQRT:
        if (b < 0 || b >= EXACT_DOUBLES) {
            return 0;
        }
        *out = integer_root(b);
        return 1;
    default:
        return 0;
    }
}

/* Applies an operator that gives a double. 0 where Python raises or the value is not finite. */
static int apply_to_doubles(int64_t op, double a, double b, double *out)
{
    switch (op) {
    case SHAPE_FADD:
        *out = a + b;
        break;
    case SHAPE_FSUB:
        *out = a - b;
        break;
    case SHAPE_FMUL:
        *out = a * b;
        break;
    case SHAPE_FDIV:
        if (b == 0) {
            return 0;
        }
        *out = a / b;
        break;
    case SHAPE_FPOW:
        if (a <= 0) {
            return 0;
        }
        *out = pow(a, b);
        break;
    case SHAPE_FMAX:
        *out = b > a ? b : a;
        return 1;
    case SHAPE_FMIN:
        *out = b < a ? b : a;
        return 1;
    case SHAPE_FNEG:
        *out = -b;
        break;
    case SHAPE_FABS:
        *out = fabs(b);
        break;
    case SHAPE_SQRT:
        *out = sqrt(b);
        break;
    case SHAPE_EXP:
        *out = exp(b);
        break;
    case SHAPE_LOG:
        *out = log(b);
        break;
    case SHAPE_LOG2:
        *out = log2(b);
        break;
    case SHAPE_LOG10:
        *out = log10(b);
        break;
    case SHAPE_SIN:
        *out = sin(b);
        break;
    case SHAPE_COS:
        *out = cos(b);
        break;
    case SHAPE_TANH:
        *out = tanh(b);
        break;
    default:
        return 0;
    }
    return isfinite(*out);
}

static int to_int(double rounded, int64_t *out)
{
    if (!(fabs(rounded) < 9223372036854775808.0)) {
        return 0;
    }
    *out = (int64_t)rounded;
    return 1;
}

static int apply(int64_t op, Word a, Word b, Word *out)
{
    switch (op) {
    case SHAPE_FLOAT:
        out->f = (double)b.i;
        return b.i >= -EXACT_DOUBLES && b.i <= EXACT_DOUBLES;
    case SHAPE_FEQ:
        out->i = a.f == b.f;
        return 1;
    case SHAPE_FNE:
        out->i = a.f != b.f;
        return 1;
    case SHAPE_FLT:
        out->i = a.f < b.f;
        return 1;
    case SHAPE_FLE:
        out->i = a.f <= b.f;
        return 1;
    case SHAPE_TRUNC:
        return to_int(trunc(b.f), &out->i);
    case SHAPE_FLOOR:
        return to_int(floor(b.f), &out->i);
    case SHAPE_CEIL:
        return to_int(ceil(b.f), &out->i);
    case SHAPE_ROUND:
        return to_int(rint(b.f), &out->i);
    default:
        return op < SHAPE_FLOAT ? apply_to_ints(op, a.i, b.i, &out->i)
                                : apply_to_doubles(op, a.f, b.f, &out->f);
    }
}

/* The bits of a float. A nan is refused: it takes part in no condition. */
int guard_load_float(PyObject *object, int64_t *bits)
{
    if (!PyFloat_Check(object)) { /* another guard knows the type */
        return 0;
    }
    Word word = {.f = PyFloat_AS_DOUBLE(object)};
    *bits = word.i;
    return !isnan(word.f);
}

/* The value of a whole number of NumPy. Its exact type is built in, so no code of the program runs. */
int guard_load_numpy_int(PyObject *object, int64_t type, int64_t *value)
{
    if ((int64_t)(uintptr_t)Py_TYPE(object) != type) {
        return 0;
    }
    PyObject *index = PyNumber_Index(object);
    *value = index == NULL ? -1 : PyLong_AsLongLong(index);
    Py_XDECREF(index);
    if (*value == -1 && PyErr_Occurred()) {
        PyErr_Clear(); /* no memory: no entry fits */
        return 0;
    }
    return 1;
}

/* Evaluates a postfix expression. 0 where its value leaves 64 bits or is undefined. */
static int evaluate(const int64_t *ints, const int64_t *operands, int64_t *value)
{
    Word stack[SHAPE_DEPTH];
    int top = 0; /* guard_verify.c has checked the depth */
    for (int64_t i = 0; i < operands[0]; i++) {
        int64_t op = operands[1 + 2 * i], argument = operands[2 + 2 * i];
        if (shape_arity[op] == 0) {
            stack[top++].i = op == SHAPE_LOAD ? ints[argument] : argument;
            continue;
        }
        Word *target = &stack[top - shape_arity[op]], result;
        if (!apply(op, *target, stack[top - 1], &result)) {
            return 0;
        }
        *target = result;
        top -= shape_arity[op] - 1;
    }
    *value = stack[0].i;
    return 1;
}

int guard_check_shape(const int64_t *ints, const int64_t *operands)
{
    int64_t value;
    return evaluate(ints, operands, &value) && value != 0;
}

int guard_load_computed(const int64_t *ints, const int64_t *operands, int64_t *target)
{
    return evaluate(ints, operands, target);
}
