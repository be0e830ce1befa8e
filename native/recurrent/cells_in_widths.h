/* The text of cells.c for one type of elements, in each width of vectors. It has no guard: it is included for
 * each type.
 *
 * LESSER and GREATER give the second operand where one of the two is NaN. UNLESS_BELOW(x, limit, value): 0
 * where x < limit, else the value. TILES_n: the most rows of a tile whose rows are n vectors, so that all its
 * sums are in registers. */

#define BYTES 16
#define TARGET
#define SUFFIX NAMED(REAL, 16)
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#define LESSER(a, b) where((a) < (b), a, b)
#define GREATER(a, b) where((a) > (b), a, b)
#define RECIPROCAL(x) (1 / (x))
#define UNLESS_BELOW(x, limit, value) where((x) < (limit), (Vector){0}, value)
#define TILES_1 8
#define TILES_2 6
#define TILES_3 4
#define TILES_4 2
#include "recurrent/width_of.h"

#if defined(__x86_64__)
#define BYTES 32
#define TARGET __attribute__((target("avx2,fma")))
#define SUFFIX NAMED(REAL, 32)
#define MULTIPLY_ADD NAMED(_mm256_fmadd, PACKED)
#define LESSER NAMED(_mm256_min, PACKED)
#define GREATER NAMED(_mm256_max, PACKED)
#define RECIPROCAL(x) (1 / (x))
#define UNLESS_BELOW(x, limit, value) where((x) < (limit), (Vector){0}, value)
#define TILES_1 8
#define TILES_2 6
#define TILES_3 4
#define TILES_4 2
#include "recurrent/width_of.h"

#define BYTES 64
#define TARGET __attribute__((target("avx512f,avx512dq")))
#define SUFFIX NAMED(REAL, 64)
#define MULTIPLY_ADD NAMED(_mm512_fmadd, PACKED)
#define LESSER NAMED(_mm512_min, PACKED)
#define GREATER NAMED(_mm512_max, PACKED)
#define RECIPROCAL NAMED(reciprocal, PACKED)
#define UNLESS_BELOW NAMED(unless_below, PACKED)
#define TILES_1 12
#define TILES_2 12
#define TILES_3 8
#define TILES_4 6
#include "recurrent/width_of.h"
#endif
