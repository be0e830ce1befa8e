/* What a step of a recurrent layer does, tile by tile: a product with packed weights, and what stands beside
 * it for each element: cells.c. */
#ifndef CAPTURE_CELLS_H
#define CAPTURE_CELLS_H

#include <stdbool.h>
#include <stdint.h>

/* All matrices are row-major, with a row for each sequence of the batch. `width`: the elements of a state.
 * `products`: those of the state with its weight, or of gradients with it; a tile has them. */

/* Some rows and some elements of their states. `sums`: their products, from one row to the next, and from one
 * gate to the next. */
typedef struct {
    int64_t row, rows, unit, units;
    const void *sums;
    int64_t sums_row, sums_part;
} Tile;

/* input, forget and output = sigmoid(gates + products), candidate = tanh(gates + products),
 * cell = forget * cell + input * candidate, after = output * tanh(cell). Rows of gates and products have the
 * input, forget, candidate, output one after the other. `kept`: these four and the cell; NULL where no
 * backward follows. */
typedef struct {
    int64_t width;
    const void *gates;
    void *cell, *after, *kept;
} LstmForward;

/* The gradients of gates, and that of the cell before from that of the cell. The gradient of `after` is
 * grad + products. `before`: the cell before, with `before_row` elements from one row to the next. */
typedef struct {
    int64_t width, before_row;
    const void *grad, *kept, *before;
    void *gates, *cell;
} LstmBackward;

/* reset and update = sigmoid(gates + products + bias), new = tanh(gates + reset * (products + bias)),
 * after = (before - new) * update + new. Rows of gates, products and bias have these three one after the
 * other. `kept`: reset, update, new, products + bias of new; NULL where no backward follows. */
typedef struct {
    int64_t width;
    const void *gates, *bias, *before;
    void *after, *kept;
} GruForward;

/* The gradients of gates and products, and the part of that of `before` that comes by no product, in place of
 * that of `after`. The gradient of `after` is grad + direct + products. */
typedef struct {
    int64_t width;
    const void *grad, *kept, *before;
    void *gates, *products, *direct;
} GruBackward;

/* state = tanh(gates + products) or relu(gates + products) */
typedef struct {
    int64_t width;
    const void *gates;
    void *state;
} RnnForward;

/* The gradient of the gates. The gradient of `state` is grad + products. */
typedef struct {
    int64_t width;
    const void *grad, *state;
    void *gates;
} RnnBackward;

/* to += products */
typedef struct {
    int64_t width;
    void *to;
} AddProducts;

/* Does a struct above for a tile. */
typedef void (*Cell)(const void *step, const Tile *tile);

#define MOST_TILE_ROWS 12
#define MOST_TILE_VECTORS 4
#define MOST_LANES 16

/* sums[rows, vectors] = left[rows, inner] @ panel[inner, vectors], with whole vectors; `left_row` elements
 * from one row of `left` to the next. */
typedef struct {
    const void *left, *panel;
    void *sums;
    int64_t inner, left_row;
} TileProduct;

/* A weight [inner, width] (`parts` is 1), or `transposed` [parts * width, inner] and then its transpose, as
 * `count` panels [inner, vectors]. A panel has the same elements of each part, `vectors / parts` vectors of
 * them. Behind the last element it has 0. */
typedef struct {
    bool transposed;
    int64_t width, inner, parts, vectors, count;
    void *memory;
} Panels;

typedef struct {
    int64_t lanes;                        /* elements of a vector */
    int64_t most_rows[MOST_TILE_VECTORS]; /* of tiles with one vector, two, ... */
    void (*tiles[MOST_TILE_VECTORS][MOST_TILE_ROWS])(const TileProduct *tile);
    void (*pack)(const Panels *panels, const void *weight);
    Cell lstm_forward, lstm_backward, gru_forward, gru_backward;
    Cell tanh_forward, tanh_backward, relu_forward, relu_backward, add;
} Cells;

/* The best ones for this processor. */
const Cells *cells_for(bool is_double);

/* From now on vectors have at most so many bytes. Returns the limit before. */
int cells_limit(int bytes);

#endif
