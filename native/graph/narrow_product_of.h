/* The text of narrow_product.c for one width of vectors (BYTES). It has no guard: it is included once for
 * each of them.
 *
 * LOAD, LOAD_PART (some elements, and zeros), MULTIPLY_ADD and SUM are the instructions of that width. TILE:
 * so many vectors of sums for each column stay in registers. MOST_ROWS is in `Tiles`. */

#define Vector NAMED(Vector)
#define LANES ((int64_t)(BYTES / sizeof(float)))
#define INLINE static inline __attribute__((always_inline)) TARGET
#define UNROLLED _Pragma("GCC unroll 8")

typedef float Vector __attribute__((vector_size(BYTES)));

/* Dot products of `rows` rows and `columns` columns, along `inner`. */
INLINE void NAMED(dots)(const Strip *strip, Piece piece, const int rows, const int columns)
{
    Vector sums[TILE][COLUMNS] = {0};
    for (int64_t k = 0; k < piece.inner; k += LANES) {
        const bool whole = piece.inner - k >= LANES;
        Vector right[COLUMNS];
        UNROLLED for (int j = 0; j < columns; j++)
        {
            const float *place = piece.narrow + j * piece.narrow_across + k;
            right[j] = whole ? LOAD(place) : LOAD_PART(place, piece.inner - k);
        }
        UNROLLED for (int i = 0; i < rows; i++)
        {
            const float *place = piece.wide + i * strip->wide_along + k;
            const Vector left = whole ? LOAD(place) : LOAD_PART(place, piece.inner - k);
            UNROLLED for (int j = 0; j < columns; j++)
            {
                sums[i][j] = MULTIPLY_ADD(left, right[j], sums[i][j]);
            }
        }
    }
    UNROLLED for (int i = 0; i < rows; i++)
    {
        UNROLLED for (int j = 0; j < columns; j++)
        {
            float *place = piece.output + i * strip->output_along + j * strip->output_across;
            *place = SUM(sums[i][j]) + (piece.adds ? *place : 0);
        }
    }
}

/* `count` elements of the length in `vectors` vectors: vectors of the wide factor times single elements. */
INLINE void NAMED(columns)(const Strip *strip, Piece piece, const int vectors, const int columns,
                           const int64_t count)
{
    Vector sums[TILE][COLUMNS] = {0};
    for (int64_t k = 0; k < piece.inner; k++) {
        Vector right[COLUMNS];
        UNROLLED for (int j = 0; j < columns; j++)
        {
            right[j] = (Vector){0} + piece.narrow[k * piece.narrow_inner + j * piece.narrow_across];
        }
        UNROLLED for (int i = 0; i < vectors; i++)
        {
            const float *place = piece.wide + k * strip->wide_inner + i * LANES;
            const Vector left = count >= LANES ? LOAD(place) : LOAD_PART(place, count);
            UNROLLED for (int j = 0; j < columns; j++)
            {
                sums[i][j] = MULTIPLY_ADD(left, right[j], sums[i][j]);
            }
        }
    }
    UNROLLED for (int i = 0; i < vectors; i++)
    {
        UNROLLED for (int j = 0; j < columns; j++)
        {
            float *place = piece.output + i * LANES * strip->output_along + j * strip->output_across;
            if (count >= LANES && strip->output_along == 1) {
                const Vector sum = piece.adds ? sums[i][j] + LOAD(place) : sums[i][j];
                memcpy(place, &sum, sizeof(sum));
                continue;
            }
            float lanes[BYTES / sizeof(float)];
            memcpy(lanes, &sums[i][j], sizeof(lanes));
            for (int64_t lane = 0; lane < (count < LANES ? count : LANES); lane++) {
                float *one = place + lane * strip->output_along;
                *one = lanes[lane] + (piece.adds ? *one : 0);
            }
        }
    }
}

/* The largest tile that fits, and how far it reaches. */
#define OF_COLUMNS(tile, ...)                                                                                \
    switch (piece.columns) {                                                                                 \
    case 1:                                                                                                  \
        tile(__VA_ARGS__, 1);                                                                                \
        break;                                                                                               \
    case 2:                                                                                                  \
        tile(__VA_ARGS__, 2);                                                                                \
        break;                                                                                               \
    case 3:                                                                                                  \
        tile(__VA_ARGS__, 3);                                                                                \
        break;                                                                                               \
    default:                                                                                                 \
        tile(__VA_ARGS__, 4);                                                                                \
    }

static TARGET int64_t NAMED(dots_from)(const Strip *strip, Piece piece, int64_t left)
{
    if (left >= TILE) {
        OF_COLUMNS(NAMED(dots), strip, piece, TILE)
        return TILE;
    }
    if (left >= 2) {
        OF_COLUMNS(NAMED(dots), strip, piece, 2)
        return 2;
    }
    OF_COLUMNS(NAMED(dots), strip, piece, 1)
    return 1;
}

#define WHOLE(strip, piece, vectors, number) NAMED(columns)(strip, piece, vectors, number, LANES)
#define PART(strip, piece, count, number) NAMED(columns)(strip, piece, 1, number, count)

static TARGET int64_t NAMED(columns_from)(const Strip *strip, Piece piece, int64_t left)
{
    if (left >= TILE * LANES) {
        OF_COLUMNS(WHOLE, strip, piece, TILE)
        return TILE * LANES;
    }
    if (left >= LANES) {
        OF_COLUMNS(WHOLE, strip, piece, 1)
        return LANES;
    }
    OF_COLUMNS(PART, strip, piece, left)
    return left;
}

static const Tiles NAMED(tiles) = {NAMED(dots_from), NAMED(columns_from), (TILE)*LANES, MOST_ROWS};

#undef Vector
#undef LANES
#undef INLINE
#undef UNROLLED
#undef OF_COLUMNS
#undef WHOLE
#undef PART
#undef BYTES
#undef TARGET
#undef TILE
#undef MOST_ROWS
#undef LOAD
#undef LOAD_PART
#undef MULTIPLY_ADD
#undef SUM
#undef NAMED
