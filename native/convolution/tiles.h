/* The innermost loops of convolutions: tiles of sums that stay in registers (tiles.c).
 *
 * A tap is a place of the source, as seen from a place of the result: a channel, a row and a column. `taps`
 * are their offsets. `width` is the number of channels of the result, filled up to whole vectors: the sums of
 * one place lie side by side. */
#ifndef CAPTURE_CONVOLUTION_TILES_H
#define CAPTURE_CONVOLUTION_TILES_H

#include <stdint.h>

#define MOST_ROWS 12   /* of a tile */
#define MOST_VECTORS 2 /* of a row of a tile */

/* sums[place] = bias + taps of this place * weights; a row of the tile is a place. `bias` may be NULL. */
typedef struct {
    const float *source, *weights, *bias;
    const int64_t *taps;
    int64_t count, width;
    float *sums;
} Places;

/* sums[tap] += the source at this tap * gradient, at all places; a row of the tile is a tap. */
typedef struct {
    const float *source, *gradient;
    const int64_t *taps;
    int64_t source_row, rows, columns, width;
    float *sums;
} Taps;

typedef void (*PlacesTile)(const Places *places);
typedef void (*TapsTile)(const Taps *taps);

/* Tiles by the number of vectors of a row, and of rows, each less 1. */
typedef struct {
    int64_t lanes;
    int64_t most_rows[MOST_VECTORS];
    PlacesTile places[MOST_VECTORS][MOST_ROWS];
    TapsTile taps[MOST_VECTORS][MOST_ROWS];
} Tiles;

/* Those that waste least for so many channels; NULL on a processor without AVX2. */
const Tiles *tiles_for(int64_t channels);

/* Vectors have at most so many bytes. Gives the limit before. */
int tiles_limit(int bytes);

/* to[column][row] = from[row][column]; a row of either begins so many elements behind the one before. AVX2.
 */
void transpose(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to, int64_t to_row);

/* Each element that is `step` behind the one before. AVX2. */
void pick(const float *from, int64_t step, int64_t count, float *to);

#endif
