/* Cells of recurrent layers, in vectors.
 *
 * In:  the gates of one step, as structs of cells.h.
 * Out: states, or gradients. Sigmoid and tanh are right to a few units in the last place.
 *
 * cells_of.h has the text. It is compiled for each type of elements and each width of vectors; the processor
 * decides which of them runs.
 */
#include "recurrent/cells.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define JOINED(name, suffix) name##_##suffix
#define NAMED(name, suffix) JOINED(name, suffix)

/* Numbers of the two types: the text is in polynomials.py of codegen/llvm, where the coefficients are from.
 *
 * LESSER and GREATER give the second operand where one of the two is NaN.
 * ROUNDING: adding it rounds to an integer, which is then in the low bits. LN2_HIGH has few bits: its product
 * with an exponent is exact. */

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

#define BYTES 16
#define TARGET
#define SUFFIX float_16
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#define LESSER(a, b) where((a) < (b), a, b)
#define GREATER(a, b) where((a) > (b), a, b)
#include "recurrent/cells_of.h"

#if defined(__x86_64__)
#define BYTES 32
#define TARGET __attribute__((target("avx2,fma")))
#define SUFFIX float_32
#define MULTIPLY_ADD _mm256_fmadd_ps
#define LESSER _mm256_min_ps
#define GREATER _mm256_max_ps
#include "recurrent/cells_of.h"

#define BYTES 64
#define TARGET __attribute__((target("avx512f,avx512dq")))
#define SUFFIX float_64
#define MULTIPLY_ADD _mm512_fmadd_ps
#define LESSER _mm512_min_ps
#define GREATER _mm512_max_ps
#include "recurrent/cells_of.h"
#endif

#undef REAL
#undef BITS
#undef MANTISSA
#undef BIAS
#undef ROUNDING
#undef LN2_HIGH
#undef LN2_LOW
#undef LARGEST
#undef POLYNOMIAL

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

#define BYTES 16
#define TARGET
#define SUFFIX double_16
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#define LESSER(a, b) where((a) < (b), a, b)
#define GREATER(a, b) where((a) > (b), a, b)
#include "recurrent/cells_of.h"

#if defined(__x86_64__)
#define BYTES 32
#define TARGET __attribute__((target("avx2,fma")))
#define SUFFIX double_32
#define MULTIPLY_ADD _mm256_fmadd_pd
#define LESSER _mm256_min_pd
#define GREATER _mm256_max_pd
#include "recurrent/cells_of.h"

#define BYTES 64
#define TARGET __attribute__((target("avx512f,avx512dq")))
#define SUFFIX double_64
#define MULTIPLY_ADD _mm512_fmadd_pd
#define LESSER _mm512_min_pd
#define GREATER _mm512_max_pd
#include "recurrent/cells_of.h"
#endif

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
