/* The loop of a recurrent layer over its steps: a product and a cell in each, on all threads: steps.c. */
#ifndef CAPTURE_STEPS_H
#define CAPTURE_STEPS_H

#include <stdbool.h>
#include <stddef.h>

#include "recurrent/cells.h"

typedef struct {
    const Cells *cells;
    size_t size; /* of an element */
    int is_double, reverse, relu;
    long long steps, batch, width;
} Layer;

/* The elements of one step, `parts` of them for each of a state. */
size_t bytes_of(const Layer *layer, int parts);

/* The step that is number `turn` in the order of the layer. */
size_t step_at(const Layer *layer, long long turn);

typedef struct Steps Steps;

/* In each turn: products = left(turn) @ weight, whose tiles `cell` takes. The weight is
 * [inner_parts * width, parts * width], or `transposed` its transpose. A `left` that is NULL has products of
 * zeros. Forward, the turns are 0 .. steps - 1. `backward` they go from steps - 1 down to -1. */
struct Steps {
    const Layer *layer;
    bool backward, transposed;
    int parts, inner_parts;
    const char *weight;
    const char *(*left)(const Steps *steps, long long turn);
    void (*cell)(const Steps *steps, long long turn, const Tile *tile);
    char *const *matrices; /* for the two functions */
};

/* 0, or -1 where memory is short. It needs no GIL. `init_gemm` has found BLAS. */
int run_steps(const Steps *steps);

#endif
