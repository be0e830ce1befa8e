/* The loop of a recurrent layer over its steps.
 *
 * In:  a weight, the matrix that it is multiplied with, and a cell for a tile of products.
 * Out: all turns were done, one after the other.
 *
 * Packed sequences end at different steps: a step has the rows of those that go on. A turn is done in spans
 * of rows, which take the same way (`spans_of`).
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

long long step_at(const Layer *layer, long long turn)
{
    return layer->reverse ? layer->steps - 1 - turn : turn;
}

int64_t rows_at(const Layer *layer, long long turn)
{
    if (turn < 0 || turn >= layer->steps) {
        return 0;
    }
    return layer->rows == NULL ? layer->batch : layer->rows[step_at(layer, turn)];
}

size_t place_at(const Layer *layer, long long turn, int parts)
{
    const long long step = step_at(layer, turn);
    const int64_t rows = layer->rows == NULL ? step * layer->batch : layer->offsets[step];
    return (size_t)rows * (size_t)layer->width * (size_t)parts * layer->size;
}

/* --- spans of rows ------------------------------------------------------------------------------------- */

#define MOST_SPANS 4

static int64_t least(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

/* The spans of a turn from row 0 on. Returns their number. */
static int spans_of(const Steps *steps, long long turn, Span *spans)
{
    const Layer *layer = steps->layer;
    const long long beside = turn + (steps->backward ? 1 : -1); /* the turn that was done just now */
    const int64_t earlier = rows_at(layer, turn - 1), now = rows_at(layer, turn);
    const int64_t done = rows_at(layer, beside), all = steps->backward && done > now ? done : now;
    int count = 0;
    for (int64_t begin = 0; begin < all; begin = spans[count++].end) {
        int64_t end = all;
        end = begin < earlier ? least(end, earlier) : end;
        end = begin < now ? least(end, now) : end;
        end = begin < done ? least(end, done) : end;
        spans[count] = (Span){
            .begin = begin,
            .end = end,
            .left = begin < done ? steps->matrix + place_at(layer, beside, steps->inner_parts) : steps->first,
            .is_first = begin >= earlier,
            .is_over = begin >= now,
        };
    }
    return count;
}

static void take(const Steps *steps, long long turn, const Span *span, const Tile *tile)
{
    const Layer *layer = steps->layer;
    if (span->is_over) {
        layer->cells->add(&(AddProducts){.width = layer->width, .to = steps->of_first}, tile);
    } else {
        steps->cell(steps, turn, span, tile);
    }
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

/* The rows [begin, end) of a panel, all within the span. */
static void run_tiles(const Packed *packed, long long turn, int64_t panel, const Span *span, int64_t begin,
                      int64_t end)
{
    const Steps *steps = packed->steps;
    const Layer *layer = steps->layer;
    const Panels *panels = packed->panels;
    const Cells *cells = layer->cells;
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
        if (span->left == NULL) {
            memset(sums, 0, sizeof(sums));
        } else {
            const size_t panel_bytes = (size_t)(panels->inner * row) * layer->size;
            cells->tiles[panels->vectors - 1][tile.rows - 1](
                &(TileProduct){.left = span->left + (size_t)(tile.row * panels->inner) * layer->size,
                               .panel = (char *)panels->memory + (size_t)panel * panel_bytes,
                               .sums = sums,
                               .inner = panels->inner,
                               .left_row = panels->inner});
        }
        take(steps, turn, span, &tile);
    }
}

/* The rows [begin, end) of a panel, as far as the turn has them. */
static void run_panel(const Packed *packed, long long turn, int64_t panel, int64_t begin, int64_t end)
{
    Span spans[MOST_SPANS];
    const int count = spans_of(packed->steps, turn, spans);
    for (int i = 0; i < count; i++) {
        const int64_t first = spans[i].begin > begin ? spans[i].begin : begin;
        run_tiles(packed, turn, panel, &spans[i], first, least(spans[i].end, end));
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
    const Span *span;
    const char *products; /* from row 0 on */
} Whole;

static int32_t rows_of_span(const void *data, int64_t begin, int64_t end)
{
    const Whole *whole = data;
    const Layer *layer = whole->steps->layer;
    const int64_t width = layer->width, row = width * whole->steps->parts;
    const int64_t first = whole->span->begin + begin;
    take(whole->steps, whole->turn, whole->span,
         &(Tile){.row = first,
                 .rows = end - begin,
                 .units = width,
                 .sums = whole->products + (size_t)(first * row) * layer->size,
                 .sums_row = row,
                 .sums_part = width});
    return 0;
}

static void run_span(const Steps *steps, long long turn, const Span *span, char *products)
{
    const Layer *layer = steps->layer;
    const int64_t rows = span->end - span->begin, columns = layer->width * steps->parts;
    const int64_t inner = layer->width * steps->inner_parts;
    char *output = products + (size_t)(span->begin * columns) * layer->size;
    if (span->left == NULL) {
        memset(output, 0, (size_t)(rows * columns) * layer->size);
    } else {
        matrix_product(&(MatrixProduct){.is_double = layer->is_double,
                                        .transposed = steps->transposed,
                                        .rows = rows,
                                        .columns = columns,
                                        .inner = inner,
                                        .left = span->left + (size_t)(span->begin * inner) * layer->size,
                                        .right = steps->weight,
                                        .output = output});
    }
    parallel_run(rows_of_span, &(Whole){.steps = steps, .turn = turn, .span = span, .products = products},
                 rows, parallel_parts(rows, PART_ELEMENTS / layer->width + 1));
}

static int run_whole(const Steps *steps)
{
    const Layer *layer = steps->layer;
    char *products = malloc(bytes_of(layer, steps->parts));
    if (products == NULL) {
        return -1;
    }
    for (long long i = 0; i < layer->steps + steps->backward; i++) {
        const long long turn = steps->backward ? layer->steps - 1 - i : i;
        Span spans[MOST_SPANS];
        const int count = spans_of(steps, turn, spans);
        for (int k = 0; k < count; k++) {
            run_span(steps, turn, &spans[k], products);
        }
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
    const int64_t rows = layer->all_rows;
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
