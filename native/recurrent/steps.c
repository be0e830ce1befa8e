/* The loop of a recurrent layer over its steps.
 *
 * In:  a weight, and two functions: what it is multiplied with in a turn, and a cell for a tile of products.
 * Out: all turns were done, one after the other.
 *
 * The weight is packed once, in panels that hold the same elements of each gate. So a tile, some rows of the
 * batch and some elements of their states, goes from its product to its cell while it is in the first cache.
 * Sequences do not depend on each other: threads take rows of the batch through all turns. Where the rows
 * are few, they take panels of each turn. For a few steps the packing does not pay, and BLAS has the product.
 */
#include "recurrent/steps.h"

#include <stdlib.h>
#include <string.h>

#include "graph/matrix_product.h"
#include "graph/parallel.h"

/* Where packing pays, measured for batches of 1 to 64 and widths of 32 to 512, with AVX-512. */
#define LEAST_STEPS 4
#define LEAST_ROWS_OF_ALL 32 /* rows of all steps, for weights that are not small */
#define NARROW 192           /* widths of small ones */
#define MOST_ROWS 48         /* of a step */
#define FEW_ROWS 10
#define WIDE 384 /* widths whose weights no second cache holds: the loads are all that counts */

#define PART_ELEMENTS 4096 /* so many elements of a state are worth a thread */
#define PART_WORK 1500000  /* so many multiplications are worth a thread: some 25 us */
#define LEAST_ROWS 4       /* of a thread: fewer leave the weight's loads to wait for */
#define LINE 64            /* bytes of a line of the cache */

size_t bytes_of(const Layer *layer, int parts)
{
    return (size_t)layer->batch * (size_t)layer->width * (size_t)parts * layer->size;
}

size_t step_at(const Layer *layer, long long turn)
{
    return (size_t)(layer->reverse ? layer->steps - 1 - turn : turn);
}

/* --- by panels ---------------------------------------------------------------------------------------- */

typedef struct {
    const Steps *steps;
    const Panels *panels;
    long long turn; /* of `panels_of_turn` */
} Packed;

static Panels panels_of(const Steps *steps)
{
    const Layer *layer = steps->layer;
    const int64_t lanes = layer->cells->lanes, vectors = (layer->width + lanes - 1) / lanes;
    const int64_t most = MOST_TILE_VECTORS / steps->parts; /* of one part */
    const int64_t count = (vectors + most - 1) / most;
    const int64_t units = (vectors + count - 1) / count;
    return (Panels){.transposed = steps->transposed,
                    .width = layer->width,
                    .inner = layer->width * steps->inner_parts,
                    .parts = steps->parts,
                    .vectors = units * steps->parts,
                    .count = (vectors + units - 1) / units};
}

/* The rows [begin, end) of a panel. */
static void run_panel(const Packed *packed, long long turn, int64_t panel, int64_t begin, int64_t end)
{
    const Steps *steps = packed->steps;
    const Layer *layer = steps->layer;
    const Panels *panels = packed->panels;
    const Cells *cells = layer->cells;
    const char *left = steps->left(steps, turn);
    char sums[MOST_TILE_ROWS * MOST_TILE_VECTORS * LINE] __attribute__((aligned(LINE)));
    const int64_t row = panels->vectors * cells->lanes, most = cells->most_rows[panels->vectors - 1];
    const int64_t units = row / panels->parts, tiles = (end - begin + most - 1) / most;
    Tile tile = {.row = begin,
                 .unit = panel * units,
                 .units = units,
                 .sums = sums,
                 .sums_row = row,
                 .sums_part = units};
    for (int64_t i = 0; i < tiles; i++, tile.row += tile.rows) {
        tile.rows = (end - tile.row + tiles - i - 1) / (tiles - i);
        if (left == NULL) {
            memset(sums, 0, sizeof(sums));
        } else {
            const size_t panel_bytes = (size_t)(panels->inner * row) * layer->size;
            cells->tiles[panels->vectors - 1][tile.rows - 1](
                &(TileProduct){.left = left + (size_t)(tile.row * panels->inner) * layer->size,
                               .panel = (char *)panels->memory + (size_t)panel * panel_bytes,
                               .sums = sums,
                               .inner = panels->inner,
                               .left_row = panels->inner});
        }
        steps->cell(steps, turn, &tile);
    }
}

static int32_t rows_of_all_turns(const void *data, int64_t begin, int64_t end)
{
    const Packed *packed = data;
    const Steps *steps = packed->steps;
    const long long count = steps->layer->steps;
    for (long long i = 0; i < count + steps->backward; i++) {
        for (int64_t panel = 0; panel < packed->panels->count; panel++) {
            run_panel(packed, steps->backward ? count - 1 - i : i, panel, begin, end);
        }
    }
    return 0;
}

static int32_t panels_of_turn(const void *data, int64_t begin, int64_t end)
{
    const Packed *packed = data;
    for (int64_t panel = begin; panel < end; panel++) {
        run_panel(packed, packed->turn, panel, 0, packed->steps->layer->batch);
    }
    return 0;
}

static int run_packed(const Steps *steps)
{
    const Layer *layer = steps->layer;
    Panels panels = panels_of(steps);
    const int64_t elements = panels.count * panels.inner * panels.vectors * layer->cells->lanes;
    panels.memory = aligned_alloc(LINE, ((size_t)elements * layer->size + LINE - 1) / LINE * LINE);
    if (panels.memory == NULL) {
        return -1;
    }
    layer->cells->pack(&panels, steps->weight);
    Packed packed = {.steps = steps, .panels = &panels};
    const int64_t rows = PART_WORK / (elements * layer->steps) + 1;
    const int64_t row_parts = parallel_parts(layer->batch, rows < LEAST_ROWS ? LEAST_ROWS : rows);
    const int64_t panel_parts =
        parallel_parts(panels.count, PART_WORK / (elements / panels.count * layer->batch) + 1);
    if (row_parts >= panel_parts) {
        parallel_run(rows_of_all_turns, &packed, layer->batch, row_parts);
    } else {
        for (long long i = 0; i < layer->steps + steps->backward; i++) {
            packed.turn = steps->backward ? layer->steps - 1 - i : i;
            parallel_run(panels_of_turn, &packed, panels.count, panel_parts);
        }
    }
    free(panels.memory);
    return 0;
}

/* --- by BLAS ------------------------------------------------------------------------------------------ */

typedef struct {
    const Steps *steps;
    long long turn;
    const char *products;
} Whole;

static int32_t rows_of_turn(const void *data, int64_t begin, int64_t end)
{
    const Whole *whole = data;
    const Layer *layer = whole->steps->layer;
    const int64_t width = layer->width, row = width * whole->steps->parts;
    whole->steps->cell(whole->steps, whole->turn,
                       &(Tile){.row = begin,
                               .rows = end - begin,
                               .units = width,
                               .sums = whole->products + (size_t)(begin * row) * layer->size,
                               .sums_row = row,
                               .sums_part = width});
    return 0;
}

static int run_whole(const Steps *steps)
{
    const Layer *layer = steps->layer;
    char *products = calloc(1, bytes_of(layer, steps->parts));
    if (products == NULL) {
        return -1;
    }
    const int64_t parts = parallel_parts(layer->batch, PART_ELEMENTS / layer->width + 1);
    for (long long i = 0; i < layer->steps + steps->backward; i++) {
        const long long turn = steps->backward ? layer->steps - 1 - i : i;
        const char *left = steps->left(steps, turn);
        if (left != NULL) {
            matrix_product(&(MatrixProduct){.is_double = layer->is_double,
                                            .transposed = steps->transposed,
                                            .rows = layer->batch,
                                            .columns = layer->width * steps->parts,
                                            .inner = layer->width * steps->inner_parts,
                                            .left = left,
                                            .right = steps->weight,
                                            .output = products});
        }
        parallel_run(rows_of_turn, &(Whole){.steps = steps, .turn = turn, .products = products}, layer->batch,
                     parts);
    }
    free(products);
    return 0;
}

/* Whether the packing pays. BLAS packs a weight that it takes transposed for each product, and another one
 * not at all: it is the faster one then, but for fewer rows than its kernels are made for.
 */
static bool pays(const Steps *steps)
{
    const Layer *layer = steps->layer;
    const long long rows = layer->steps * layer->batch;
    if (steps->transposed) {
        return layer->steps >= LEAST_STEPS && layer->batch <= MOST_ROWS
               && (layer->width <= NARROW || rows >= LEAST_ROWS_OF_ALL);
    }
    return layer->batch <= FEW_ROWS && layer->width <= WIDE && rows >= LEAST_ROWS_OF_ALL;
}

int run_steps(const Steps *steps)
{
    return pays(steps) ? run_packed(steps) : run_whole(steps);
}
