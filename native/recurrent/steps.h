/* The loop of a recurrent layer over its steps: a product and a cell in each, on all threads: steps.c. */
#ifndef CAPTURE_STEPS_H
#define CAPTURE_STEPS_H

#include <stdbool.h>
#include <stddef.h>

#include "recurrent/cells.h"

/* `rows`: those of each step, none more than the step before it, and `offsets`, those ahead of each step.
 * Both are NULL where each step has the whole batch. */
typedef struct {
    const Cells *cells;
    size_t size; /* of an element */
    int is_double, reverse, relu;
    long long steps, batch, width;
    int64_t *rows, *offsets;
    int64_t all_rows;
} Layer;

/* The bytes of a matrix with a row for each sequence of the batch, of `parts` elements for each of a state.
 */
size_t bytes_of(const Layer *layer, int parts);

/* The step that is number `turn` in the order of the layer. */
long long step_at(const Layer *layer, long long turn);

/* The rows of this step. No rows: there is no such turn. */
int64_t rows_at(const Layer *layer, long long turn);

/* The bytes ahead of this step, in a matrix of all steps. */
size_t place_at(const Layer *layer, long long turn, int parts);

/* Rows of a turn that are alike. */
typedef struct {
    int64_t begin, end;
    const char *left; /* what they are multiplied with, as a matrix from row 0 on; NULL: they have zeros */
    bool is_first;    /* the state before this turn is the one before the first step */
    bool is_over;     /* of a backward: the turn behind was their first step */
} Span;

typedef struct Steps Steps;

/* In each turn: products = left @ weight, whose tiles `cell` takes. The weight is
 * [inner_parts * width, parts * width], or `transposed` its transpose.
 * Forward, `left` is the state before, of `matrix` (the states of all steps) or `first`. `backward` it is
 * what the turn behind has written to `matrix`, and turns go from the last one to the one ahead of the first:
 * where a sequence began, its products are added to `of_first`. */
struct Steps {
    const Layer *layer;
    bool backward, transposed;
    int parts, inner_parts;
    const char *weight, *matrix, *first;
    char *of_first;
    void (*cell)(const Steps *steps, long long turn, const Span *span, const Tile *tile);
    char *const *matrices; /* for `cell` */
};

/* 0, or -1 where memory is short. It needs no GIL. `init_gemm` has found BLAS. */
int run_steps(const Steps *steps);

#endif
