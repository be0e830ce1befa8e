/* Gradients of the weights of convolutions: sums over all places of all images, for each tap and each channel
 * of the result.
 *
 * The vectors of the sums run along the channels, or along the rows of the result where these waste less of
 * them (`lines`). Then each lane has a sum of its own, and these are added at last. */
#include "convolution/convolution.h"

#include <Python.h>
#include <string.h>

#include "convolution/tiles.h"
#include "graph/parallel.h"

#define MOST_OF_LINES 0.75 /* vectors along lines, for each along the channels: lines take longer for one */
#define CHAIN 256          /* places whose sum is one chain: longer ones are less exact */

typedef struct {
    const Sizes *sizes;
    const Tiles *tiles;
    Copy copy;
    bool lines;
    int64_t width, count, rows; /* width: sums of a tap; rows: taps of a tile */
    const int64_t *taps;
    const float *gradient, *image;
    float *sums, *bias, *output; /* bias: sums of all places, or NULL */
} WeightGradient;

/* Adds some rows of places, or a part of a row, for the taps [begin, end). */
static void add_places(const WeightGradient *job, Taps tile, int64_t begin, int64_t end)
{
    const int64_t lanes = job->tiles->lanes;
    const float *gradient = tile.gradient;
    for (int64_t tap = begin; tap < end; tap += job->rows) {
        const int64_t rows = least(job->rows, end - tap);
        tile.taps = job->taps + tap;
        for (int64_t first = 0; first < job->width; first += MOST_VECTORS * lanes) {
            const int64_t vectors = least(MOST_VECTORS, (job->width - first) / lanes);
            tile.gradient = gradient + first;
            tile.sums = job->sums + tap * job->width + first;
            job->tiles->taps[vectors - 1][rows - 1](&tile);
        }
    }
}

/* The same for the bias, which is a weight of images that are 1 everywhere. */
static void add_bias(const WeightGradient *job, Taps tile)
{
    static const int64_t first_tap = 0;
    float ones[CHAIN];
    for (int64_t i = 0; i < tile.columns; i++) {
        ones[i] = 1;
    }
    tile.taps = &first_tap;
    tile.source = ones;
    tile.source_row = 0;
    const float *gradient = tile.gradient;
    for (int64_t first = 0; first < job->width; first += job->tiles->lanes) {
        tile.gradient = gradient + first;
        tile.sums = job->bias + first;
        job->tiles->taps[0][0](&tile);
    }
}

/* Adds the places of an image. */
static void add_image(const WeightGradient *job, const float *source, const float *gradient, int64_t begin,
                      int64_t end)
{
    const int64_t size = job->sizes->result[ROWS], columns = job->sizes->result[COLUMNS];
    const int64_t source_row = job->sizes->stride[ROWS] * row_of(&job->copy);
    const int64_t rows = columns < CHAIN ? CHAIN / columns : 1;
    for (int64_t y = 0; y < size; y += rows) {
        for (int64_t x = 0; x < columns; x += CHAIN) {
            const Taps tile = {.source = source + y * source_row + x,
                               .gradient = gradient + (y * columns + x) * job->width,
                               .source_row = source_row,
                               .rows = least(rows, size - y),
                               .columns = least(CHAIN, columns - x),
                               .width = job->width};
            add_places(job, tile, begin, end);
            if (begin == 0 && job->bias != NULL) {
                add_bias(job, tile);
            }
        }
    }
}

/* Adds some rows of places, or a part of a row, for the taps [begin, end), by vectors along the rows. */
static void add_lines(const WeightGradient *job, LineTaps tile, int64_t begin, int64_t end)
{
    const int64_t channels = job->sizes->out_channels, lanes = job->tiles->lanes;
    const float *gradient = tile.gradient;
    for (int64_t tap = begin; tap < end; tap += job->rows) {
        const int64_t rows = least(job->rows, end - tap);
        tile.taps = job->taps + tap;
        for (int64_t first = 0; first < channels; first += MOST_VECTORS) {
            tile.gradient = gradient + first * tile.plane;
            tile.sums = job->sums + tap * job->width + first * lanes;
            job->tiles->line_taps[least(MOST_VECTORS, channels - first) - 1][rows - 1](&tile);
        }
    }
}

/* The places are added in turn to the lanes of the bias. */
static void add_bias_of_lines(const WeightGradient *job, const float *gradient)
{
    const int64_t lanes = job->tiles->lanes, places = job->sizes->result[ROWS] * job->sizes->result[COLUMNS];
    for (float *sums = job->bias; sums < job->bias + job->width; sums += lanes, gradient += places) {
        for (int64_t begin = 0; begin < places; begin += CHAIN * lanes) {
            float parts[MOST_LANES] = {0};
            for (int64_t i = begin; i < least(begin + CHAIN * lanes, places); i++) {
                parts[i % lanes] += gradient[i];
            }
            for (int64_t lane = 0; lane < lanes; lane++) {
                sums[lane] += parts[lane];
            }
        }
    }
}

/* Adds the places of an image by vectors along the rows. */
static void add_image_in_lines(const WeightGradient *job, const float *source, const float *gradient,
                               int64_t begin, int64_t end)
{
    const int64_t size = job->sizes->result[ROWS], columns = job->sizes->result[COLUMNS];
    const int64_t source_row = job->sizes->stride[ROWS] * row_of(&job->copy);
    const int64_t lanes = job->tiles->lanes, vectors = divided_up(columns, lanes);
    const int64_t rows = vectors < CHAIN ? CHAIN / vectors : 1;
    for (int64_t y = 0; y < size; y += rows) {
        for (int64_t x = 0; x < columns; x += CHAIN * lanes) {
            const LineTaps tile = {.source = source + y * source_row + x,
                                   .gradient = gradient + y * columns + x,
                                   .source_row = source_row,
                                   .gradient_row = columns,
                                   .rows = least(rows, size - y),
                                   .columns = least(CHAIN * lanes, columns - x),
                                   .plane = size * columns,
                                   .width = job->width};
            add_lines(job, tile, begin, end);
        }
    }
    if (begin == 0 && job->bias != NULL) {
        add_bias_of_lines(job, gradient);
    }
}

/* Adds the lanes of each sum, and writes them where they belong. */
static void add_lanes(const WeightGradient *job, const float *sums, int64_t count, float *to,
                      int64_t to_channel)
{
    const int64_t lanes = job->tiles->lanes;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t channel = 0; channel < job->sizes->out_channels; channel++, sums += lanes) {
            float parts[MOST_LANES];
            memcpy(parts, sums, (size_t)lanes * sizeof(float));
            for (int64_t half = lanes / 2; half > 0; half /= 2) {
                for (int64_t lane = 0; lane < half; lane++) {
                    parts[lane] += parts[lane + half];
                }
            }
            to[channel * to_channel + i] = parts[0];
        }
    }
}

/* The tiles of taps [begin, end). */
static int32_t run_taps(const void *data, int64_t begin, int64_t end)
{
    const WeightGradient *job = data;
    const Sizes *sizes = job->sizes;
    const int64_t first = begin * job->rows, last = least(end * job->rows, job->count);
    const int64_t channel = first / taps_of(sizes), channels = divided_up(last, taps_of(sizes)) - channel;
    const int64_t plane = sizes->image[ROWS] * sizes->image[COLUMNS];
    const int64_t places = sizes->result[ROWS] * sizes->result[COLUMNS];
    float *memory = memory_of(&job->copy, sizes->channels);
    float *turned = PyMem_RawCalloc((size_t)(job->lines ? 1 : places * job->width), sizeof(float));
    const bool fails = memory == NULL || turned == NULL;
    for (int64_t i = 0; i < sizes->batch && !fails; i++) {
        const float *image = job->image + i * sizes->groups * sizes->channels * plane;
        if (!job->copy.is_image) {
            copy_image(&job->copy, image + channel * plane, channels,
                       memory + channel * channel_of(&job->copy));
        }
        const float *source = job->copy.is_image ? image : memory;
        const float *gradient = job->gradient + i * sizes->groups * sizes->out_channels * places;
        if (job->lines) {
            add_image_in_lines(job, source, gradient, first, last);
            continue;
        }
        transpose(gradient, places, sizes->out_channels, places, turned, job->width);
        add_image(job, source, turned, first, last);
    }
    const float *sums = job->sums + first * job->width;
    if (!fails && job->lines) {
        add_lanes(job, sums, last - first, job->output + first, job->count);
    } else if (!fails) {
        transpose(sums, job->width, last - first, sizes->out_channels, job->output + first, job->count);
    }
    PyMem_RawFree(memory);
    PyMem_RawFree(turned);
    return fails ? -1 : 0;
}

/* Where the first place reads the copy, by channels, rows and columns of the kernel. */
static void write_taps(const Sizes *sizes, const Copy *copy, int64_t *taps)
{
    int64_t row, column;
    for (int64_t channel = 0; channel < sizes->channels; channel++) {
        for (int64_t y = 0; y < sizes->kernel[ROWS]; y++) {
            for (int64_t x = 0; x < sizes->kernel[COLUMNS]; x++) {
                reads_at(sizes, false, ROWS, 0, y, &row);
                reads_at(sizes, false, COLUMNS, 0, x, &column);
                *taps++ = channel * channel_of(copy) + place_of(copy, row, column);
            }
        }
    }
}

/* The gradients of the weight of a group, and of its bias, if that is not NULL. */
static int32_t run_group(WeightGradient *job, float *bias)
{
    const Sizes *sizes = job->sizes;
    const int64_t places = sizes->result[ROWS] * sizes->result[COLUMNS];
    const int64_t end = divided_up(job->count, job->rows),
                  work = sizes->batch * places * job->rows * job->width;
    memset(job->sums, 0, (size_t)((job->count + 1) * job->width) * sizeof(float));
    job->bias = bias == NULL ? NULL : job->sums + job->count * job->width;
    const int32_t failed = parallel_run(run_taps, job, end, parallel_parts(end, PART_WORK / (work + 1) + 1));
    if (bias != NULL && job->lines) {
        add_lanes(job, job->bias, 1, bias, 1);
    } else if (bias != NULL) {
        memcpy(bias, job->bias, (size_t)sizes->out_channels * sizeof(float));
    }
    return failed;
}

int32_t convolution_weights(const Sizes *sizes, float *const *matrices)
{
    const bool lines = vectors_of_lines(sizes->out_channels, sizes->result[COLUMNS]) < MOST_OF_LINES;
    const Tiles *tiles = tiles_for(lines ? sizes->result[COLUMNS] : sizes->out_channels);
    const int64_t vectors = lines ? sizes->out_channels : divided_up(sizes->out_channels, tiles->lanes);
    const int64_t width = vectors * tiles->lanes, count = sizes->channels * taps_of(sizes);
    int64_t *taps = PyMem_RawMalloc((size_t)count * sizeof(int64_t));
    WeightGradient job = {.sizes = sizes,
                          .tiles = tiles,
                          .copy = copy_for(sizes, false),
                          .lines = lines,
                          .width = width,
                          .count = count,
                          .rows = tiles->most_rows[least(MOST_VECTORS, vectors) - 1],
                          .taps = taps,
                          .sums = PyMem_RawMalloc((size_t)((count + 1) * width) * sizeof(float))};
    int32_t failed = taps == NULL || job.sums == NULL ? -1 : 0;
    if (!failed) {
        write_taps(sizes, &job.copy, taps);
    }
    for (int64_t group = 0; group < sizes->groups && !failed; group++) {
        const int64_t channel = group * sizes->channels, result = group * sizes->out_channels;
        job.gradient = matrices[0] + result * sizes->result[ROWS] * sizes->result[COLUMNS];
        job.image = matrices[1] + channel * sizes->image[ROWS] * sizes->image[COLUMNS];
        job.output = matrices[3] + result * count;
        failed = run_group(&job, matrices[2] == NULL ? NULL : matrices[2] + result);
    }
    PyMem_RawFree(taps);
    PyMem_RawFree(job.sums);
    return failed;
}
