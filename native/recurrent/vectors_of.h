/* Vectors of one type of elements (REAL) and one width (BYTES): their loads, stores and functions. It has no
 * guard: it is included once for each of them. */

#define Vector NAMED(Vector, SUFFIX)
#define Lanes NAMED(Lanes, SUFFIX)
#define load NAMED(load, SUFFIX)
#define store NAMED(store, SUFFIX)
#define where NAMED(where, SUFFIX)
#define exponential NAMED(exponential, SUFFIX)
#define sigmoid NAMED(sigmoid, SUFFIX)
#define hyperbolic NAMED(hyperbolic, SUFFIX)
#define ALL(number) ((Vector){0} + (REAL)(number))
/* without an operation: no number changes by - 0 */
#define SPREAD(number) ((number) - (Vector){0})
#define LANES ((int64_t)(BYTES / sizeof(REAL)))
#define INLINE static inline __attribute__((always_inline)) TARGET

typedef REAL Vector __attribute__((vector_size(BYTES)));
typedef BITS Lanes __attribute__((vector_size(BYTES)));

/* `count` elements; the other lanes are 0. */
INLINE Vector load(const REAL *from, int64_t count)
{
    Vector value = {0};
    if (count >= LANES) {
        memcpy(&value, from, sizeof(value));
    } else {
        for (int64_t i = 0; i < count; i++) {
            value[i] = from[i];
        }
    }
    return value;
}

INLINE void store(REAL *to, Vector value, int64_t count)
{
    if (count >= LANES) {
        memcpy(to, &value, sizeof(value));
    } else {
        for (int64_t i = 0; i < count; i++) {
            to[i] = value[i];
        }
    }
}

INLINE Vector where(Lanes condition, Vector one, Vector other)
{
    return (Vector)((condition & (Lanes)one) | (~condition & (Lanes)other));
}

/* exp(x) - less, without a loss of places for less = 1; x is held within +-LARGEST, NaN stays NaN */
INLINE Vector exponential(Vector x, REAL less)
{
    x = GREATER(ALL(-LARGEST), LESSER(ALL(LARGEST), x)); /* NaN as the second operand stays */
    Vector rounded = MULTIPLY_ADD(x, ALL(1.4426950408889634), ALL(ROUNDING)), n = rounded - ROUNDING;
    Vector rest = MULTIPLY_ADD(n, ALL(-LN2_LOW), MULTIPLY_ADD(n, ALL(-LN2_HIGH), x));
    Vector sum = ALL(POLYNOMIAL[0]);
    for (size_t i = 1; i < sizeof(POLYNOMIAL) / sizeof(REAL); i++) {
        sum = MULTIPLY_ADD(sum, rest, ALL(POLYNOMIAL[i]));
    }
    Vector power = (Vector)(((Lanes)rounded - (Lanes)ALL(ROUNDING) + BIAS) << MANTISSA);
    return MULTIPLY_ADD(power, MULTIPLY_ADD(sum * rest, rest, rest), power - less);
}

/* 0 where the exponential is held back: the gradient of an infinite gate is 0, as in eager */
INLINE Vector sigmoid(Vector x)
{
    return UNLESS_BELOW(x, ALL(-LARGEST), RECIPROCAL(1 + exponential(-x, 0)));
}

INLINE Vector hyperbolic(Vector x)
{
    Vector e = exponential(x + x, 1);
    return e / (e + 2); /* 1 where it is large */
}
