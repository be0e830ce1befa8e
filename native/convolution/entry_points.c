/* Convolutions as entry points in the form of torch's C ABI, for `DirectCall` (graph/direct_call.c).
 *
 * In:  tensors, and rows of numbers with their lengths: those of the operators of
 * codegen/kernel/convolution.py. Out: 0 and new tensors; 1 where a tensor is not a row-major one in float32,
 * or memory is short. The operator itself does these.
 */
#include "convolution/entry_points.h"

#include <string.h>

#include "convolution/convolution.h"
#include "convolution/tiles.h"
#include "tensors/tensor_access.h"
#include "tensors/torch_symbols.h"

enum { CPU = 0, MOST_DIMS = 4, LEAST_DIMS = 3, ARGUMENTS = 4 };

/* A row-major tensor. */
typedef struct {
    int64_t dims, sizes[MOST_DIMS];
    float *data;
} Rows;

/* Stride, padding, dilation, and a height and width. */
typedef struct {
    const int64_t *rows[ARGUMENTS];
    int64_t counts[ARGUMENTS];
} Numbers;

static bool read_rows(Handle tensor, Rows *to)
{
    int32_t dtype;
    int64_t *sizes, *strides, expected = 1;
    void *data;
    if (torch_symbols.get_dtype(tensor, &dtype) || dtype != DTYPE_FLOAT32
        || torch_symbols.get_dim(tensor, &to->dims) || to->dims > MOST_DIMS
        || torch_symbols.get_sizes(tensor, &sizes) || torch_symbols.get_strides(tensor, &strides)
        || torch_symbols.get_data_ptr(tensor, &data)) {
        return false;
    }
    for (int64_t dim = to->dims - 1; dim >= 0; dim--) {
        if (sizes[dim] < 1 || (sizes[dim] != 1 && strides[dim] != expected)) {
            return false;
        }
        to->sizes[dim] = sizes[dim];
        expected *= sizes[dim];
    }
    to->data = data;
    return true;
}

static bool make_rows(Rows *rows, Handle *made)
{
    int64_t strides[MOST_DIMS], next = 1;
    void *data;
    for (int64_t dim = rows->dims - 1; dim >= 0; dim--) {
        strides[dim] = next;
        next *= rows->sizes[dim];
    }
    if (torch_symbols.empty_strided(rows->dims, rows->sizes, strides, DTYPE_FLOAT32, CPU, 0, made)) {
        return false;
    }
    if (torch_symbols.get_data_ptr(*made, &data)) {
        torch_symbols.delete_tensor(*made);
        return false;
    }
    rows->data = data;
    return true;
}

/* `one`: what a sequence has in its one row. */
static void set_axes(long long *to, const int64_t *from, int64_t axes, int64_t one)
{
    to[ROWS] = axes == AXES ? from[0] : one;
    to[COLUMNS] = from[axes - 1];
}

/* False where the sizes don't fit together. */
static bool read_sizes(const Rows *image, const Rows *result, const Rows *weight, const Numbers *numbers,
                       Sizes *to)
{
    const int64_t axes = image->dims - 2, channels = weight->sizes[1];
    const int64_t groups = channels < 1 ? 0 : image->sizes[1] / channels;
    if (tiles_for(1) == NULL || groups < 1 || weight->sizes[0] % groups != 0) {
        return false;
    }
    *to = (Sizes){.batch = image->sizes[0],
                  .groups = groups,
                  .channels = channels,
                  .out_channels = weight->sizes[0] / groups};
    set_axes(to->image, image->sizes + 2, axes, 1);
    set_axes(to->result, result->sizes + 2, axes, 1);
    set_axes(to->kernel, weight->sizes + 2, axes, 1);
    set_axes(to->stride, numbers->rows[0], axes, 1);
    set_axes(to->padding, numbers->rows[1], axes, 0);
    set_axes(to->dilation, numbers->rows[2], axes, 1);
    return true;
}

/* The shape of a tensor that is to be made. */
static Rows shape_of(const Numbers *numbers, int64_t first, int64_t second)
{
    Rows rows = {.dims = numbers->counts[3] + 2, .sizes = {first, second}};
    memcpy(rows.sizes + 2, numbers->rows[3], (size_t)numbers->counts[3] * sizeof(int64_t));
    return rows;
}

/* Reads two tensors of so many dims as there are numbers, and two more. */
static bool read_pair(Handle first, Handle second, const Numbers *numbers, Rows *rows)
{
    for (int i = 0; i < ARGUMENTS; i++) {
        if (numbers->counts[i] != numbers->counts[0]) {
            return false;
        }
    }
    const int64_t dims = numbers->counts[0] + 2;
    return dims >= LEAST_DIMS && dims <= MOST_DIMS && read_rows(first, &rows[0])
           && read_rows(second, &rows[1]) && rows[0].dims == dims && rows[1].dims == dims;
}

#define NUMBERS                                                                                              \
    const int64_t *stride, int64_t nstride, const int64_t *padding, int64_t npadding,                        \
        const int64_t *dilation, int64_t ndilation, const int64_t *size, int64_t nsize
#define AS_ONE                                                                                               \
    {                                                                                                        \
        {stride, padding, dilation, size},                                                                   \
        {                                                                                                    \
            nstride, npadding, ndilation, nsize                                                              \
        }                                                                                                    \
    }

/* A convolution, or the gradient of its image. */
static int results(Handle source, Handle weight, const Handle *bias, const Numbers *numbers, bool back,
                   int64_t groups, Handle *made)
{
    Rows given[2], added = {.data = NULL};
    Sizes sizes;
    if (!read_pair(source, weight, numbers, given) || (bias != NULL && !read_rows(*bias, &added))) {
        return 1;
    }
    Rows result = shape_of(numbers, given[0].sizes[0], back ? given[1].sizes[1] * groups : given[1].sizes[0]);
    const Rows *image = back ? &result : &given[0], *of_result = back ? &given[0] : &result;
    if (!read_sizes(image, of_result, &given[1], numbers, &sizes) || !make_rows(&result, made)) {
        return 1;
    }
    float *const matrices[] = {given[0].data, given[1].data, added.data, result.data};
    const bool failed = convolution_results(&sizes, back, matrices) != 0;
    if (failed) {
        torch_symbols.delete_tensor(*made);
    }
    return failed;
}

static int convolution(Handle image, Handle weight, const Handle *bias, NUMBERS, Handle *made)
{
    const Numbers numbers = AS_ONE;
    return results(image, weight, bias, &numbers, false, 1, made);
}

static int convolution_image(Handle gradient, Handle weight, const Handle *bias, NUMBERS, int64_t groups,
                             Handle *made)
{
    const Numbers numbers = AS_ONE;
    return results(gradient, weight, bias, &numbers, true, groups, made);
}

static int convolution_weight(Handle gradient, Handle image, int64_t has_bias, NUMBERS, int64_t groups,
                              Handle *of_weight, Handle *of_bias)
{
    const Numbers numbers = AS_ONE;
    Rows given[2];
    Sizes sizes;
    if (groups < 1 || !read_pair(gradient, image, &numbers, given)) {
        return 1;
    }
    Rows weight = shape_of(&numbers, given[0].sizes[1], given[1].sizes[1] / groups);
    Rows bias = {.dims = 1, .sizes = {has_bias ? given[0].sizes[1] : 0}};
    if (!read_sizes(&given[1], &given[0], &weight, &numbers, &sizes) || !make_rows(&weight, of_weight)) {
        return 1;
    }
    if (!make_rows(&bias, of_bias)) {
        torch_symbols.delete_tensor(*of_weight);
        return 1;
    }
    float *const matrices[] = {given[0].data, given[1].data, has_bias ? bias.data : NULL, weight.data};
    const bool failed = convolution_weights(&sizes, matrices) != 0;
    if (failed) {
        torch_symbols.delete_tensor(*of_weight);
        torch_symbols.delete_tensor(*of_bias);
    }
    return failed;
}

void *convolution_entry_point(const char *name)
{
    const struct {
        const char *name;
        void *address;
    } known[] = {{"_capture::convolution", convolution},
                 {"_capture::convolution_image", convolution_image},
                 {"_capture::convolution_weight", convolution_weight}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(name, known[i].name) == 0) {
            return known[i].address;
        }
    }
    return NULL;
}
