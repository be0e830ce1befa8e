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

/* The same sums for few channels, whose places lie side by side: output[channel][place]. A row of the tile is
 * a channel, `plane` elements behind the one before; it has `places` places, of which the last vector may be
 * a part. `width`: from the weights of a tap to the next ones. */
typedef struct {
    const float *source, *weights, *bias;
    const int64_t *taps;
    int64_t count, width, places, plane;
    float *output;
} Line;

/* The same sums for few channels, whose places lie side by side. A row of the tile is a tap, and each of its
 * vectors a channel of the gradient, `plane` elements behind the one before. Each lane has a sum of its own;
 * those of a tap are `width` elements behind those of the one before. */
typedef struct {
    const float *source, *gradient;
    const int64_t *taps;
    int64_t source_row, gradient_row, rows, columns, plane, width;
    float *sums;
} LineTaps;

typedef void (*PlacesTile)(const Places *places);
typedef void (*TapsTile)(const Taps *taps);
typedef void (*LineTile)(const Line *line);
typedef void (*LineTapsTile)(const LineTaps *taps);

/* Tiles by the number of vectors of a row, and of rows, each less 1. */
typedef struct {
    int64_t lanes;
    int64_t most_rows[MOST_VECTORS];
    PlacesTile places[MOST_VECTORS][MOST_ROWS];
    TapsTile taps[MOST_VECTORS][MOST_ROWS];
    LineTile line[MOST_VECTORS][MOST_ROWS];
    LineTapsTile line_taps[MOST_VECTORS][MOST_ROWS];
} Tiles;

/* Those that waste least for so many channels, or columns of a line; NULL on a processor without AVX2. */
const Tiles *tiles_for(int64_t channels);

/* Vectors along lines of so many places, for each along the channels: the fewer, the less is wasted. */
double vectors_of_lines(int64_t channels, int64_t columns);

/* Vectors have at most so many bytes. Gives the limit before. */
int tiles_limit(int bytes);

/* to[column][row] = from[row][column]; a row of either begins so many elements behind the one before. AVX2.
 */
void transpose(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to, int64_t to_row);

/* to[2 * i] = even[i], to[2 * i + 1] = odd[i]: `size` elements. */
void interleave(const float *even, const float *odd, int64_t size, float *to);

/* Each element that is `step` behind the one before. AVX2. */
void pick(const float *from, int64_t step, int64_t count, float *to);

#endif
