/* All of cells.c for one type of elements (REAL and its numbers) and one width of vectors (BYTES). It has no
 * guard: it is included once for each of them. */
#include "recurrent/vectors_of.h"

#include "recurrent/products_of.h"

#include "recurrent/cells_of.h"

#undef Vector
#undef Lanes
#undef load
#undef store
#undef where
#undef exponential
#undef sigmoid
#undef hyperbolic
#undef ALL
#undef SPREAD
#undef LANES
#undef INLINE
#undef tile_product
#undef transpose_block
#undef PACKED_ROWS
#undef UNROLLED
#undef FUNCTION
#undef ENTRY
#undef AT
#undef PRODUCT
#undef EACH_ROW
#undef EACH_UNIT
#undef MULTIPLY_ADD
#undef LESSER
#undef GREATER
#undef RECIPROCAL
#undef UNLESS_BELOW
#undef TILES_1
#undef TILES_2
#undef TILES_3
#undef TILES_4
#undef BYTES
#undef TARGET
#undef SUFFIX
