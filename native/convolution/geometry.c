/* The geometry of convolutions.
 *
 * An image is copied with zeros around it. Where the kernel moves by several columns, the copy has every such
 * column side by side: so the places of a row of the result are next to each other in the copy. */
#include "convolution/geometry.h"

#include <Python.h>

#include "convolution/tiles.h"

int64_t least(int64_t left, int64_t right)
{
    return left < right ? left : right;
}

int64_t divided_up(int64_t number, int64_t divisor)
{
    return (number + divisor - 1) / divisor;
}

int64_t taps_of(const Sizes *sizes)
{
    return sizes->kernel[ROWS] * sizes->kernel[COLUMNS];
}

bool reads_at(const Sizes *sizes, bool back, int axis, int64_t phase, int64_t kernel, int64_t *place)
{
    const int64_t at = kernel * sizes->dilation[axis] - sizes->padding[axis], stride = sizes->stride[axis];
    if (!back) {
        *place = at;
        return true;
    }
    const int64_t rest = ((phase - at) % stride + stride) % stride;
    *place = (phase - at - rest) / stride;
    return rest == 0;
}

Side side_of(const Sizes *sizes, bool back, int axis)
{
    const int64_t image = sizes->image[axis], result = sizes->result[axis], stride = sizes->stride[axis];
    return back ? (Side){.from = result, .to = image, .phases = least(stride, image), .step = 1}
                : (Side){.from = image, .to = result, .phases = 1, .step = stride};
}

int64_t places_of(Side side, int64_t phase)
{
    return divided_up(side.to - phase, side.phases);
}

static Copy copy_of(const int64_t *from, const int64_t *first, const int64_t *end, int64_t phases)
{
    return (Copy){.from = {from[ROWS], from[COLUMNS]},
                  .first = {first[ROWS], first[COLUMNS]},
                  .size = {end[ROWS] - first[ROWS], divided_up(end[COLUMNS] - first[COLUMNS], phases)},
                  .phases = phases,
                  .is_image = phases == 1 && first[ROWS] == 0 && first[COLUMNS] == 0
                              && end[ROWS] <= from[ROWS] && end[COLUMNS] == from[COLUMNS]};
}

Copy copy_for(const Sizes *sizes, bool back)
{
    int64_t from[AXES], first[AXES], end[AXES], place;
    for (int axis = 0; axis < AXES; axis++) {
        const Side side = side_of(sizes, back, axis);
        first[axis] = 0;
        from[axis] = end[axis] = side.from;
        for (int64_t phase = 0; phase < side.phases; phase++) {
            const int64_t last = (places_of(side, phase) - 1) * side.step;
            for (int64_t kernel = 0; kernel < sizes->kernel[axis]; kernel++) {
                if (reads_at(sizes, back, axis, phase, kernel, &place)) {
                    first[axis] = least(first[axis], place);
                    end[axis] = end[axis] < place + last + 1 ? place + last + 1 : end[axis];
                }
            }
        }
    }
    return copy_of(from, first, end, side_of(sizes, back, COLUMNS).step);
}

int64_t row_of(const Copy *copy)
{
    return copy->phases * copy->size[COLUMNS];
}

int64_t channel_of(const Copy *copy)
{
    return copy->is_image ? copy->from[ROWS] * copy->from[COLUMNS] : copy->size[ROWS] * row_of(copy);
}

int64_t place_of(const Copy *copy, int64_t row, int64_t column)
{
    const int64_t at = column - copy->first[COLUMNS];
    return (row - copy->first[ROWS]) * row_of(copy) + at % copy->phases * copy->size[COLUMNS]
           + at / copy->phases;
}

/* The rows [begin, end) of a channel, of one phase of its columns. */
static void copy_phase(const Copy *copy, int64_t phase, int64_t begin, int64_t end, const float *from,
                       float *to)
{
    const int64_t first = copy->first[COLUMNS] + phase, step = copy->phases;
    const int64_t column = first < 0 ? divided_up(-first, step) : 0; /* of the copy: the first one inside */
    const int64_t last = first < copy->from[COLUMNS] ? divided_up(copy->from[COLUMNS] - first, step) : 0;
    const int64_t count = least(last, copy->size[COLUMNS]) - column;
    from += (copy->first[ROWS] + begin) * copy->from[COLUMNS] + first + column * step;
    to += begin * row_of(copy) + phase * copy->size[COLUMNS] + column;
    for (int64_t row = begin; row < end; row++, from += copy->from[COLUMNS], to += row_of(copy)) {
        pick(from, step, count, to);
    }
}

void copy_image(const Copy *copy, const float *image, int64_t channels, float *to)
{
    const int64_t plane = copy->from[ROWS] * copy->from[COLUMNS];
    const int64_t begin = copy->first[ROWS] < 0 ? -copy->first[ROWS] : 0;
    const int64_t end = least(copy->size[ROWS], copy->from[ROWS] - copy->first[ROWS]);
    for (int64_t channel = 0; channel < channels; channel++, image += plane, to += channel_of(copy)) {
        for (int64_t phase = 0; phase < copy->phases; phase++) {
            copy_phase(copy, phase, begin, end, image, to);
        }
    }
}

float *memory_of(const Copy *copy, int64_t channels)
{
    return PyMem_RawCalloc((size_t)(copy->is_image ? 1 : channels * channel_of(copy)), sizeof(float));
}
