/* Convolutions in float32 of row-major images, and their gradients. All sizes are at least 1; the processor
 * has AVX2. They give 0, or -1 without memory. */
#ifndef CAPTURE_CONVOLUTION_H
#define CAPTURE_CONVOLUTION_H

#include "convolution/geometry.h"

#define PART_WORK 1500000 /* so many multiplications are worth a thread */

/* matrices: source, weight, what is added to each channel or NULL, result. `back`: the source is the gradient
 * of the result, and the result that of the image. */
int32_t convolution_results(const Sizes *sizes, bool back, float *const *matrices);

/* matrices: gradient of the result, image, gradient of the bias or NULL, gradient of the weight */
int32_t convolution_weights(const Sizes *sizes, float *const *matrices);

#endif
