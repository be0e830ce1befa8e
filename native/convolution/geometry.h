/* What a convolution reads and writes, and the copies of its images (geometry.c). */
#ifndef CAPTURE_CONVOLUTION_GEOMETRY_H
#define CAPTURE_CONVOLUTION_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#define MOST_LANES 16

enum { ROWS, COLUMNS, AXES };

/* `channels`, `out_channels`: those of a group. `image`, `result`, `kernel`: heights and widths. */
typedef struct {
    long long batch, channels, out_channels, groups;
    long long image[AXES], result[AXES], kernel[AXES], stride[AXES], padding[AXES], dilation[AXES];
} Sizes;

/* From `first` on, which is negative where the image is padded. Row by row, and in it phase by phase: those
 * of its columns that are `phases` columns apart. */
typedef struct {
    int64_t from[AXES], first[AXES], size[AXES], phases;
    bool is_image; /* as it is: no copy is made */
} Copy;

/* What a convolution of either direction reads and writes along an axis. */
typedef struct {
    int64_t from, to, phases, step; /* step: of the source between places of a phase */
} Side;

int64_t least(int64_t left, int64_t right);
int64_t divided_up(int64_t number, int64_t divisor);

/* The places of a kernel. */
int64_t taps_of(const Sizes *sizes);
/* Along an axis; `back`: the places are of an image, the source is the gradient of the result. */
Side side_of(const Sizes *sizes, bool back, int axis);
/* The places of a phase. */
int64_t places_of(Side side, int64_t phase);
/* Where the first place of a phase reads the source by a row or column of the kernel. False: by this one, it
 * reads nothing. */
bool reads_at(const Sizes *sizes, bool back, int axis, int64_t phase, int64_t kernel, int64_t *place);

/* A copy with all places that are read. */
Copy copy_for(const Sizes *sizes, bool back);
/* Zeros for a copy; NULL without memory. */
float *memory_of(const Copy *copy, int64_t channels);
/* The channels of an image, into memory whose other places are zeros. */
void copy_image(const Copy *copy, const float *image, int64_t channels, float *to);
/* The elements of a row, and of a channel. */
int64_t row_of(const Copy *copy);
int64_t channel_of(const Copy *copy);
/* Where a row and a column of the image are in a channel of the copy. */
int64_t place_of(const Copy *copy, int64_t row, int64_t column);

#endif
