/* The text of tiles.c for one width of vectors (BYTES) and number of registers. It has no guard: it is
 * included once for each of them. LOAD, STORE, SPREAD (one element to all lanes) and MULTIPLY_ADD are the
 * instructions of that width. */

#define Vector NAMED(Vector)
#define LANES ((int64_t)(BYTES / sizeof(float)))
#define INLINE static inline __attribute__((always_inline)) TARGET
#define UNROLLED _Pragma("GCC unroll 12")

typedef float Vector __attribute__((vector_size(BYTES)));

INLINE void NAMED(places)(const Places *places, const int rows, const int vectors)
{
    Vector sums[MOST_ROWS][MOST_VECTORS];
    UNROLLED for (int i = 0; i < rows; i++)
    {
        UNROLLED for (int j = 0; j < vectors; j++)
        {
            sums[i][j] = places->bias == NULL ? SPREAD(0) : LOAD(places->bias + j * LANES);
        }
    }
    const float *weights = places->weights;
    for (int64_t k = 0; k < places->count; k++, weights += places->width) {
        const float *source = places->source + places->taps[k];
        Vector weight[MOST_VECTORS];
        UNROLLED for (int j = 0; j < vectors; j++)
        {
            weight[j] = LOAD(weights + j * LANES);
        }
        UNROLLED for (int i = 0; i < rows; i++)
        {
            const Vector value = SPREAD(source[i]);
            UNROLLED for (int j = 0; j < vectors; j++)
            {
                sums[i][j] = MULTIPLY_ADD(value, weight[j], sums[i][j]);
            }
        }
    }
    UNROLLED for (int i = 0; i < rows; i++)
    {
        UNROLLED for (int j = 0; j < vectors; j++)
        {
            STORE(places->sums + i * vectors * LANES + j * LANES, sums[i][j]);
        }
    }
}

INLINE void NAMED(taps)(const Taps *taps, const int rows, const int vectors)
{
    Vector sums[MOST_ROWS][MOST_VECTORS] = {0};
    const float *gradient = taps->gradient, *source[MOST_ROWS];
    UNROLLED for (int i = 0; i < rows; i++)
    {
        source[i] = taps->source + taps->taps[i];
    }
    for (int64_t y = 0; y < taps->rows; y++) {
        for (int64_t x = 0; x < taps->columns; x++, gradient += taps->width) {
            Vector factor[MOST_VECTORS];
            UNROLLED for (int j = 0; j < vectors; j++)
            {
                factor[j] = LOAD(gradient + j * LANES);
            }
            UNROLLED for (int i = 0; i < rows; i++)
            {
                const Vector value = SPREAD(source[i][x]);
                UNROLLED for (int j = 0; j < vectors; j++)
                {
                    sums[i][j] = MULTIPLY_ADD(value, factor[j], sums[i][j]);
                }
            }
        }
        UNROLLED for (int i = 0; i < rows; i++)
        {
            source[i] += taps->source_row;
        }
    }
    UNROLLED for (int i = 0; i < rows; i++)
    {
        UNROLLED for (int j = 0; j < vectors; j++)
        {
            float *place = taps->sums + i * taps->width + j * LANES;
            STORE(place, LOAD(place) + sums[i][j]);
        }
    }
}

#define EACH_ROWS(X, vectors)                                                                                \
    X(vectors, 1)                                                                                            \
    X(vectors, 2)                                                                                            \
    X(vectors, 3)                                                                                            \
    X(vectors, 4)                                                                                            \
    X(vectors, 5)                                                                                            \
    X(vectors, 6) X(vectors, 7) X(vectors, 8) X(vectors, 9) X(vectors, 10) X(vectors, 11) X(vectors, 12)
#define FUNCTIONS(vectors, rows)                                                                             \
    static TARGET void NAMED(places_##vectors##_##rows)(const Places *places)                                \
    {                                                                                                        \
        NAMED(places)(places, rows, vectors);                                                                \
    }                                                                                                        \
    static TARGET void NAMED(taps_##vectors##_##rows)(const Taps *taps)                                      \
    {                                                                                                        \
        NAMED(taps)(taps, rows, vectors);                                                                    \
    }
#define PLACES(vectors, rows) NAMED(places_##vectors##_##rows),
#define TAPS(vectors, rows) NAMED(taps_##vectors##_##rows),

EACH_ROWS(FUNCTIONS, 1)
EACH_ROWS(FUNCTIONS, 2)

static const Tiles NAMED(tiles) = {
    .lanes = LANES,
    .most_rows = {MOST_ROWS, ROWS_OF_TWO},
    .places = {{EACH_ROWS(PLACES, 1)}, {EACH_ROWS(PLACES, 2)}},
    .taps = {{EACH_ROWS(TAPS, 1)}, {EACH_ROWS(TAPS, 2)}},
};

#undef Vector
#undef LANES
#undef INLINE
#undef UNROLLED
#undef EACH_ROWS
#undef FUNCTIONS
#undef PLACES
#undef TAPS
#undef BYTES
#undef TARGET
#undef ROWS_OF_TWO
#undef NAMED
#undef LOAD
#undef STORE
#undef SPREAD
#undef MULTIPLY_ADD
