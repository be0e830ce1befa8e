/* Convolutions in float32 of row-major images, and their gradients, as functions of the module.
 *
 * In:  sizes, and addresses of images [batch, channels, height, width] and of the weight [channels of the
 * result, channels of the image, rows, columns of the kernel]. Out: the result, or a gradient. oneDNN takes
 * 40 us for a call (100 us for a gradient), and has 15 to 60 GFLOP/s where there are few channels; this
 * starts at once, and has 60 to 100.
 */
#include "capture_native.h"

#include "convolution/convolution.h"
#include "convolution/tiles.h"

static int32_t forward(const Sizes *sizes, float *const *matrices)
{
    return convolution_results(sizes, false, matrices);
}

static int32_t image_gradient(const Sizes *sizes, float *const *matrices)
{
    return convolution_results(sizes, true, matrices);
}

#define MATRICES 4

static bool read_sizes(PyObject *args, Sizes *sizes, float **matrices)
{
    long long addresses[MATRICES];
    if (!PyArg_ParseTuple(
            args, "(LLLLLLLLLLLLLLLL)(LLLL)", &sizes->batch, &sizes->groups, &sizes->channels,
            &sizes->out_channels, &sizes->image[ROWS], &sizes->image[COLUMNS], &sizes->result[ROWS],
            &sizes->result[COLUMNS], &sizes->kernel[ROWS], &sizes->kernel[COLUMNS], &sizes->stride[ROWS],
            &sizes->stride[COLUMNS], &sizes->padding[ROWS], &sizes->padding[COLUMNS], &sizes->dilation[ROWS],
            &sizes->dilation[COLUMNS], &addresses[0], &addresses[1], &addresses[2], &addresses[3])) {
        return false;
    }
    bool fits = sizes->batch > 0 && sizes->groups > 0 && sizes->channels > 0 && sizes->out_channels > 0;
    for (int axis = 0; axis < AXES; axis++) {
        fits = fits && sizes->image[axis] > 0 && sizes->result[axis] > 0 && sizes->kernel[axis] > 0
               && sizes->stride[axis] > 0 && sizes->padding[axis] >= 0 && sizes->dilation[axis] > 0;
    }
    if (!fits || tiles_for(1) == NULL) {
        PyErr_SetString(PyExc_ValueError, "a convolution without elements, or a processor without AVX2");
        return false;
    }
    for (int i = 0; i < MATRICES; i++) {
        matrices[i] = (float *)(intptr_t)addresses[i];
    }
    return true;
}

static PyObject *run(PyObject *args, int32_t (*function)(const Sizes *sizes, float *const *matrices))
{
    Sizes sizes;
    float *matrices[MATRICES];
    int32_t failed;
    if (!read_sizes(args, &sizes, matrices)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    failed = function(&sizes, matrices);
    Py_END_ALLOW_THREADS;
    if (failed) {
        return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

static PyObject *convolve(PyObject *module, PyObject *args)
{
    return run(args, forward);
}

static PyObject *convolution_image(PyObject *module, PyObject *args)
{
    return run(args, image_gradient);
}

static PyObject *convolution_weight(PyObject *module, PyObject *args)
{
    return run(args, convolution_weights);
}

static PyObject *limit_convolutions(PyObject *module, PyObject *bytes)
{
    const long limit = PyLong_AsLong(bytes);
    return limit == -1 && PyErr_Occurred() ? NULL : PyLong_FromLong(tiles_limit((int)limit));
}

static PyMethodDef functions[] = {
    {"convolve", convolve, METH_VARARGS,
     "convolve(sizes, (image, weight, bias, result)): writes the result. sizes: batch, groups, channels of a "
     "group, and those of its result; then height and width of image, result, kernel, stride, padding and "
     "dilation. Addresses; 0 for no bias."},
    {"convolution_image", convolution_image, METH_VARARGS,
     "convolution_image(sizes, (gradient, weight, bias, of_image)): writes the gradient of the image; the "
     "bias is added to it."},
    {"convolution_weight", convolution_weight, METH_VARARGS,
     "convolution_weight(sizes, (gradient, image, of_bias, of_weight)): writes the gradients of bias and "
     "weight."},
    {"limit_convolutions", limit_convolutions, METH_O,
     "limit_convolutions(bytes): convolutions use vectors of at most so many bytes, for tests. Returns the "
     "limit before."},
    {NULL, NULL, 0, NULL},
};

int init_convolution(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
