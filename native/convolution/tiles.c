/* Tiles of convolutions in float32, by AVX2 or AVX-512. tiles_of.h has the text. */
#include "convolution/tiles.h"

#include <stdbool.h>
#include <stddef.h>
#if defined(__x86_64__)
#include <immintrin.h>

static inline __attribute__((always_inline, target("avx2"))) __m256i first_lanes(int64_t count)
{
    const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count < 8 ? (int)count : 8), places);
}

/* the lanes of a mask register */
static inline int64_t first_bits(int64_t count, int64_t lanes)
{
    return (INT64_C(1) << (count < lanes ? count : lanes)) - 1;
}

#define BYTES 32
#define TARGET __attribute__((target("avx2,fma")))
#define ROWS_OF_TWO 6 /* with 16 registers */
#define NAMED(name) name##_32
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define PART __m256i
#define PART_OF(count) first_lanes(count)
#define LOAD_PART _mm256_maskload_ps
#define STORE_PART _mm256_maskstore_ps
#define SPREAD _mm256_set1_ps
#define MULTIPLY_ADD _mm256_fmadd_ps
#include "convolution/tiles_of.h"

/* for channels that fill no vector of 64 bytes */
#define BYTES 32
#define TARGET __attribute__((target("avx512f,avx512vl,fma")))
#define ROWS_OF_TWO 12
#define NAMED(name) name##_half
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define PART __mmask8
#define PART_OF(count) ((__mmask8)first_bits(count, LANES))
#define LOAD_PART(place, part) _mm256_maskz_loadu_ps(part, place)
#define STORE_PART _mm256_mask_storeu_ps
#define SPREAD _mm256_set1_ps
#define MULTIPLY_ADD _mm256_fmadd_ps
#include "convolution/tiles_of.h"

#define BYTES 64
#define TARGET __attribute__((target("avx512f,avx512vl")))
#define ROWS_OF_TWO 12
#define NAMED(name) name##_64
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define PART __mmask16
#define PART_OF(count) ((__mmask16)first_bits(count, LANES))
#define LOAD_PART(place, part) _mm512_maskz_loadu_ps(part, place)
#define STORE_PART _mm512_mask_storeu_ps
#define SPREAD _mm512_set1_ps
#define MULTIPLY_ADD _mm512_fmadd_ps
#include "convolution/tiles_of.h"
#endif

static int widest = 64; /* bytes */

int tiles_limit(int bytes)
{
    const int before = widest;
    widest = bytes;
    return before;
}

const Tiles *tiles_for(int64_t channels)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (widest >= 64 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
        const bool fills =
            (channels + tiles_64.lanes - 1) / tiles_64.lanes * tiles_64.lanes < channels + tiles_half.lanes;
        return fills ? &tiles_64 : &tiles_half;
    }
    if (widest >= 32 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return &tiles_32;
    }
#endif
    return NULL;
}

static int64_t filled_up(int64_t count)
{
    const int64_t lanes = tiles_for(count)->lanes;
    return (count + lanes - 1) / lanes * lanes;
}

double vectors_of_lines(int64_t channels, int64_t columns)
{
    return (double)(channels * filled_up(columns)) / (double)(filled_up(channels) * columns);
}

#if defined(__x86_64__)
#define BLOCK 8

/* 8 rows of 8 elements. */
static inline __attribute__((always_inline, target("avx2"))) void
transpose_block(const float *from, int64_t from_row, float *to, int64_t to_row)
{
    __m256 rows[BLOCK], pairs[BLOCK], quads[BLOCK];
    _Pragma("GCC unroll 8") for (int i = 0; i < BLOCK; i++)
    {
        rows[i] = _mm256_loadu_ps(from + i * from_row);
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < BLOCK; i += 2)
    {
        pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
    }
    _Pragma("GCC unroll 2") for (int i = 0; i < BLOCK; i += 4)
    {
        _Pragma("GCC unroll 2") for (int j = 0; j < 2; j++)
        {
            quads[i + 2 * j] = _mm256_shuffle_ps(pairs[i + j], pairs[i + j + 2], 0x44);
            quads[i + 2 * j + 1] = _mm256_shuffle_ps(pairs[i + j], pairs[i + j + 2], 0xee);
        }
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
    {
        _mm256_storeu_ps(to + i * to_row, _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20));
        _mm256_storeu_ps(to + (i + 4) * to_row, _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31));
    }
}

__attribute__((target("avx2"))) void transpose(const float *from, int64_t from_row, int64_t rows,
                                               int64_t columns, float *to, int64_t to_row)
{
    const int64_t whole_columns = columns / BLOCK * BLOCK;
    for (int64_t i = 0; i < rows; i += BLOCK) {
        const int64_t part = rows - i < BLOCK ? rows - i : BLOCK;
        int64_t j = 0;
        for (; part == BLOCK && j < whole_columns; j += BLOCK) {
            transpose_block(from + i * from_row + j, from_row, to + j * to_row + i, to_row);
        }
        for (; j < columns; j++) {
            for (int64_t row = i; row < i + part; row++) {
                to[j * to_row + row] = from[row * from_row + j];
            }
        }
    }
}

void interleave(const float *even, const float *odd, int64_t size, float *to)
{
    enum { PAIRS = 4 };
    int64_t i = 0;
    for (; 2 * (i + PAIRS) <= size; i += PAIRS) {
        const __m128 left = _mm_loadu_ps(even + i), right = _mm_loadu_ps(odd + i);
        _mm_storeu_ps(to + 2 * i, _mm_unpacklo_ps(left, right));
        _mm_storeu_ps(to + 2 * i + PAIRS, _mm_unpackhi_ps(left, right));
    }
    for (i *= 2; i < size; i++) {
        to[i] = i % 2 == 0 ? even[i / 2] : odd[i / 2];
    }
}

enum { HALF = BLOCK / 2 };

/* The last elements are copied twice. */
static inline __attribute__((always_inline, target("avx2"))) void copy(const float *from, int64_t count,
                                                                       float *to)
{
    int64_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK) {
        _mm256_storeu_ps(to + i, _mm256_loadu_ps(from + i));
    }
    if (i + HALF <= count) {
        _mm_storeu_ps(to + i, _mm_loadu_ps(from + i));
    }
    if (i < count && count >= HALF) {
        _mm_storeu_ps(to + count - HALF, _mm_loadu_ps(from + count - HALF));
        return;
    }
    for (; i < count; i++) {
        to[i] = from[i];
    }
}

__attribute__((target("avx2"))) void pick(const float *from, int64_t step, int64_t count, float *to)
{
    if (step == 1) {
        copy(from, count, to);
        return;
    }
    int64_t i = 0; /* of two steps, vectors read an element more: not the last one */
    for (; step == 2 && i + BLOCK < count; i += BLOCK) {
        const __m256 left = _mm256_loadu_ps(from + 2 * i), right = _mm256_loadu_ps(from + 2 * i + BLOCK);
        const __m256i pairs = _mm256_castps_si256(_mm256_shuffle_ps(left, right, 0x88));
        _mm256_storeu_si256((__m256i *)(to + i), _mm256_permute4x64_epi64(pairs, 0xd8));
    }
    for (; step == 2 && i + HALF < count; i += HALF) {
        const __m128 left = _mm_loadu_ps(from + 2 * i), right = _mm_loadu_ps(from + 2 * i + HALF);
        _mm_storeu_ps(to + i, _mm_shuffle_ps(left, right, 0x88));
    }
    for (; i < count; i++) {
        to[i] = from[i * step];
    }
}
#else
void transpose(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to, int64_t to_row)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            to[j * to_row + i] = from[i * from_row + j];
        }
    }
}

void interleave(const float *even, const float *odd, int64_t size, float *to)
{
    for (int64_t i = 0; i < size; i++) {
        to[i] = i % 2 == 0 ? even[i / 2] : odd[i / 2];
    }
}

void pick(const float *from, int64_t step, int64_t count, float *to)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i * step];
    }
}
#endif
