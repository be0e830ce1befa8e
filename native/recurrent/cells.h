/* What a step of a recurrent layer does beside its matrix product, element by element: cells.c. */
#ifndef CAPTURE_CELLS_H
#define CAPTURE_CELLS_H

#include <stdbool.h>
#include <stdint.h>

/* All matrices are row-major, with a row for each sequence of the batch. `width`: the elements of a state. */

/* reset and update = sigmoid(gates + products + bias), new = tanh(gates + reset * (products + bias)),
 * after = (before - new) * update + new. Rows of gates, products and bias have these three one after the
 * other. `kept`: reset, update, new, products + bias of new; NULL where no backward follows. */
typedef struct {
    int64_t width;
    const void *gates, *products, *bias, *before;
    void *after, *kept;
} GruForward;

/* The gradients of gates and products, and the part of that of `before` that comes by no product. The
 * gradient of `after` is grad + later. */
typedef struct {
    int64_t width;
    const void *grad, *later, *kept, *before;
    void *gates, *products, *direct;
} GruBackward;

/* state = tanh(gates + state) or relu(gates + state) */
typedef struct {
    int64_t width;
    const void *gates;
    void *state;
} RnnForward;

/* The gradient of the gates. The gradient of `state` is grad + later. */
typedef struct {
    int64_t width;
    const void *grad, *later, *state;
    void *gates;
} RnnBackward;

/* Does the rows [begin, end) of a struct above, and gives 0. */
typedef int32_t (*Cell)(const void *step, int64_t begin, int64_t end);

typedef struct {
    Cell gru_forward, gru_backward, tanh_forward, tanh_backward, relu_forward, relu_backward;
} Cells;

/* The best ones for this processor. */
const Cells *cells_for(bool is_double);

/* From now on vectors have at most so many bytes. Returns the limit before. */
int cells_limit(int bytes);

#endif
