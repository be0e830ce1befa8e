/* The text of cells.c for one type of elements, in each width of vectors. It has no guard: it is included for
 * each type.
 *
 * LESSER and GREATER give the second operand where one of the two is NaN. */

#define BYTES 16
#define TARGET
#define SUFFIX NAMED(REAL, 16)
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#define LESSER(a, b) where((a) < (b), a, b)
#define GREATER(a, b) where((a) > (b), a, b)
#include "recurrent/cells_of.h"

#if defined(__x86_64__)
#define BYTES 32
#define TARGET __attribute__((target("avx2,fma")))
#define SUFFIX NAMED(REAL, 32)
#define MULTIPLY_ADD NAMED(_mm256_fmadd, PACKED)
#define LESSER NAMED(_mm256_min, PACKED)
#define GREATER NAMED(_mm256_max, PACKED)
#include "recurrent/cells_of.h"

#define BYTES 64
#define TARGET __attribute__((target("avx512f,avx512dq")))
#define SUFFIX NAMED(REAL, 64)
#define MULTIPLY_ADD NAMED(_mm512_fmadd, PACKED)
#define LESSER NAMED(_mm512_min, PACKED)
#define GREATER NAMED(_mm512_max, PACKED)
#include "recurrent/cells_of.h"
#endif
