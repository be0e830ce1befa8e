/* Results of convolutions, and gradients of their images.
 *
 *     result[place][channels] = sum over taps of source[place + tap] * weight[tap][channels]
 *
 * The gradient of an image is such a sum, too: the source is the gradient of the result. If the kernel moves
 * by several rows or columns, it is one for each of them: each has taps of its own (a `Grid`).
 *
 * The vectors of the sums run along the channels, or along the rows of the result where these waste less of
 * them (`lines`). */
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
    int64_t out_row, out_plane; /* from a row of places to the next one, and from a channel */
} Grid;

typedef struct {
    const Tiles *tiles;
    Copy copy;
    bool lines;
    int64_t batch, groups, channels, out_channels, width, out_plane;
    int64_t block, blocks; /* channels of one, and how many */
    Side sides[AXES];
    Grid *grids;                /* those of the first phase of the rows, then of the next one */
    const float *source, *bias; /* of a group of channels */
    float *output;
} Convolution;

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

/* The sums of the next `places` places of a row, in tiles of like size. */
static void sum_places(const Tiles *tiles, Places *tile, int64_t vectors, int64_t places)
{
    const int64_t size = divided_up(places, divided_up(places, tiles->most_rows[vectors - 1]));
    for (int64_t done = 0; done < places; done += size) {
        const int64_t rows = least(size, places - done);
        tiles->places[vectors - 1][rows - 1](tile);
        tile->source += rows;
        tile->sums += rows * vectors * tiles->lanes;
    }
}

/* What the tiles of a row of places read. */
static inline Places row_of_places(const Convolution *job, const Grid *grid, const float *source,
                                   int64_t first, int64_t y)
{
    int64_t kernel_rows;
    const int64_t tap = rows_inside(job, grid, y, &kernel_rows) * grid->row_taps;
    return (Places){.source = source + y * grid->step * row_of(&job->copy),
                    .weights = grid->weights + tap * job->width + first,
                    .bias = job->bias == NULL ? NULL : job->bias + first,
                    .taps = grid->taps + tap,
                    .count = kernel_rows * grid->row_taps,
                    .width = job->width};
}

/* A block of channels from the first one on, in one image, by vectors along the channels. */
static void run_channels(const Convolution *job, const Grid *grid, const float *source, int64_t first,
                         float *output)
{
    const int64_t lanes = job->tiles->lanes, vectors = least(MOST_VECTORS, (job->width - first) / lanes);
    const int64_t row = vectors * lanes, channels = least(row, job->out_channels - first);
    const int64_t columns = grid->size[COLUMNS];
    const int64_t part = columns == 0 ? 0 : divided_up(columns, divided_up(columns, ROW));
    _Alignas(64) float sums[ROW * MOST_VECTORS * MOST_LANES];
    int64_t kept = 0, begin = 0; /* places whose sums wait, and where they begin */
    for (int64_t y = 0; y < grid->size[ROWS]; y++) {
        Places tile = row_of_places(job, grid, source, first, y);
        for (int64_t x = 0; x < columns;) {
            const int64_t places = least(part, columns - x);
            begin = kept == 0 ? y * grid->out_row + x : begin;
            tile.sums = sums + kept * row;
            sum_places(job->tiles, &tile, vectors, places);
            x += places;
            kept += places;
            const bool is_last = x == columns && y == grid->size[ROWS] - 1;
            if (is_last || grid->out_row != columns || kept + part > ROW) {
                transpose(sums, row, kept, channels, output + begin, grid->out_plane);
                kept = 0;
            }
        }
    }
}

/* The same by vectors along the rows. */
static void run_lines(const Convolution *job, const Grid *grid, const float *source, int64_t first,
                      float *output)
{
    const int64_t channels = least(job->block, job->out_channels - first), lanes = job->tiles->lanes;
    for (int64_t y = 0; y < grid->size[ROWS]; y++) {
        const Places row = row_of_places(job, grid, source, first, y);
        Line line = {.source = row.source,
                     .weights = row.weights,
                     .bias = row.bias,
                     .taps = row.taps,
                     .count = row.count,
                     .width = row.width,
                     .plane = grid->out_plane,
                     .output = output + y * grid->out_row};
        for (int64_t x = 0; x < grid->size[COLUMNS]; x += line.places) {
            const int64_t left = grid->size[COLUMNS] - x,
                          vectors = least(MOST_VECTORS, divided_up(left, lanes));
            line.places = least(vectors * lanes, left);
            job->tiles->line[vectors - 1][channels - 1](&line);
            line.source += line.places;
            line.output += line.places;
        }
    }
}

/* Writes rows of the result from those of the phases of their columns, which are one behind the other. */
static void join_phases(const Convolution *job, const Grid *grids, const float *from, int64_t channels,
                        float *output)
{
    const Side width = job->sides[COLUMNS];
    const int64_t out_row = job->sides[ROWS].phases * width.to;
    for (int64_t channel = 0; channel < channels; channel++) {
        for (int64_t y = 0; y < grids[0].size[ROWS]; y++) {
            const float *part = from;
            float *to = output + channel * job->out_plane + y * out_row;
            if (width.phases == 2) {
                const float *odd = from + channels * grids[0].out_plane;
                interleave(part + channel * grids[0].out_plane + y * grids[0].out_row,
                           odd + channel * grids[1].out_plane + y * grids[1].out_row, width.to, to);
                continue;
            }
            for (int64_t x = 0; x < width.phases; x++) {
                const float *row = part + channel * grids[x].out_plane + y * grids[x].out_row;
                for (int64_t i = 0; i < grids[x].size[COLUMNS]; i++) {
                    to[x + i * width.phases] = row[i];
                }
                part += channels * grids[x].out_plane;
            }
        }
    }
}

/* A block of channels from the first one on, in one image. `phases`: memory for results of one phase of the
 * rows. */
static void run_block(const Convolution *job, const float *source, int64_t first, float *phases,
                      float *output)
{
    const Side height = job->sides[ROWS], width = job->sides[COLUMNS];
    const int64_t channels = least(job->block, job->out_channels - first);
    for (int64_t y = 0; y < height.phases; y++) {
        const Grid *grids = job->grids + y * width.phases;
        float *to = output + y * width.to, *next = phases;
        for (int64_t x = 0; x < width.phases; x++) {
            float *part = width.phases == 1 ? to : next;
            (job->lines ? run_lines : run_channels)(job, &grids[x], source, first, part);
            next += channels * grids[x].out_plane;
        }
        if (width.phases > 1) {
            join_phases(job, grids, phases, channels, to);
        }
    }
}

/* A range of blocks of channels: all of the first image, then of the second. */
static int32_t run_blocks(const void *data, int64_t begin, int64_t end)
{
    const Convolution *job = data;
    const int64_t plane = job->copy.from[ROWS] * job->copy.from[COLUMNS];
    float *memory = memory_of(&job->copy, job->channels);
    const Side height = job->sides[ROWS], width = job->sides[COLUMNS];
    const int64_t rows = width.phases == 1 ? 0 : divided_up(height.to, height.phases);
    float *phases = PyMem_RawMalloc((size_t)(job->block * rows * width.to) * sizeof(float));
    const bool fails = memory == NULL || phases == NULL;
    int64_t copied = -1;
    for (int64_t i = begin; i < end && !fails; i++) {
        const int64_t number = i / job->blocks, first = i % job->blocks * job->block;
        const float *image = job->source + number * job->groups * job->channels * plane;
        if (!job->copy.is_image && copied != number) {
            copy_image(&job->copy, image, job->channels, memory);
            copied = number;
        }
        run_block(job, job->copy.is_image ? image : memory, first, phases,
                  job->output + (number * job->groups * job->out_channels + first) * job->out_plane);
    }
    PyMem_RawFree(memory);
    PyMem_RawFree(phases);
    return fails ? -1 : 0;
}

static int32_t run_convolution(const Convolution *job)
{
    int64_t work = 0;
    for (int64_t i = 0; i < job->sides[ROWS].phases * job->sides[COLUMNS].phases; i++) {
        const Grid *grid = &job->grids[i];
        const int64_t taps = grid->kernel_rows * grid->row_taps;
        work += grid->size[ROWS] * grid->size[COLUMNS] * taps * job->width / job->blocks;
    }
    const int64_t end = job->batch * job->blocks;
    return parallel_run(run_blocks, job, end, parallel_parts(end, PART_WORK / (work + 1) + 1));
}

/* If both have as many vectors, lines are faster where a tile has all channels: nothing is turned. */
static bool suits_lines(int64_t channels, int64_t columns)
{
    const double vectors = vectors_of_lines(channels, columns);
    return vectors < 1 || (vectors == 1 && channels <= tiles_for(columns)->most_rows[MOST_VECTORS - 1]);
}

/* What a convolution has of channels and vectors. */
static Convolution convolution_of(const Sizes *sizes, bool back)
{
    const int64_t channels = back ? sizes->out_channels : sizes->channels;
    const int64_t out_channels = back ? sizes->channels : sizes->out_channels;
    const Side height = side_of(sizes, back, ROWS), width = side_of(sizes, back, COLUMNS);
    const int64_t columns = places_of(width, 0);
    const bool lines = suits_lines(out_channels, columns);
    const Tiles *tiles = tiles_for(lines ? columns : out_channels);
    const int64_t vectors = least(MOST_VECTORS, divided_up(columns, tiles->lanes));
    const int64_t most = lines ? tiles->most_rows[vectors - 1] : MOST_VECTORS * tiles->lanes;
    const int64_t blocks = divided_up(out_channels, most);
    return (Convolution){.tiles = tiles,
                         .copy = copy_for(sizes, back),
                         .lines = lines,
                         .batch = sizes->batch,
                         .groups = sizes->groups,
                         .channels = channels,
                         .out_channels = out_channels,
                         .width = divided_up(out_channels, tiles->lanes) * tiles->lanes,
                         .out_plane = height.to * width.to,
                         .block = lines ? divided_up(out_channels, blocks) : most,
                         .blocks = blocks,
                         .sides = {height, width}};
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
    const Side height = job->sides[ROWS], width = job->sides[COLUMNS];
    Grid *grid = job->grids;
    for (int64_t y = 0; y < height.phases; y++) {
        for (int64_t x = 0; x < width.phases; x++, grid++) {
            const int64_t phase[AXES] = {y, x};
            const bool joins = width.phases > 1;
            *grid = first;
            grid->size[ROWS] = places_of(height, y);
            grid->size[COLUMNS] = places_of(width, x);
            grid->step = height.step;
            grid->out_row = joins ? grid->size[COLUMNS] : height.phases * width.to;
            grid->out_plane = joins ? grid->size[ROWS] * grid->size[COLUMNS] : job->out_plane;
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
    write_grids(sizes, back, job, rows, (Grid){.taps = places, .reads = places + count, .weights = weights});
    return run_convolution(job);
}

int32_t convolution_results(const Sizes *sizes, bool back, float *const *matrices)
{
    Convolution job = convolution_of(sizes, back);
    const Side height = job.sides[ROWS], width = job.sides[COLUMNS];
    const int64_t count = job.channels * taps_of(sizes), grids = height.phases * width.phases;
    job.grids = PyMem_RawMalloc((size_t)grids * sizeof(Grid));
    int64_t *places = PyMem_RawMalloc((size_t)(count + grids * sizes->kernel[ROWS]) * sizeof(int64_t));
    float *weights = PyMem_RawCalloc((size_t)(job.width * (2 * count + 1)), sizeof(float));
    int32_t failed = job.grids == NULL || places == NULL || weights == NULL ? -1 : 0;
    for (int64_t group = 0; group < sizes->groups && !failed; group++) {
        const float *bias = matrices[2] == NULL ? NULL : matrices[2] + group * job.out_channels;
        job.source = matrices[0] + group * job.channels * height.from * width.from;
        job.output = matrices[3] + group * job.out_channels * job.out_plane;
        failed = run_group(sizes, back, &job, matrices[1] + group * job.out_channels * count, bias, places,
                           weights);
    }
    PyMem_RawFree(job.grids);
    PyMem_RawFree(places);
    PyMem_RawFree(weights);
    return failed;
}
