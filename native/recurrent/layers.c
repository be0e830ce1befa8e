/* Recurrent layers over all their steps, as functions of the module.
 *
 * In:  addresses of row-major matrices: gates [steps, batch, 4 * width] (LSTM), [steps, batch, 3 * width]
 *      (GRU) or [steps, batch, width], which are the inputs times their weights, with the bias; the state
 *      before the first step [batch, width]; the weight of the states. With `reverse` the last step comes
 *      first. Of packed sequences, the rows of all steps one after the other, and the number of each step's.
 * Out: the states of all steps, or gradients.
 *
 *     state = cell(gates[step], state @ weight.T)
 *
 * Backward, a turn has the products of the turn behind it: gradients of its products, with the weight.
 */
#include "capture_native.h"

#include <string.h>

#include "graph/compiled_graph.h"
#include "recurrent/cells.h"
#include "recurrent/packed_rows.h"
#include "recurrent/steps.h"

/* gates of an LSTM and of a GRU, each as wide as a state, and what these keep for a backward */
enum { LSTM_GATES = 4, LSTM_KEPT = 5, GRU_GATES = 3, GRU_KEPT = 4 };

/* Where the state before a turn begins: in `states`, with `parts` elements for each of a state, or `first`.
 */
static const char *before(const Layer *layer, long long turn, const Span *span, const char *states, int parts,
                          const char *first)
{
    return span->is_first ? first : states + place_at(layer, turn - 1, parts);
}

/* --- LSTM ---------------------------------------------------------------------------------------------- */

static void lstm_cell(const Steps *steps, long long turn, const Span *span, const Tile *tile)
{
    const Layer *layer = steps->layer;
    char *const *matrices = steps->matrices, *kept = matrices[6];
    layer->cells->lstm_forward(
        &(LstmForward){.width = layer->width,
                       .gates = matrices[0] + place_at(layer, turn, LSTM_GATES),
                       .cell = matrices[5],
                       .after = matrices[4] + place_at(layer, turn, 1),
                       .kept = kept == NULL ? NULL : kept + place_at(layer, turn, LSTM_KEPT)},
        tile);
}

static int lstm_steps(const Layer *layer, char *const *matrices)
{
    memcpy(matrices[5], matrices[2], bytes_of(layer, 1));
    return run_steps(&(Steps){.layer = layer,
                              .transposed = true,
                              .parts = LSTM_GATES,
                              .inner_parts = 1,
                              .weight = matrices[3],
                              .matrix = matrices[4],
                              .first = matrices[1],
                              .cell = lstm_cell,
                              .matrices = matrices});
}

static void lstm_cell_back(const Steps *steps, long long turn, const Span *span, const Tile *tile)
{
    const Layer *layer = steps->layer;
    char *const *matrices = steps->matrices;
    const char *cells = matrices[3] + LSTM_GATES * (size_t)layer->width * layer->size; /* those kept */
    layer->cells->lstm_backward(
        &(LstmBackward){.width = layer->width,
                        .before_row = layer->width * (span->is_first ? 1 : LSTM_KEPT),
                        .grad = matrices[0] + place_at(layer, turn, 1),
                        .kept = matrices[3] + place_at(layer, turn, LSTM_KEPT),
                        .before = before(layer, turn, span, cells, LSTM_KEPT, matrices[2]),
                        .gates = matrices[5] + place_at(layer, turn, LSTM_GATES),
                        .cell = matrices[7]},
        tile);
}

static int lstm_steps_back(const Layer *layer, char *const *matrices)
{
    memset(matrices[6], 0, bytes_of(layer, 1));
    memcpy(matrices[7], matrices[1], bytes_of(layer, 1));
    return run_steps(&(Steps){.layer = layer,
                              .backward = true,
                              .parts = 1,
                              .inner_parts = LSTM_GATES,
                              .weight = matrices[4],
                              .matrix = matrices[5],
                              .of_first = matrices[6],
                              .cell = lstm_cell_back,
                              .matrices = matrices});
}

/* --- GRU ----------------------------------------------------------------------------------------------- */

static void gru_cell(const Steps *steps, long long turn, const Span *span, const Tile *tile)
{
    const Layer *layer = steps->layer;
    char *const *matrices = steps->matrices, *kept = matrices[5];
    layer->cells->gru_forward(
        &(GruForward){.width = layer->width,
                      .gates = matrices[0] + place_at(layer, turn, GRU_GATES),
                      .bias = matrices[3],
                      .before = before(layer, turn, span, matrices[4], 1, matrices[1]),
                      .after = matrices[4] + place_at(layer, turn, 1),
                      .kept = kept == NULL ? NULL : kept + place_at(layer, turn, GRU_KEPT)},
        tile);
}

static int gru_steps(const Layer *layer, char *const *matrices)
{
    return run_steps(&(Steps){.layer = layer,
                              .transposed = true,
                              .parts = GRU_GATES,
                              .inner_parts = 1,
                              .weight = matrices[2],
                              .matrix = matrices[4],
                              .first = matrices[1],
                              .cell = gru_cell,
                              .matrices = matrices});
}

static void gru_cell_back(const Steps *steps, long long turn, const Span *span, const Tile *tile)
{
    const Layer *layer = steps->layer;
    char *const *matrices = steps->matrices;
    layer->cells->gru_backward(
        &(GruBackward){.width = layer->width,
                       .grad = matrices[0] + place_at(layer, turn, 1),
                       .kept = matrices[3] + place_at(layer, turn, GRU_KEPT),
                       .before = before(layer, turn, span, matrices[1], 1, matrices[2]),
                       .gates = matrices[5] + place_at(layer, turn, GRU_GATES),
                       .products = matrices[6] + place_at(layer, turn, GRU_GATES),
                       .direct = matrices[7]},
        tile);
}

/* The gradient of the first state is on the way what each state has of its own one by no product. */
static int gru_steps_back(const Layer *layer, char *const *matrices)
{
    memset(matrices[7], 0, bytes_of(layer, 1));
    return run_steps(&(Steps){.layer = layer,
                              .backward = true,
                              .parts = 1,
                              .inner_parts = GRU_GATES,
                              .weight = matrices[4],
                              .matrix = matrices[6],
                              .of_first = matrices[7],
                              .cell = gru_cell_back,
                              .matrices = matrices});
}

/* --- RNN ----------------------------------------------------------------------------------------------- */

static void rnn_cell(const Steps *steps, long long turn, const Span *span, const Tile *tile)
{
    const Layer *layer = steps->layer;
    const size_t place = place_at(layer, turn, 1);
    const Cell cell = layer->relu ? layer->cells->relu_forward : layer->cells->tanh_forward;
    cell(&(RnnForward){.width = layer->width,
                       .gates = steps->matrices[0] + place,
                       .state = steps->matrices[3] + place},
         tile);
}

static int rnn_steps(const Layer *layer, char *const *matrices)
{
    return run_steps(&(Steps){.layer = layer,
                              .transposed = true,
                              .parts = 1,
                              .inner_parts = 1,
                              .weight = matrices[2],
                              .matrix = matrices[3],
                              .first = matrices[1],
                              .cell = rnn_cell,
                              .matrices = matrices});
}

static void rnn_cell_back(const Steps *steps, long long turn, const Span *span, const Tile *tile)
{
    const Layer *layer = steps->layer;
    char *const *matrices = steps->matrices;
    const size_t place = place_at(layer, turn, 1);
    const Cell cell = layer->relu ? layer->cells->relu_backward : layer->cells->tanh_backward;
    cell(&(RnnBackward){.width = layer->width,
                        .grad = matrices[0] + place,
                        .state = matrices[1] + place,
                        .gates = matrices[3] + place},
         tile);
}

static int rnn_steps_back(const Layer *layer, char *const *matrices)
{
    memset(matrices[4], 0, bytes_of(layer, 1));
    return run_steps(&(Steps){.layer = layer,
                              .backward = true,
                              .parts = 1,
                              .inner_parts = 1,
                              .weight = matrices[2],
                              .matrix = matrices[3],
                              .of_first = matrices[4],
                              .cell = rnn_cell_back,
                              .matrices = matrices});
}

/* --- the functions of the module ---------------------------------------------------------------------- */

#define MOST_MATRICES 8

/* Reads the arguments of a function: (is_double, reverse, relu, steps, batch, width, packed rows), and the
 * addresses of `count` matrices. 0, or -1 with an exception. */
static int read_arguments(PyObject *args, Layer *layer, char **matrices, Py_ssize_t count)
{
    PyObject *packed, *addresses;
    *layer = (Layer){0};
    if (!PyArg_ParseTuple(args, "(pppLLLO)O!", &layer->is_double, &layer->reverse, &layer->relu,
                          &layer->steps, &layer->batch, &layer->width, &packed, &PyTuple_Type, &addresses)) {
        return -1;
    }
    if (layer->steps < 1 || layer->batch < 1 || layer->width < 1 || layer->batch > INT32_MAX
        || layer->width > INT32_MAX / LSTM_GATES) {
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
    return init_gemm() < 0 ? -1 : read_packed_rows(packed, layer);
}

static PyObject *run_layer(PyObject *args, int count, int (*steps)(const Layer *layer, char *const *matrices))
{
    Layer layer;
    char *matrices[MOST_MATRICES];
    if (read_arguments(args, &layer, matrices, count) < 0) {
        return NULL;
    }
    int status;
    Py_BEGIN_ALLOW_THREADS;
    status = steps(&layer, matrices);
    Py_END_ALLOW_THREADS;
    PyMem_Free(layer.rows);
    if (status < 0) {
        return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

static PyObject *lstm_forward(PyObject *module, PyObject *args)
{
    return run_layer(args, 7, lstm_steps);
}

static PyObject *lstm_backward(PyObject *module, PyObject *args)
{
    return run_layer(args, 8, lstm_steps_back);
}

static PyObject *gru_forward(PyObject *module, PyObject *args)
{
    return run_layer(args, 6, gru_steps);
}

static PyObject *gru_backward(PyObject *module, PyObject *args)
{
    return run_layer(args, 8, gru_steps_back);
}

static PyObject *rnn_forward(PyObject *module, PyObject *args)
{
    return run_layer(args, 4, rnn_steps);
}

static PyObject *rnn_backward(PyObject *module, PyObject *args)
{
    return run_layer(args, 5, rnn_steps_back);
}

static PyObject *limit_cells(PyObject *module, PyObject *bytes)
{
    const long limit = PyLong_AsLong(bytes);
    return limit == -1 && PyErr_Occurred() ? NULL : PyLong_FromLong(cells_limit((int)limit));
}

static PyMethodDef functions[] = {
    {"lstm_forward", lstm_forward, METH_VARARGS,
     "lstm_forward((is_double, reverse, False, steps, batch, width, packed), (gates, first, first_cell, "
     "weight, states, cell, kept)): writes the states of all steps, the last cell, and what the backward "
     "needs. The matrices are addresses; 0 where no backward follows. packed: (address of the rows of each "
     "step, all rows), or None."},
    {"lstm_backward", lstm_backward, METH_VARARGS,
     "lstm_backward(sizes, (grads, grad_of_cell, first_cell, kept, weight, of_gates, of_first, of_cell)): "
     "writes the gradients of the gates, of the first state, and of the first cell."},
    {"gru_forward", gru_forward, METH_VARARGS,
     "gru_forward(sizes, (gates, first, weight, bias, states, kept)): writes the states of all steps, and "
     "what the backward needs. The matrices are addresses; 0 for no bias, or where no backward follows."},
    {"gru_backward", gru_backward, METH_VARARGS,
     "gru_backward(sizes, (grads, states, first, kept, weight, of_gates, of_products, of_first)): writes the "
     "gradients of the gates, of the products with the weight, and of the first state."},
    {"rnn_forward", rnn_forward, METH_VARARGS,
     "rnn_forward(sizes, (gates, first, weight, states)): relu, or else tanh."},
    {"rnn_backward", rnn_backward, METH_VARARGS,
     "rnn_backward(sizes, (grads, states, weight, of_gates, of_first)): writes the gradients of the gates, "
     "and of the first state."},
    {"packed_places", packed_places, METH_VARARGS,
     "packed_places(reverse, steps, batch, packed, last, before): writes, for each sequence, the row of its "
     "last state, and for each row that of the state before it: those before the first step are the rows "
     "0 .. batch - 1, ahead of all others."},
    {"limit_cells", limit_cells, METH_O,
     "limit_cells(bytes): the cells use vectors of at most so many bytes, for tests. Returns the limit "
     "before."},
    {NULL, NULL, 0, NULL},
};

int init_recurrent(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
