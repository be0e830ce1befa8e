/* Results of convolutions, and gradients of their images.
 *
 *     result[place][channels] = sum over taps of source[place + tap] * weight[tap][channels]
 *
 * The gradient of an image is such a sum, too: the source is the gradient of the result. If the kernel moves
 * by several rows or columns, it is one for each of them: each has taps of its own (a `Grid`). */
#include "convolution/convolution.h"

#include <Python.h>
#include <string.h>

#include "convolution/tiles.h"
#include "graph/parallel.h"

#define ROW 96 /* places whose sums are kept before they are stored */

/* Places of the result that have the same taps. These are ordered by the rows of the kernel, and each of its
 * rows has `row_taps` of them. `reads`: the row of the source that the first place reads by each row of the
 * kernel; the next row of places is `step` rows on. */
typedef struct {
    int64_t size[AXES], step, kernel_rows, row_taps;
    int64_t *reads, *taps;
    float *weights;
    int64_t out_first, out_row, out_column; /* in a channel of the result */
} Grid;

typedef struct {
    const Tiles *tiles;
    Copy copy;
    int64_t batch, groups, channels, out_channels, width, out_plane, blocks, ngrids;
    Grid *grids;
    const float *source, *bias; /* of a group of channels */
    float *output;
} Convolution;

/* The sums of some places, for the channels of a block; `to`: the first place in the first channel. */
static void store(const Convolution *job, const Grid *grid, const float *sums, int64_t row, int64_t places,
                  int64_t channels, float *to)
{
    if (grid->out_column == 1) {
        transpose(sums, row, places, channels, to, job->out_plane);
        return;
    }
    for (int64_t channel = 0; channel < channels; channel++, to += job->out_plane) {
        for (int64_t place = 0; place < places; place++) {
            to[place * grid->out_column] = sums[place * row + channel];
        }
    }
}

/* The rows of the kernel that lie in the source for a row of places: `count` of them from the first one on.
 */
static int64_t rows_inside(const Convolution *job, const Grid *grid, int64_t y, int64_t *count)
{
    int64_t first = 0;
    *count = 0;
    for (int64_t i = 0; i < grid->kernel_rows; i++) {
        const int64_t row = grid->reads[i] + y * grid->step;
        if (row >= 0 && row < job->copy.from[ROWS]) {
            first = *count == 0 ? i : first;
            *count += 1;
        }
    }
    return first;
}

/* The sums of `places` places of a row, in tiles of like size. */
static void sum_places(const Tiles *tiles, Places tile, int64_t vectors, int64_t places)
{
    const int64_t size = divided_up(places, divided_up(places, tiles->most_rows[vectors - 1]));
    for (int64_t done = 0; done < places; done += size) {
        const int64_t rows = least(size, places - done);
        tiles->places[vectors - 1][rows - 1](&tile);
        tile.source += rows;
        tile.sums += rows * vectors * tiles->lanes;
    }
}

/* The channels of a block, in one image; `output` is the first channel of it. */
static void run_grid(const Convolution *job, const Grid *grid, const float *source, int64_t block,
                     float *output)
{
    const int64_t lanes = job->tiles->lanes, first = block * MOST_VECTORS * lanes;
    const int64_t vectors = least(MOST_VECTORS, (job->width - first) / lanes), row = vectors * lanes;
    const int64_t channels = least(row, job->out_channels - first), columns = grid->size[COLUMNS];
    const bool joined = grid->out_column == 1 && grid->out_row == columns; /* rows of the result */
    const int64_t part = columns == 0 ? 0 : divided_up(columns, divided_up(columns, ROW));
    _Alignas(64) float sums[ROW * MOST_VECTORS * MOST_LANES];
    int64_t kept = 0, begin = 0; /* places whose sums wait, and where they begin */
    for (int64_t y = 0; y < grid->size[ROWS]; y++) {
        int64_t kernel_rows;
        const int64_t tap = rows_inside(job, grid, y, &kernel_rows) * grid->row_taps;
        for (int64_t x = 0; x < columns;) {
            const int64_t places = least(part, columns - x);
            if (kept == 0) {
                begin = grid->out_first + y * grid->out_row + x * grid->out_column;
            }
            sum_places(job->tiles,
                       (Places){.source = source + y * grid->step * row_of(&job->copy) + x,
                                .weights = grid->weights + tap * job->width + first,
                                .bias = job->bias == NULL ? NULL : job->bias + first,
                                .taps = grid->taps + tap,
                                .count = kernel_rows * grid->row_taps,
                                .width = job->width,
                                .sums = sums + kept * row},
                       vectors, places);
            x += places;
            kept += places;
            const bool is_last = x == columns && y == grid->size[ROWS] - 1;
            if (is_last || !joined || kept + part > ROW) {
                store(job, grid, sums, row, kept, channels, output + begin);
                kept = 0;
            }
        }
    }
}

/* A range of blocks of channels: all of the first image, then of the second. */
static int32_t run_blocks(const void *data, int64_t begin, int64_t end)
{
    const Convolution *job = data;
    const int64_t plane = job->copy.from[ROWS] * job->copy.from[COLUMNS];
    float *memory = memory_of(&job->copy, job->channels);
    if (memory == NULL) {
        return -1;
    }
    int64_t copied = -1;
    for (int64_t i = begin; i < end; i++) {
        const int64_t number = i / job->blocks, block = i % job->blocks;
        const float *image = job->source + number * job->groups * job->channels * plane;
        if (!job->copy.is_image && copied != number) {
            copy_image(&job->copy, image, job->channels, memory);
            copied = number;
        }
        const int64_t channel =
            number * job->groups * job->out_channels + block * MOST_VECTORS * job->tiles->lanes;
        for (int64_t grid = 0; grid < job->ngrids; grid++) {
            run_grid(job, &job->grids[grid], job->copy.is_image ? image : memory, block,
                     job->output + channel * job->out_plane);
        }
    }
    PyMem_RawFree(memory);
    return 0;
}

static int32_t run_convolution(const Convolution *job)
{
    int64_t work = 0;
    for (int64_t i = 0; i < job->ngrids; i++) {
        const Grid *grid = &job->grids[i];
        const int64_t taps = grid->kernel_rows * grid->row_taps;
        work += grid->size[ROWS] * grid->size[COLUMNS] * taps * job->width / job->blocks;
    }
    const int64_t end = job->batch * job->blocks;
    return parallel_run(run_blocks, job, end, parallel_parts(end, PART_WORK / (work + 1) + 1));
}

/* What a convolution has of channels and vectors. */
static Convolution convolution_of(const Sizes *sizes, int64_t channels, int64_t out_channels)
{
    const Tiles *tiles = tiles_for(out_channels);
    const int64_t width = divided_up(out_channels, tiles->lanes) * tiles->lanes;
    return (Convolution){.tiles = tiles,
                         .batch = sizes->batch,
                         .groups = sizes->groups,
                         .channels = channels,
                         .out_channels = out_channels,
                         .width = width,
                         .blocks = divided_up(width, MOST_VECTORS * tiles->lanes)};
}

/* Writes rows, taps and weights of a grid. `rows` has the weights of each channel of the source and each tap.
 */
static void write_grid(const Sizes *sizes, bool back, const Convolution *job, const int64_t *phase,
                       const float *rows, Grid *grid)
{
    const int64_t height = sizes->kernel[ROWS], width = sizes->kernel[COLUMNS];
    int64_t count = 0, row, column;
    for (int64_t y = 0; y < height; y++) {
        if (!reads_at(sizes, back, ROWS, phase[ROWS], y, &row)) {
            continue;
        }
        grid->reads[grid->kernel_rows++] = row;
        for (int64_t tap = 0; tap < job->channels * width; tap++) {
            const int64_t channel = tap / width, x = tap % width;
            if (reads_at(sizes, back, COLUMNS, phase[COLUMNS], x, &column)) {
                const float *weights = rows + (channel * height * width + y * width + x) * job->width;
                memcpy(grid->weights + count * job->width, weights, (size_t)job->width * sizeof(float));
                grid->taps[count++] = channel * channel_of(&job->copy) + place_of(&job->copy, row, column);
            }
        }
    }
    grid->row_taps = grid->kernel_rows == 0 ? 0 : count / grid->kernel_rows;
}

/* Writes the grids of all phases. */
static void write_grids(const Sizes *sizes, bool back, Convolution *job, const float *rows, Grid first)
{
    const Side height = side_of(sizes, back, ROWS), width = side_of(sizes, back, COLUMNS);
    for (int64_t y = 0; y < height.phases; y++) {
        for (int64_t x = 0; x < width.phases; x++) {
            const int64_t phase[AXES] = {y, x};
            Grid *grid = &job->grids[job->ngrids++];
            *grid = first;
            grid->size[ROWS] = places_of(height, y);
            grid->size[COLUMNS] = places_of(width, x);
            grid->step = height.step;
            grid->out_first = y * width.to + x;
            grid->out_row = height.phases * width.to;
            grid->out_column = width.phases;
            write_grid(sizes, back, job, phase, rows, grid);
            first.reads += grid->kernel_rows;
            first.taps += grid->kernel_rows * grid->row_taps;
            first.weights += grid->kernel_rows * grid->row_taps * job->width;
        }
    }
}

/* Convolves a group. `weights` has memory for those of all taps, twice, and for the bias; `places` for the
 * taps and rows of all grids. */
static int32_t run_group(const Sizes *sizes, bool back, Convolution *job, const float *weight,
                         const float *addend, int64_t *places, float *weights)
{
    const int64_t taps = taps_of(sizes), count = job->channels * taps;
    const int64_t of_source = back ? sizes->channels * taps : taps, of_result = back ? taps : count;
    float *rows = weights + job->width * count, *bias = rows + job->width * count;
    for (int64_t i = 0; i < job->channels; i++) {
        transpose(weight + i * of_source, of_result, job->out_channels, taps, rows + i * taps * job->width,
                  job->width);
    }
    if (addend != NULL) {
        memcpy(bias, addend, (size_t)job->out_channels * sizeof(float));
        job->bias = bias;
    }
    job->ngrids = 0;
    write_grids(sizes, back, job, rows, (Grid){.taps = places, .reads = places + count, .weights = weights});
    return run_convolution(job);
}

int32_t convolution_results(const Sizes *sizes, bool back, float *const *matrices)
{
    const int64_t channels = back ? sizes->out_channels : sizes->channels;
    Convolution job = convolution_of(sizes, channels, back ? sizes->channels : sizes->out_channels);
    const Side height = side_of(sizes, back, ROWS), width = side_of(sizes, back, COLUMNS);
    const int64_t count = channels * taps_of(sizes), grids = height.phases * width.phases;
    job.copy = copy_for(sizes, back);
    job.out_plane = height.to * width.to;
    job.grids = PyMem_RawMalloc((size_t)grids * sizeof(Grid));
    int64_t *places = PyMem_RawMalloc((size_t)(count + grids * sizes->kernel[ROWS]) * sizeof(int64_t));
    float *weights = PyMem_RawCalloc((size_t)(job.width * (2 * count + 1)), sizeof(float));
    int32_t failed = job.grids == NULL || places == NULL || weights == NULL ? -1 : 0;
    for (int64_t group = 0; group < sizes->groups && !failed; group++) {
        const float *bias = matrices[2] == NULL ? NULL : matrices[2] + group * job.out_channels;
        job.source = matrices[0] + group * channels * height.from * width.from;
        job.output = matrices[3] + group * job.out_channels * job.out_plane;
        failed = run_group(sizes, back, &job, matrices[1] + group * job.out_channels * count, bias, places,
                           weights);
    }
    PyMem_RawFree(job.grids);
    PyMem_RawFree(places);
    PyMem_RawFree(weights);
    return failed;
}
