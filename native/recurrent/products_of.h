/* Products with packed weights, for one type of elements and one width of vectors (vectors_of.h). It has no
 * guard: it is included once for each of them. */

#define tile_product NAMED(tile_product, SUFFIX)
#define transpose_block NAMED(transpose_block, SUFFIX)
#define PACKED_ROWS 16 /* so that whole rows are read, and whole pages written */
#define UNROLLED _Pragma("GCC unroll 16")

/* `rows` and `vectors` are constants of each caller: all sums stay in registers. */
INLINE void tile_product(const TileProduct *tile, const int rows, const int vectors)
{
    Vector sums[MOST_TILE_ROWS][MOST_TILE_VECTORS];
    UNROLLED for (int i = 0; i < rows; i++)
    {
        UNROLLED for (int j = 0; j < vectors; j++)
        {
            sums[i][j] = (Vector){0};
        }
    }
    const REAL *left = tile->left, *panel = tile->panel;
    for (int64_t k = 0; k < tile->inner; k++, panel += vectors * LANES) {
        Vector weight[MOST_TILE_VECTORS];
        UNROLLED for (int j = 0; j < vectors; j++)
        {
            weight[j] = load(panel + j * LANES, LANES);
        }
        UNROLLED for (int i = 0; i < rows; i++)
        {
            const Vector value = SPREAD(left[i * tile->left_row + k]);
            UNROLLED for (int j = 0; j < vectors; j++)
            {
                sums[i][j] = MULTIPLY_ADD(value, weight[j], sums[i][j]);
            }
        }
    }
    REAL *to = tile->sums;
    UNROLLED for (int i = 0; i < rows; i++)
    {
        UNROLLED for (int j = 0; j < vectors; j++)
        {
            store(to + (i * vectors + j) * LANES, sums[i][j], LANES);
        }
    }
}

#define FUNCTION(vectors, rows)                                                                              \
    static TARGET void NAMED(NAMED(tile, NAMED(vectors, rows)), SUFFIX)(const TileProduct *tile)             \
    {                                                                                                        \
        tile_product(tile, rows, vectors);                                                                   \
    }
#define ENTRY(vectors, rows) NAMED(NAMED(tile, NAMED(vectors, rows)), SUFFIX),

EACH_TILE_OF(1, FUNCTION)
EACH_TILE_OF(2, FUNCTION)
EACH_TILE_OF(3, FUNCTION)
EACH_TILE_OF(4, FUNCTION)

/* A square of elements, of which `from` has `rows` rows of `columns` elements. */
INLINE void transpose_block(const REAL *from, int64_t from_row, int64_t rows, int64_t columns, REAL *to,
                            int64_t to_row)
{
    Vector before[LANES], after[LANES];
    Lanes low, high;
    UNROLLED for (int i = 0; i < LANES; i++)
    {
        low[i] = i / 2 + i % 2 * LANES;
        high[i] = low[i] + LANES / 2;
    }
    UNROLLED for (int i = 0; i < LANES; i++)
    {
        before[i] = i < rows ? load(from + i * from_row, columns) : (Vector){0};
    }
    /* Each turn zips the rows of the first half with those of the second one. */
    UNROLLED for (int turn = 1; turn < LANES; turn *= 2)
    {
        UNROLLED for (int i = 0; i < LANES / 2; i++)
        {
            after[2 * i] = __builtin_shuffle(before[i], before[i + LANES / 2], low);
            after[2 * i + 1] = __builtin_shuffle(before[i], before[i + LANES / 2], high);
        }
        memcpy(before, after, sizeof(before));
    }
    UNROLLED for (int i = 0; i < LANES; i++)
    {
        if (i < columns) {
            store(to + i * to_row, before[i], LANES);
        }
    }
}

static TARGET void NAMED(pack_transpose, SUFFIX)(const Panels *panels, const REAL *weight)
{
    const int64_t n = panels->width, inner = panels->inner, row = panels->vectors * LANES;
    const int64_t units = panels->vectors / panels->parts;
    REAL *to = panels->memory;
    for (int64_t panel = 0; panel < panels->count; panel++, to += inner * row) {
        for (int64_t j = 0; j < panels->vectors; j++) {
            const int64_t unit = (panel * units + j % units) * LANES, left = unit < n ? n - unit : 0;
            const REAL *from = weight + (left > 0 ? (j / units * n + unit) * inner : 0);
            for (int64_t k = 0; k < inner; k += LANES) {
                transpose_block(from + k, inner, left, inner - k, to + k * row + j * LANES, row);
            }
        }
    }
}

static TARGET void NAMED(pack, SUFFIX)(const Panels *panels, const void *weight)
{
    if (panels->transposed) {
        NAMED(pack_transpose, SUFFIX)(panels, weight);
        return;
    }
    const int64_t n = panels->width, inner = panels->inner, row = panels->vectors * LANES; /* of one part */
    for (int64_t begin = 0; begin < inner; begin += PACKED_ROWS) {
        const int64_t end = begin + PACKED_ROWS < inner ? begin + PACKED_ROWS : inner;
        REAL *panel = panels->memory;
        for (int64_t first = 0; first < panels->count * row; first += row, panel += inner * row) {
            for (int64_t k = begin; k < end; k++) {
                for (int64_t j = 0; j < row; j += LANES) {
                    const REAL *from = (const REAL *)weight + k * n + first + j;
                    const int64_t left = n - first - j;
                    store(panel + k * row + j, left > 0 ? load(from, left) : (Vector){0}, LANES);
                }
            }
        }
    }
}
