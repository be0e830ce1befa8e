/* Recurrent layers over all their steps: a product of matrices and a cell in each step.
 *
 * In:  addresses of row-major matrices: gates [steps, batch, 3 * width] (GRU) or [steps, batch, width], which
 *      are the inputs times their weights, with the bias; the state before the first step [batch, width];
 *      the weight of the states. With `reverse` the last step comes first.
 * Out: the states of all steps, or gradients.
 *
 *     state = cell(gates[step], state @ weight.T)
 */
#include "capture_native.h"

#include <string.h>

#include "graph/compiled_graph.h"
#include "graph/matrix_product.h"
#include "graph/parallel.h"
#include "recurrent/cells.h"

#define PART_ELEMENTS 4096 /* so many elements of a state are worth a thread */
#define GATES 3            /* of a GRU, each as wide as a state */

typedef struct {
    const Cells *cells;
    size_t size; /* of an element */
    int is_double, reverse, relu;
    long long steps, batch, width;
} Layer;

/* The elements of one step, `parts` of them for each of a state. */
static size_t bytes_of(const Layer *layer, int parts)
{
    return (size_t)layer->batch * (size_t)layer->width * (size_t)parts * layer->size;
}

/* The step that is number `turn` in the order of the layer. */
static size_t step_at(const Layer *layer, long long turn)
{
    return (size_t)(layer->reverse ? layer->steps - 1 - turn : turn);
}

static void run_cell(const Layer *layer, Cell cell, const void *step)
{
    parallel_run(cell, step, layer->batch, parallel_parts(layer->batch, PART_ELEMENTS / layer->width + 1));
}

/* output = state @ weight.T, with `parts` times the width of a state */
static void forward_product(const Layer *layer, int parts, const void *state, const void *weight,
                            void *output)
{
    matrix_product(&(MatrixProduct){.is_double = layer->is_double,
                                    .transposed = true,
                                    .rows = layer->batch,
                                    .columns = layer->width * parts,
                                    .inner = layer->width,
                                    .left = state,
                                    .right = weight,
                                    .output = output});
}

/* output = grads @ weight + addend */
static void backward_product(const Layer *layer, int parts, const void *grads, const void *weight,
                             const void *addend, void *output)
{
    matrix_product(&(MatrixProduct){.is_double = layer->is_double,
                                    .rows = layer->batch,
                                    .columns = layer->width,
                                    .inner = layer->width * parts,
                                    .left = grads,
                                    .right = weight,
                                    .addend = addend,
                                    .output = output});
}

/* The state before a turn. */
static const char *before(const Layer *layer, long long turn, const char *first, const char *states)
{
    return turn == 0 ? first : states + step_at(layer, turn - 1) * bytes_of(layer, 1);
}

static void gru_steps(const Layer *layer, char *const *matrices, char *products)
{
    const char *gates = matrices[0], *first = matrices[1], *weight = matrices[2], *bias = matrices[3];
    char *states = matrices[4], *kept = matrices[5];
    for (long long turn = 0; turn < layer->steps; turn++) {
        const size_t step = step_at(layer, turn);
        const char *state = before(layer, turn, first, states);
        forward_product(layer, GATES, state, weight, products);
        run_cell(layer, layer->cells->gru_forward,
                 &(GruForward){.width = layer->width,
                               .gates = gates + step * bytes_of(layer, GATES),
                               .products = products,
                               .bias = bias,
                               .before = state,
                               .after = states + step * bytes_of(layer, 1),
                               .kept = kept == NULL ? NULL : kept + step * bytes_of(layer, GATES + 1)});
    }
}

/* The gradient of the first state is that of each state on the way. */
static void gru_steps_back(const Layer *layer, char *const *matrices, char *direct)
{
    const char *grads = matrices[0], *states = matrices[1], *first = matrices[2], *kept = matrices[3];
    const char *weight = matrices[4];
    char *of_gates = matrices[5], *of_products = matrices[6], *of_first = matrices[7];
    memset(of_first, 0, bytes_of(layer, 1));
    for (long long turn = layer->steps - 1; turn >= 0; turn--) {
        const size_t step = step_at(layer, turn);
        char *products = of_products + step * bytes_of(layer, GATES);
        run_cell(layer, layer->cells->gru_backward,
                 &(GruBackward){.width = layer->width,
                                .grad = grads + step * bytes_of(layer, 1),
                                .later = of_first,
                                .kept = kept + step * bytes_of(layer, GATES + 1),
                                .before = before(layer, turn, first, states),
                                .gates = of_gates + step * bytes_of(layer, GATES),
                                .products = products,
                                .direct = direct});
        backward_product(layer, GATES, products, weight, direct, of_first);
    }
}

static void rnn_steps(const Layer *layer, char *const *matrices, char *memory)
{
    const char *gates = matrices[0], *first = matrices[1], *weight = matrices[2];
    char *states = matrices[3];
    const Cell cell = layer->relu ? layer->cells->relu_forward : layer->cells->tanh_forward;
    for (long long turn = 0; turn < layer->steps; turn++) {
        const size_t place = step_at(layer, turn) * bytes_of(layer, 1);
        forward_product(layer, 1, before(layer, turn, first, states), weight, states + place);
        run_cell(layer, cell,
                 &(RnnForward){.width = layer->width, .gates = gates + place, .state = states + place});
    }
}

static void rnn_steps_back(const Layer *layer, char *const *matrices, char *memory)
{
    const char *grads = matrices[0], *states = matrices[1], *weight = matrices[2];
    char *of_gates = matrices[3], *of_first = matrices[4];
    const Cell cell = layer->relu ? layer->cells->relu_backward : layer->cells->tanh_backward;
    memset(of_first, 0, bytes_of(layer, 1));
    for (long long turn = layer->steps - 1; turn >= 0; turn--) {
        const size_t place = step_at(layer, turn) * bytes_of(layer, 1);
        run_cell(layer, cell,
                 &(RnnBackward){.width = layer->width,
                                .grad = grads + place,
                                .later = of_first,
                                .state = states + place,
                                .gates = of_gates + place});
        backward_product(layer, 1, of_gates + place, weight, NULL, of_first);
    }
}

/* --- the functions of the module ---------------------------------------------------------------------- */

#define MOST_MATRICES 8

/* Reads the arguments of a function: (is_double, reverse, relu, steps, batch, width), and the addresses of
 * `count` matrices. 0, or -1 with an exception. */
static int read_arguments(PyObject *args, Layer *layer, char **matrices, Py_ssize_t count)
{
    PyObject *addresses;
    if (!PyArg_ParseTuple(args, "(pppLLL)O!", &layer->is_double, &layer->reverse, &layer->relu, &layer->steps,
                          &layer->batch, &layer->width, &PyTuple_Type, &addresses)) {
        return -1;
    }
    if (layer->steps < 1 || layer->batch < 1 || layer->width < 1 || layer->batch > INT32_MAX
        || layer->width > INT32_MAX / GATES) {
        PyErr_SetString(PyExc_ValueError, "a recurrent layer without elements, or too large for BLAS");
        return -1;
    }
    if (PyTuple_GET_SIZE(addresses) != count) {
        PyErr_Format(PyExc_ValueError, "%zd matrices, not %zd", count, PyTuple_GET_SIZE(addresses));
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        matrices[i] = PyLong_AsVoidPtr(PyTuple_GET_ITEM(addresses, i));
        if (matrices[i] == NULL && PyErr_Occurred()) {
            return -1;
        }
    }
    layer->size = layer->is_double ? sizeof(double) : sizeof(float);
    layer->cells = cells_for(layer->is_double);
    return init_gemm();
}

/* Runs all steps, with memory of `parts` times a state for the results of products. */
static PyObject *run_layer(PyObject *args, int count, int parts,
                           void (*steps)(const Layer *layer, char *const *matrices, char *memory))
{
    Layer layer;
    char *matrices[MOST_MATRICES];
    if (read_arguments(args, &layer, matrices, count) < 0) {
        return NULL;
    }
    char *memory = PyMem_RawMalloc(bytes_of(&layer, parts));
    if (memory == NULL) {
        return PyErr_NoMemory();
    }
    Py_BEGIN_ALLOW_THREADS;
    steps(&layer, matrices, memory);
    Py_END_ALLOW_THREADS;
    PyMem_RawFree(memory);
    Py_RETURN_NONE;
}

static PyObject *gru_forward(PyObject *module, PyObject *args)
{
    return run_layer(args, 6, GATES, gru_steps);
}

static PyObject *gru_backward(PyObject *module, PyObject *args)
{
    return run_layer(args, 8, 1, gru_steps_back);
}

static PyObject *rnn_forward(PyObject *module, PyObject *args)
{
    return run_layer(args, 4, 0, rnn_steps);
}

static PyObject *rnn_backward(PyObject *module, PyObject *args)
{
    return run_layer(args, 5, 0, rnn_steps_back);
}

static PyObject *limit_cells(PyObject *module, PyObject *bytes)
{
    const long limit = PyLong_AsLong(bytes);
    return limit == -1 && PyErr_Occurred() ? NULL : PyLong_FromLong(cells_limit((int)limit));
}

static PyMethodDef functions[] = {
    {"gru_forward", gru_forward, METH_VARARGS,
     "gru_forward((is_double, reverse, False, steps, batch, width), (gates, first, weight, bias, states, "
     "kept)): writes the states of all steps, and what the backward needs. The matrices are addresses; 0 for "
     "no bias, or where no backward follows."},
    {"gru_backward", gru_backward, METH_VARARGS,
     "gru_backward(sizes, (grads, states, first, kept, weight, of_gates, of_products, of_first)): writes the "
     "gradients of the gates, of the products with the weight, and of the first state."},
    {"rnn_forward", rnn_forward, METH_VARARGS,
     "rnn_forward((is_double, reverse, relu, steps, batch, width), (gates, first, weight, states)): relu, or "
     "else tanh."},
    {"rnn_backward", rnn_backward, METH_VARARGS,
     "rnn_backward(sizes, (grads, states, weight, of_gates, of_first)): writes the gradients of the gates, "
     "and of the first state."},
    {"limit_cells", limit_cells, METH_O,
     "limit_cells(bytes): the cells use vectors of at most so many bytes, for tests. Returns the limit "
     "before."},
    {NULL, NULL, 0, NULL},
};

int init_recurrent(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
