/* The cells for one type of elements and one width of vectors (vectors_of.h). It has no guard: it is included
 * once for each of them. */

#define AT(from, part) load(from + (part)*n + i, n - i)
/* The products of the tile for these units. */
#define PRODUCT(part) load(sums + (part)*tile->sums_part, n - i)
/* The rows of the tile, and within each its vectors of units. */
#define EACH_ROW                                                                                             \
    const int64_t n = step->width, units = tile->unit + tile->units < n ? tile->unit + tile->units : n;      \
    for (int64_t row = tile->row; row < tile->row + tile->rows; row++)
#define EACH_UNIT                                                                                            \
    const REAL *sums = (const REAL *)tile->sums + (row - tile->row) * tile->sums_row;                        \
    for (int64_t i = tile->unit; i < units; i += LANES, sums += LANES)

static TARGET void NAMED(lstm_forward, SUFFIX)(const void *data, const Tile *tile)
{
    const LstmForward *step = data;
    EACH_ROW
    {
        const REAL *gates = (const REAL *)step->gates + row * 4 * n;
        REAL *cell = (REAL *)step->cell + row * n, *after = (REAL *)step->after + row * n;
        REAL *kept = step->kept == NULL ? NULL : (REAL *)step->kept + row * 5 * n;
        EACH_UNIT
        {
            Vector input = sigmoid(AT(gates, 0) + PRODUCT(0)), forget = sigmoid(AT(gates, 1) + PRODUCT(1));
            Vector candidate = hyperbolic(AT(gates, 2) + PRODUCT(2));
            Vector output = sigmoid(AT(gates, 3) + PRODUCT(3));
            Vector now = forget * AT(cell, 0) + input * candidate;
            store(cell + i, now, n - i);
            store(after + i, output * hyperbolic(now), n - i);
            if (kept != NULL) {
                store(kept + i, input, n - i);
                store(kept + n + i, forget, n - i);
                store(kept + 2 * n + i, candidate, n - i);
                store(kept + 3 * n + i, output, n - i);
                store(kept + 4 * n + i, now, n - i);
            }
        }
    }
}

static TARGET void NAMED(lstm_backward, SUFFIX)(const void *data, const Tile *tile)
{
    const LstmBackward *step = data;
    EACH_ROW
    {
        const REAL *grads = (const REAL *)step->grad + row * n;
        const REAL *kept = (const REAL *)step->kept + row * 5 * n;
        const REAL *before = (const REAL *)step->before + row * step->before_row;
        REAL *gates = (REAL *)step->gates + row * 4 * n, *cell = (REAL *)step->cell + row * n;
        EACH_UNIT
        {
            Vector input = AT(kept, 0), forget = AT(kept, 1), candidate = AT(kept, 2), output = AT(kept, 3);
            Vector now = hyperbolic(AT(kept, 4)), grad = AT(grads, 0) + PRODUCT(0);
            Vector of_cell = AT(cell, 0) + grad * output * (1 - now * now);
            store(gates + i, of_cell * candidate * input * (1 - input), n - i);
            store(gates + n + i, of_cell * AT(before, 0) * forget * (1 - forget), n - i);
            store(gates + 2 * n + i, of_cell * input * (1 - candidate * candidate), n - i);
            store(gates + 3 * n + i, grad * now * output * (1 - output), n - i);
            store(cell + i, of_cell * forget, n - i);
        }
    }
}

static TARGET void NAMED(gru_forward, SUFFIX)(const void *data, const Tile *tile)
{
    const GruForward *step = data;
    const REAL *bias = step->bias;
    EACH_ROW
    {
        const REAL *gates = (const REAL *)step->gates + row * 3 * n;
        const REAL *before = (const REAL *)step->before + row * n;
        REAL *after = (REAL *)step->after + row * n;
        REAL *kept = step->kept == NULL ? NULL : (REAL *)step->kept + row * 4 * n;
        EACH_UNIT
        {
            Vector reset = AT(gates, 0) + PRODUCT(0), update = AT(gates, 1) + PRODUCT(1);
            Vector product = PRODUCT(2);
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
}

static TARGET void NAMED(gru_backward, SUFFIX)(const void *data, const Tile *tile)
{
    const GruBackward *step = data;
    EACH_ROW
    {
        const REAL *grads = (const REAL *)step->grad + row * n;
        const REAL *kept = (const REAL *)step->kept + row * 4 * n;
        const REAL *before = (const REAL *)step->before + row * n;
        REAL *gates = (REAL *)step->gates + row * 3 * n, *products = (REAL *)step->products + row * 3 * n;
        REAL *direct = (REAL *)step->direct + row * n;
        EACH_UNIT
        {
            Vector reset = AT(kept, 0), update = AT(kept, 1), candidate = AT(kept, 2), product = AT(kept, 3);
            Vector grad = AT(grads, 0) + (PRODUCT(0) + AT(direct, 0));
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
}

/* `relu` is a constant of each caller. */
INLINE void NAMED(rnn_forward, SUFFIX)(const RnnForward *step, const Tile *tile, bool relu)
{
    EACH_ROW
    {
        const REAL *gates = (const REAL *)step->gates + row * n;
        REAL *state = (REAL *)step->state + row * n;
        EACH_UNIT
        {
            Vector sum = AT(gates, 0) + PRODUCT(0);
            store(state + i, relu ? where(sum <= 0, (Vector){0}, sum) : hyperbolic(sum), n - i);
        }
    }
}

INLINE void NAMED(rnn_backward, SUFFIX)(const RnnBackward *step, const Tile *tile, bool relu)
{
    EACH_ROW
    {
        const REAL *grads = (const REAL *)step->grad + row * n, *states = (const REAL *)step->state + row * n;
        REAL *gates = (REAL *)step->gates + row * n;
        EACH_UNIT
        {
            Vector grad = AT(grads, 0) + PRODUCT(0), state = AT(states, 0);
            store(gates + i, relu ? where(state <= 0, (Vector){0}, grad) : grad * (1 - state * state), n - i);
        }
    }
}

static TARGET void NAMED(tanh_forward, SUFFIX)(const void *step, const Tile *tile)
{
    NAMED(rnn_forward, SUFFIX)(step, tile, false);
}

static TARGET void NAMED(tanh_backward, SUFFIX)(const void *step, const Tile *tile)
{
    NAMED(rnn_backward, SUFFIX)(step, tile, false);
}

static TARGET void NAMED(relu_forward, SUFFIX)(const void *step, const Tile *tile)
{
    NAMED(rnn_forward, SUFFIX)(step, tile, true);
}

static TARGET void NAMED(relu_backward, SUFFIX)(const void *step, const Tile *tile)
{
    NAMED(rnn_backward, SUFFIX)(step, tile, true);
}

static TARGET void NAMED(add, SUFFIX)(const void *data, const Tile *tile)
{
    const AddProducts *step = data;
    EACH_ROW
    {
        REAL *to = (REAL *)step->to + row * n;
        EACH_UNIT
        {
            store(to + i, AT(to, 0) + PRODUCT(0), n - i);
        }
    }
}

static const Cells NAMED(cells, SUFFIX) = {
    .lanes = LANES,
    .most_rows = {TILES_1, TILES_2, TILES_3, TILES_4},
    .tiles = {{EACH_TILE_OF(1, ENTRY)},
              {EACH_TILE_OF(2, ENTRY)},
              {EACH_TILE_OF(3, ENTRY)},
              {EACH_TILE_OF(4, ENTRY)}},
    .pack = NAMED(pack, SUFFIX),
    .lstm_forward = NAMED(lstm_forward, SUFFIX),
    .lstm_backward = NAMED(lstm_backward, SUFFIX),
    .gru_forward = NAMED(gru_forward, SUFFIX),
    .gru_backward = NAMED(gru_backward, SUFFIX),
    .tanh_forward = NAMED(tanh_forward, SUFFIX),
    .tanh_backward = NAMED(tanh_backward, SUFFIX),
    .relu_forward = NAMED(relu_forward, SUFFIX),
    .relu_backward = NAMED(relu_backward, SUFFIX),
    .add = NAMED(add, SUFFIX),
};
