/* Convolutions by the C ABI of libtorch_cpu, in place of the operator objects.
 *
 * In:  the operator's arguments, all positional: tensors, lists of ints, bools, ints.
 * Out: what the operator gives.
 *
 *     _capture.convolution_backward(gradient, x, w, [2], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [False, True, True])     4 us; the operator object: 12
 *
 * An operator object walks its schema and boxes each argument. Both end in the same call of the dispatcher. What is no such argument, and whatever fails
 * here, is left to the operator object: errors are its own.
 */
#include "capture_native.h"

#include <stdint.h>

#include "tensor_access.h"
#include "torch_symbols.h"

#define MOST_INTS 8

typedef struct {
    int64_t items[MOST_INTS], count;
} Ints;

static bool read_ints(PyObject *list, Ints *ints)
{
    if (!(PyList_Check(list) || PyTuple_Check(list)) || PySequence_Fast_GET_SIZE(list) > MOST_INTS) {
        return false;
    }
    ints->count = PySequence_Fast_GET_SIZE(list);
    for (int64_t i = 0; i < ints->count; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(list, i);
        if (!PyLong_Check(item)) {
            return false;
        }
        int overflow;
        ints->items[i] = PyLong_AsLongLongAndOverflow(item, &overflow);
        if (overflow) {
            return false;
        }
    }
    return true;
}

/* The arguments that both operators end with. */
typedef struct {
    Ints stride, padding, dilation, output_padding, groups;
    bool transposed;
} Geometry;

static bool read_geometry(PyObject *const *args, Geometry *geometry)
{
    if (!PyBool_Check(args[3]) || !PyLong_Check(args[5])) {
        return false;
    }
    int overflow;
    geometry->transposed = args[3] == Py_True;
    geometry->groups.items[0] = PyLong_AsLongLongAndOverflow(args[5], &overflow);
    return !overflow && read_ints(args[0], &geometry->stride) && read_ints(args[1], &geometry->padding) && read_ints(args[2], &geometry->dilation) &&
           read_ints(args[4], &geometry->output_padding);
}

static PyObject *by_operator(const char *name, PyObject *const *args, Py_ssize_t nargs)
{
    PyObject *found = PyImport_ImportModule("torch");
    const char *path[] = {"ops", "aten", name, "default"};
    for (size_t i = 0; i < sizeof path / sizeof *path && found != NULL; i++) {
        Py_SETREF(found, PyObject_GetAttrString(found, path[i]));
    }
    PyObject *result = found == NULL ? NULL : PyObject_Vectorcall(found, args, (size_t)nargs, NULL);
    Py_XDECREF(found);
    return result;
}

static PyObject *convolution(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    Geometry g;
    if (torch_symbols.convolution == NULL || nargs != 9 || !tensor_check(args[0]) || !tensor_check(args[1]) ||
        !(args[2] == Py_None || tensor_check(args[2])) || !read_geometry(args + 3, &g)) {
        return by_operator("convolution", args, nargs);
    }
    Handle bias = args[2] == Py_None ? NULL : tensor_handle(args[2]), result = NULL;
    int error;
    Py_BEGIN_ALLOW_THREADS
    error = torch_symbols.convolution(tensor_handle(args[0]), tensor_handle(args[1]), bias == NULL ? NULL : &bias, g.stride.items, g.stride.count,
                                      g.padding.items, g.padding.count, g.dilation.items, g.dilation.count, g.transposed, g.output_padding.items,
                                      g.output_padding.count, g.groups.items[0], &result);
    Py_END_ALLOW_THREADS
    return error ? by_operator("convolution", args, nargs) : tensor_from_handle(result);
}

static PyObject *convolution_backward(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    Geometry g;
    Ints bias = {.count = 0}, mask;
    if (torch_symbols.convolution_backward == NULL || nargs != 11 || !tensor_check(args[0]) || !tensor_check(args[1]) || !tensor_check(args[2]) ||
        !(args[3] == Py_None || read_ints(args[3], &bias)) || !read_geometry(args + 4, &g) || !read_ints(args[10], &mask) || mask.count != 3) {
        return by_operator("convolution_backward", args, nargs);
    }
    const int64_t *sizes = bias.items;
    const int32_t wanted[] = {mask.items[0] != 0, mask.items[1] != 0, mask.items[2] != 0};
    Handle results[3] = {NULL, NULL, NULL};
    int error;
    Py_BEGIN_ALLOW_THREADS
    error = torch_symbols.convolution_backward(tensor_handle(args[0]), tensor_handle(args[1]), tensor_handle(args[2]),
                                               args[3] == Py_None ? NULL : &sizes, bias.count, g.stride.items, g.stride.count, g.padding.items,
                                               g.padding.count, g.dilation.items, g.dilation.count, g.transposed, g.output_padding.items,
                                               g.output_padding.count, g.groups.items[0], wanted, 3, &results[0], &results[1], &results[2]);
    Py_END_ALLOW_THREADS
    if (error) {
        return by_operator("convolution_backward", args, nargs);
    }
    PyObject *tuple = PyTuple_New(3);
    for (int i = 0; i < 3; i++) {
        PyObject *tensor = tensor_from_handle(results[i]); /* None, where the result is undefined */
        if (tensor == NULL || tuple == NULL) {
            Py_CLEAR(tuple);
            Py_XDECREF(tensor);
        } else {
            PyTuple_SET_ITEM(tuple, i, tensor);
        }
    }
    return tuple;
}

static PyMethodDef methods[] = {
    {"convolution", (PyCFunction)(void (*)(void))convolution, METH_FASTCALL, "aten.convolution, by the C ABI of libtorch_cpu"},
    {"convolution_backward", (PyCFunction)(void (*)(void))convolution_backward, METH_FASTCALL,
     "aten.convolution_backward, by the C ABI of libtorch_cpu"},
    {NULL, NULL, 0, NULL},
};

int init_direct_convolution(PyObject *module) { return PyModule_AddFunctions(module, methods); }
