/* The text of cells.c for one type of elements (REAL and its numbers) and one width of vectors (BYTES). It
 * has no guard: it is included once for each of them. */

#define Vector NAMED(Vector, SUFFIX)
#define Lanes NAMED(Lanes, SUFFIX)
#define load NAMED(load, SUFFIX)
#define store NAMED(store, SUFFIX)
#define where NAMED(where, SUFFIX)
#define exponential NAMED(exponential, SUFFIX)
#define sigmoid NAMED(sigmoid, SUFFIX)
#define hyperbolic NAMED(hyperbolic, SUFFIX)
#define ALL(number) ((Vector){0} + (REAL)(number))
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

INLINE Vector sigmoid(Vector x)
{
    return 1 / (1 + exponential(-x, 0));
}

INLINE Vector hyperbolic(Vector x)
{
    Vector e = exponential(x + x, 1);
    return e / (e + 2);
}

static TARGET int32_t NAMED(gru_forward, SUFFIX)(const void *data, int64_t begin, int64_t end)
{
    const GruForward *step = data;
    const int64_t n = step->width;
    const REAL *bias = step->bias;
    for (int64_t row = begin; row < end; row++) {
        const REAL *gates = (const REAL *)step->gates + row * 3 * n;
        const REAL *products = (const REAL *)step->products + row * 3 * n;
        const REAL *before = (const REAL *)step->before + row * n;
        REAL *after = (REAL *)step->after + row * n;
        REAL *kept = step->kept == NULL ? NULL : (REAL *)step->kept + row * 4 * n;
        for (int64_t i = 0; i < n; i += LANES) {
#define AT(from, part) load(from + (part)*n + i, n - i)
            Vector reset = AT(gates, 0) + AT(products, 0), update = AT(gates, 1) + AT(products, 1);
            Vector product = AT(products, 2);
            if (bias != NULL) {
                reset += AT(bias, 0);
                update += AT(bias, 1);
                product += AT(bias, 2);
            }
            reset = sigmoid(reset);
            update = sigmoid(update);
            Vector candidate = hyperbolic(AT(gates, 2) + reset * product);
            store(after + i, (AT(before, 0) - candidate) * update + candidate, n - i);
            if (kept != NULL) {
                store(kept + i, reset, n - i);
                store(kept + n + i, update, n - i);
                store(kept + 2 * n + i, candidate, n - i);
                store(kept + 3 * n + i, product, n - i);
            }
        }
    }
    return 0;
}

static TARGET int32_t NAMED(gru_backward, SUFFIX)(const void *data, int64_t begin, int64_t end)
{
    const GruBackward *step = data;
    const int64_t n = step->width;
    for (int64_t row = begin; row < end; row++) {
        const REAL *grads = (const REAL *)step->grad + row * n, *later = (const REAL *)step->later + row * n;
        const REAL *kept = (const REAL *)step->kept + row * 4 * n;
        const REAL *before = (const REAL *)step->before + row * n;
        REAL *gates = (REAL *)step->gates + row * 3 * n, *products = (REAL *)step->products + row * 3 * n;
        REAL *direct = (REAL *)step->direct + row * n;
        for (int64_t i = 0; i < n; i += LANES) {
            Vector reset = AT(kept, 0), update = AT(kept, 1), candidate = AT(kept, 2), product = AT(kept, 3);
            Vector grad = AT(grads, 0) + AT(later, 0);
            Vector of_update = grad * (AT(before, 0) - candidate) * update * (1 - update);
            Vector of_candidate = grad * (1 - update) * (1 - candidate * candidate);
            Vector of_product = of_candidate * reset;
            Vector of_reset = of_candidate * product * reset * (1 - reset);
            store(gates + i, of_reset, n - i);
            store(gates + n + i, of_update, n - i);
            store(gates + 2 * n + i, of_candidate, n - i);
            store(products + i, of_reset, n - i);
            store(products + n + i, of_update, n - i);
            store(products + 2 * n + i, of_product, n - i);
            store(direct + i, grad * update, n - i);
        }
    }
    return 0;
}

/* `relu` is a constant of each caller. */
INLINE int32_t NAMED(rnn_forward, SUFFIX)(const RnnForward *step, int64_t begin, int64_t end, bool relu)
{
    const int64_t count = end * step->width;
    const REAL *gates = step->gates;
    REAL *state = step->state;
    for (int64_t i = begin * step->width; i < count; i += LANES) {
        Vector sum = load(gates + i, count - i) + load(state + i, count - i);
        store(state + i, relu ? where(sum <= 0, (Vector){0}, sum) : hyperbolic(sum), count - i);
    }
    return 0;
}

INLINE int32_t NAMED(rnn_backward, SUFFIX)(const RnnBackward *step, int64_t begin, int64_t end, bool relu)
{
    const int64_t count = end * step->width;
    const REAL *grads = step->grad, *later = step->later, *states = step->state;
    REAL *gates = step->gates;
    for (int64_t i = begin * step->width; i < count; i += LANES) {
        Vector grad = load(grads + i, count - i) + load(later + i, count - i);
        Vector state = load(states + i, count - i);
        store(gates + i, relu ? where(state <= 0, (Vector){0}, grad) : grad * (1 - state * state), count - i);
    }
    return 0;
}

static TARGET int32_t NAMED(tanh_forward, SUFFIX)(const void *step, int64_t begin, int64_t end)
{
    return NAMED(rnn_forward, SUFFIX)(step, begin, end, false);
}

static TARGET int32_t NAMED(tanh_backward, SUFFIX)(const void *step, int64_t begin, int64_t end)
{
    return NAMED(rnn_backward, SUFFIX)(step, begin, end, false);
}

static TARGET int32_t NAMED(relu_forward, SUFFIX)(const void *step, int64_t begin, int64_t end)
{
    return NAMED(rnn_forward, SUFFIX)(step, begin, end, true);
}

static TARGET int32_t NAMED(relu_backward, SUFFIX)(const void *step, int64_t begin, int64_t end)
{
    return NAMED(rnn_backward, SUFFIX)(step, begin, end, true);
}

static const Cells NAMED(cells, SUFFIX) = {
    .gru_forward = NAMED(gru_forward, SUFFIX),
    .gru_backward = NAMED(gru_backward, SUFFIX),
    .tanh_forward = NAMED(tanh_forward, SUFFIX),
    .tanh_backward = NAMED(tanh_backward, SUFFIX),
    .relu_forward = NAMED(relu_forward, SUFFIX),
    .relu_backward = NAMED(relu_backward, SUFFIX),
};

#undef Vector
#undef Lanes
#undef load
#undef store
#undef where
#undef exponential
#undef sigmoid
#undef hyperbolic
#undef ALL
#undef LANES
#undef INLINE
#undef AT
#undef MULTIPLY_ADD
#undef LESSER
#undef GREATER
#undef BYTES
#undef TARGET
#undef SUFFIX
