/* Products and cells of recurrent layers, in vectors.
 *
 * In:  the gates of one step, as structs of cells.h.
 * Out: states, or gradients. Sigmoid and tanh are right to a few units in the last place.
 *
 * products_of.h and cells_of.h have the text. It is compiled for each type of elements, and for each width of
 * vectors (cells_in_widths.h); the processor decides which of them runs.
 */
#include "recurrent/cells.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define JOINED(name, suffix) name##_##suffix
#define NAMED(name, suffix) JOINED(name, suffix)

/* X for each number of rows of a tile whose rows are so many vectors. */
#define EACH_TILE_OF(vectors, X) EACH_TILE(NAMED(TILES, vectors), vectors, X)
#define EACH_TILE(most, vectors, X) NAMED(UP_TO, most)(vectors, X)
#define UP_TO_2(vectors, X) X(vectors, 1) X(vectors, 2)
#define UP_TO_4(vectors, X) UP_TO_2(vectors, X) X(vectors, 3) X(vectors, 4)
#define UP_TO_6(vectors, X) UP_TO_4(vectors, X) X(vectors, 5) X(vectors, 6)
#define UP_TO_8(vectors, X) UP_TO_6(vectors, X) X(vectors, 7) X(vectors, 8)
#define UP_TO_12(vectors, X) UP_TO_8(vectors, X) X(vectors, 9) X(vectors, 10) X(vectors, 11) X(vectors, 12)

#if defined(__x86_64__)
/* 1 / x for finite x from 1 on: an estimate to 14 bits, and a step of Newton. A division takes twice as long.
 */
static inline __attribute__((always_inline, target("avx512f"))) __m512 reciprocal_ps(__m512 x)
{
    const __m512 estimate = _mm512_rcp14_ps(x);
    return _mm512_fmadd_ps(estimate, _mm512_fnmadd_ps(estimate, x, _mm512_set1_ps(1)), estimate);
}

static inline __attribute__((always_inline, target("avx512f"))) __m512d reciprocal_pd(__m512d x)
{
    return 1 / x;
}

static inline __attribute__((always_inline, target("avx512f"))) __m512 unless_below_ps(__m512 x, __m512 limit,
                                                                                       __m512 value)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, limit, _CMP_NLT_UQ), value);
}

static inline __attribute__((always_inline, target("avx512f"))) __m512d
unless_below_pd(__m512d x, __m512d limit, __m512d value)
{
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(x, limit, _CMP_NLT_UQ), value);
}
#endif

/* Numbers of the two types: the text is in polynomials.py of codegen/llvm, where the coefficients are from.
 *
 * ROUNDING: adding it rounds to an integer, which is then in the low bits. LN2_HIGH has few bits: its product
 * with an exponent is exact. PACKED: how instructions name the type. */

#define REAL float
#define BITS int32_t
#define MANTISSA 23
#define BIAS 127
#define ROUNDING 12582912.0f
#define LN2_HIGH 0.693359375f
#define LN2_LOW -2.12194440e-4f
#define LARGEST 87.0f
static const float EXP_float[] = {0.001382130547426641f, 0.008368668146431446f, 0.04166825860738754f,
                                  0.1666652113199234f, 0.4999999403953552f};
#define POLYNOMIAL EXP_float

#define PACKED ps
#include "recurrent/cells_in_widths.h"

#undef REAL
#undef BITS
#undef MANTISSA
#undef BIAS
#undef ROUNDING
#undef LN2_HIGH
#undef LN2_LOW
#undef LARGEST
#undef POLYNOMIAL
#undef PACKED

#define REAL double
#define BITS int64_t
#define MANTISSA 52
#define BIAS 1023
#define ROUNDING 6755399441055744.0
#define LN2_HIGH 0.6931471803691238
#define LN2_LOW 1.9082149292705877e-10
#define LARGEST 708.0
static const double EXP_double[] = {2.5100375832483178e-08, 2.7620075879881866e-07, 2.755726848031019e-06,
                                    2.4801521322368905e-05, 0.00019841269863040545, 0.0013888888917196719,
                                    0.008333333333330065,   0.041666666666624164,   0.16666666666666669,
                                    0.5000000000000001};
#define POLYNOMIAL EXP_double

#define PACKED pd
#include "recurrent/cells_in_widths.h"

static int widest = 64;

int cells_limit(int bytes)
{
    const int before = widest;
    widest = bytes;
    return before;
}

const Cells *cells_for(bool is_double)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (widest >= 64 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
        return is_double ? &cells_double_64 : &cells_float_64;
    }
    if (widest >= 32 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return is_double ? &cells_double_32 : &cells_float_32;
    }
#endif
    return is_double ? &cells_double_16 : &cells_float_16;
}
