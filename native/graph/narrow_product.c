/* Products of float32 matrices of which one is narrow, such as x @ w with few columns.
 *
 * In:  sizes, strides and bare pointers.
 * Out: the product, by AVX2 or AVX-512. MKL has 5 to 20 GFLOP/s for most of these, this 30 to 80.
 *
 *     x[600, 600] @ w[600, 7]         dot products of the rows of x and the columns of w
 *     x[600, 600].t() @ w[600, 7]     vectors along the rows of the product
 *     w[7, 600] @ x[600, 600]         the same, with the output transposed
 *
 * A product is seen as a strip: `length` is the long side of the output, `width` the short one, and the
 * `wide` factor has the long side. The inner sizes are divided into blocks; their sums are added in turn. A
 * sum does not depend on the tile that it is in.
 */
#include "graph/narrow_product.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "graph/parallel.h"

#define COLUMNS 4         /* of a tile */
#define MOST_COLUMNS 11   /* of a product: from 12 on MKL is fast */
#define MOST_DOTS 3       /* rows of a product, where its tiles are dot products */
#define LEAST_DOT 32      /* inner elements that pay */
#define LEAST_CHAIN 16    /* the same where they are chains */
#define BLOCK 512         /* inner elements: the packed narrow factor stays in the first cache */
#define CHAIN 128         /* the same where the sums are chains of all of them: longer ones are less exact */
#define PART_WORK 1500000 /* so many multiplications are worth a thread */

typedef struct {
    int64_t length, width, inner;
    int64_t wide_along, wide_inner, narrow_across, narrow_inner, output_along, output_across;
    const float *wide, *narrow;
    float *output;
    bool adds;
} Strip;

/* What a tile reads and writes: `columns` columns of a block of `inner` elements. */
typedef struct {
    const float *wide, *narrow;
    int64_t narrow_across, narrow_inner, inner;
    float *output;
    int columns;
    bool adds;
} Piece;

/* Does one tile, `left` elements of the length before its end; gives how many it has done. */
typedef int64_t (*Tile)(const Strip *strip, Piece piece, int64_t left);

typedef struct {
    Tile dots, columns;
    int64_t length;    /* of a tile of `columns` */
    int64_t most_rows; /* of a product, where the tile is `columns`: with more rows, MKL is faster */
} Tiles;

#if defined(__x86_64__)
static inline __attribute__((target("avx2,fma"))) __m256i first_lanes(int64_t count)
{
    const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), places);
}

static inline __attribute__((target("avx2,fma"))) float sum_of_8(__m256 value)
{
    __m128 sum = _mm_add_ps(_mm256_castps256_ps128(value), _mm256_extractf128_ps(value, 1));
    sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
    return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

#define BYTES 32
#define TARGET __attribute__((target("avx2,fma")))
#define TILE 3
#define MOST_ROWS 3
#define NAMED(name) name##_32
#define LOAD(place) _mm256_loadu_ps(place)
#define LOAD_PART(place, count) _mm256_maskload_ps(place, first_lanes(count))
#define MULTIPLY_ADD _mm256_fmadd_ps
#define SUM sum_of_8
#include "graph/narrow_product_of.h"

#define BYTES 64
#define TARGET __attribute__((target("avx512f,avx512dq")))
#define TILE 6
#define MOST_ROWS 11
#define NAMED(name) name##_64
#define LOAD(place) _mm512_loadu_ps(place)
#define LOAD_PART(place, count) _mm512_maskz_loadu_ps((__mmask16)((1u << (count)) - 1), place)
#define MULTIPLY_ADD _mm512_fmadd_ps
#define SUM _mm512_reduce_add_ps
#include "graph/narrow_product_of.h"
#endif

static int widest_vectors = 64; /* bytes */

/* NULL on a processor without AVX2. */
static const Tiles *tiles_here(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (widest_vectors >= 64 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
        return &tiles_64;
    }
    if (widest_vectors >= 32 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return &tiles_32;
    }
#endif
    return NULL;
}

static Strip strip_of(const OwnProduct *product)
{
    if (product->columns <= product->rows) {
        return (Strip){.length = product->rows,
                       .width = product->columns,
                       .inner = product->inner,
                       .wide_along = product->left_row,
                       .wide_inner = product->left_column,
                       .narrow_across = product->right_column,
                       .narrow_inner = product->right_row,
                       .output_along = product->output_row,
                       .output_across = 1};
    }
    return (Strip){.length = product->columns,
                   .width = product->rows,
                   .inner = product->inner,
                   .wide_along = product->right_column,
                   .wide_inner = product->right_row,
                   .narrow_across = product->left_row,
                   .narrow_inner = product->left_column,
                   .output_along = 1,
                   .output_across = product->output_row};
}

/* For a single row or column, MKL is fast. */
bool narrow_product_takes(const OwnProduct *product)
{
    const Tiles *tiles = tiles_here();
    if (tiles == NULL) {
        return false;
    }
    const Strip strip = strip_of(product);
    const bool by_dots = strip.wide_inner == 1, by_columns = product->columns <= product->rows;
    const int64_t widest = by_columns ? MOST_COLUMNS : by_dots ? MOST_DOTS : tiles->most_rows;
    return strip.width > 1 && strip.width <= widest && strip.inner >= (by_dots ? LEAST_DOT : LEAST_CHAIN)
           && (by_dots || strip.wide_along == 1);
}

/* Copies a block of the narrow factor: column by column for dot products, else the columns of a tile side by
 * side. Returns where the columns of `first` begin, and sets the strides of the copy. */
static void pack(const Strip *strip, int64_t begin, int64_t inner, bool by_dots, float *packed)
{
    for (int64_t j = 0; j < strip->width; j++) {
        const float *from = strip->narrow + j * strip->narrow_across + begin * strip->narrow_inner;
        float *to = by_dots ? packed + j * BLOCK : packed + j / COLUMNS * COLUMNS * BLOCK + j % COLUMNS;
        const int64_t step = by_dots ? 1 : COLUMNS;
        for (int64_t k = 0; k < inner; k++) {
            to[k * step] = from[k * strip->narrow_inner];
        }
    }
}

/* The elements [from, to) of the length. */
static int32_t run_part(const void *data, int64_t from, int64_t to)
{
    const Strip *strip = data;
    const Tiles *tiles = tiles_here();
    const bool by_dots = strip->wide_inner == 1;
    const bool packs = by_dots ? strip->narrow_inner != 1 : to - from > 2 * tiles->length;
    const Tile tile = by_dots ? tiles->dots : tiles->columns;
    const int64_t block = by_dots ? BLOCK : CHAIN;
    _Alignas(64) float packed[(MOST_COLUMNS + 1) * BLOCK];
    for (int64_t k = 0; k < strip->inner; k += block) {
        const int64_t inner = strip->inner - k < block ? strip->inner - k : block;
        if (packs) {
            pack(strip, k, inner, by_dots, packed);
        }
        int64_t done;
        for (int64_t i = from; i < to; i += done) {
            done = to - i;
            for (int64_t j = 0; j < strip->width; j += COLUMNS) {
                Piece piece = {.wide = strip->wide + i * strip->wide_along + k * strip->wide_inner,
                               .narrow = strip->narrow + j * strip->narrow_across + k * strip->narrow_inner,
                               .narrow_across = strip->narrow_across,
                               .narrow_inner = strip->narrow_inner,
                               .inner = inner,
                               .output = strip->output + i * strip->output_along + j * strip->output_across,
                               .columns = strip->width - j < COLUMNS ? (int)(strip->width - j) : COLUMNS,
                               .adds = strip->adds || k > 0};
                if (packs) {
                    piece.narrow = packed + j * BLOCK;
                    piece.narrow_across = by_dots ? BLOCK : 1;
                    piece.narrow_inner = by_dots ? 1 : COLUMNS;
                }
                done = tile(strip, piece, to - i);
            }
        }
    }
    return 0;
}

void narrow_product_run(const OwnProduct *product, bool adds, float *output, const float *left,
                        const float *right)
{
    const bool by_columns = product->columns <= product->rows;
    Strip strip = strip_of(product);
    strip.wide = by_columns ? left : right;
    strip.narrow = by_columns ? right : left;
    strip.output = output;
    strip.adds = adds;
    parallel_run(run_part, &strip, strip.length,
                 parallel_parts(strip.length, PART_WORK / (strip.width * strip.inner) + 1));
}

static PyObject *limit_narrow_products(PyObject *module, PyObject *bytes)
{
    const int before = widest_vectors;
    const long limit = PyLong_AsLong(bytes);
    if (limit == -1 && PyErr_Occurred()) {
        return NULL;
    }
    widest_vectors = (int)limit;
    return PyLong_FromLong(before);
}

static PyMethodDef methods[] = {
    {"limit_narrow_products", limit_narrow_products, METH_O,
     "limit_narrow_products(bytes): narrow products use vectors of at most so many bytes, for tests; with 0 "
     "BLAS computes them. Returns the limit before."},
    {NULL, NULL, 0, NULL},
};

int init_narrow_product(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
