/* The text of tiles.c for one width of vectors (BYTES) and number of registers. It has no guard: it is
 * included once for each of them. LOAD, STORE, SPREAD (one element to all lanes) and MULTIPLY_ADD are the
 * instructions of that width; LOAD_PART and STORE_PART take the first lanes, a `Part` that PART_OF makes. */

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

INLINE void NAMED(line)(const Line *line, const int channels, const int vectors)
{
    Vector sums[MOST_ROWS][MOST_VECTORS];
    const PART part = PART_OF(line->places - (vectors - 1) * LANES);
    UNROLLED for (int i = 0; i < channels; i++)
    {
        UNROLLED for (int j = 0; j < vectors; j++)
        {
            sums[i][j] = SPREAD(line->bias == NULL ? 0 : line->bias[i]);
        }
    }
    const float *weights = line->weights;
    for (int64_t k = 0; k < line->count; k++, weights += line->width) {
        const float *source = line->source + line->taps[k];
        Vector value[MOST_VECTORS];
        UNROLLED for (int j = 0; j < vectors; j++)
        {
            value[j] = j < vectors - 1 ? LOAD(source + j * LANES) : LOAD_PART(source + j * LANES, part);
        }
        UNROLLED for (int i = 0; i < channels; i++)
        {
            const Vector weight = SPREAD(weights[i]);
            UNROLLED for (int j = 0; j < vectors; j++)
            {
                sums[i][j] = MULTIPLY_ADD(value[j], weight, sums[i][j]);
            }
        }
    }
    UNROLLED for (int i = 0; i < channels; i++)
    {
        float *to = line->output + i * line->plane;
        UNROLLED for (int j = 0; j < vectors - 1; j++)
        {
            STORE(to + j * LANES, sums[i][j]);
        }
        STORE_PART(to + (vectors - 1) * LANES, part, sums[i][vectors - 1]);
    }
}

INLINE void NAMED(line_taps)(const LineTaps *taps, const int rows, const int channels)
{
    Vector sums[MOST_ROWS][MOST_VECTORS] = {0};
    const float *source[MOST_ROWS];
    UNROLLED for (int i = 0; i < rows; i++)
    {
        source[i] = taps->source + taps->taps[i];
    }
    const float *gradient = taps->gradient;
    for (int64_t y = 0; y < taps->rows; y++, gradient += taps->gradient_row) {
        for (int64_t x = 0; x < taps->columns; x += LANES) {
            const PART part = PART_OF(taps->columns - x);
            Vector factor[MOST_VECTORS];
            UNROLLED for (int j = 0; j < channels; j++)
            {
                factor[j] = LOAD_PART(gradient + j * taps->plane + x, part);
            }
            UNROLLED for (int i = 0; i < rows; i++)
            {
                const Vector value = LOAD_PART(source[i] + x, part);
                UNROLLED for (int j = 0; j < channels; j++)
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
        UNROLLED for (int j = 0; j < channels; j++)
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
    }                                                                                                        \
    static TARGET void NAMED(line_##vectors##_##rows)(const Line *line)                                      \
    {                                                                                                        \
        NAMED(line)(line, rows, vectors);                                                                    \
    }                                                                                                        \
    static TARGET void NAMED(line_taps_##vectors##_##rows)(const LineTaps *taps)                             \
    {                                                                                                        \
        NAMED(line_taps)(taps, rows, vectors);                                                               \
    }
#define PLACES(vectors, rows) NAMED(places_##vectors##_##rows),
#define TAPS(vectors, rows) NAMED(taps_##vectors##_##rows),
#define LINE(vectors, rows) NAMED(line_##vectors##_##rows),
#define LINE_TAPS(vectors, rows) NAMED(line_taps_##vectors##_##rows),

EACH_ROWS(FUNCTIONS, 1)
EACH_ROWS(FUNCTIONS, 2)

static const Tiles NAMED(tiles) = {
    .lanes = LANES,
    .most_rows = {MOST_ROWS, ROWS_OF_TWO},
    .places = {{EACH_ROWS(PLACES, 1)}, {EACH_ROWS(PLACES, 2)}},
    .taps = {{EACH_ROWS(TAPS, 1)}, {EACH_ROWS(TAPS, 2)}},
    .line = {{EACH_ROWS(LINE, 1)}, {EACH_ROWS(LINE, 2)}},
    .line_taps = {{EACH_ROWS(LINE_TAPS, 1)}, {EACH_ROWS(LINE_TAPS, 2)}},
};

#undef Vector
#undef LANES
#undef INLINE
#undef UNROLLED
#undef EACH_ROWS
#undef FUNCTIONS
#undef PLACES
#undef TAPS
#undef LINE
#undef LINE_TAPS
#undef BYTES
#undef TARGET
#undef ROWS_OF_TWO
#undef NAMED
#undef LOAD
#undef STORE
#undef PART
#undef PART_OF
#undef LOAD_PART
#undef STORE_PART
#undef SPREAD
#undef MULTIPLY_ADD
