/* The rows of packed sequences, which are sorted by their lengths.
 *
 * In:  the number of rows of each step, of which none has more than the one before (`batch_sizes` of torch).
 * Out: what a layer has to know of them; the places of last states and of the states before each row.
 *
 *     rows 3 2 2, of sequences of 3, 3 and 1 steps    ->    offsets 0 3 5; last states in the rows 5 6 2
 */
#include "recurrent/packed_rows.h"

#include <string.h>

/* Whether these rows are those of sequences that end one after the other, and fill the matrices exactly. */
static bool are_sound(const Layer *layer)
{
    int64_t most = layer->batch, all = 0;
    if (layer->rows[0] != layer->batch) {
        return false;
    }
    for (long long step = 0; step < layer->steps; step++) {
        if (layer->rows[step] < 1 || layer->rows[step] > most) {
            return false;
        }
        most = layer->rows[step];
        if (__builtin_add_overflow(all, most, &all)) {
            return false;
        }
    }
    return all == layer->all_rows;
}

int read_packed_rows(PyObject *packed, Layer *layer)
{
    if (packed == Py_None) {
        layer->all_rows = layer->steps * layer->batch;
        return 0;
    }
    unsigned long long address;
    long long all;
    if (!PyTuple_Check(packed) || !PyArg_ParseTuple(packed, "KL", &address, &all)) {
        PyErr_SetString(PyExc_TypeError, "packed rows are None, or (address, all rows)");
        return -1;
    }
    layer->all_rows = all;
    layer->rows = PyMem_New(int64_t, 2 * layer->steps); /* a copy: the program may write to its own */
    if (layer->rows == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(layer->rows, (const void *)(uintptr_t)address, (size_t)layer->steps * sizeof(int64_t));
    if (!are_sound(layer)) {
        PyMem_Free(layer->rows);
        PyErr_SetString(PyExc_ValueError,
                        "the batch sizes of a packed sequence must go down from the size of the batch, be "
                        "positive, and add up to the rows of its data");
        return -1;
    }
    layer->offsets = layer->rows + layer->steps;
    int64_t offset = 0;
    for (long long step = 0; step < layer->steps; offset += layer->rows[step++]) {
        layer->offsets[step] = offset;
    }
    return 0;
}

/* In turns of the layer: the last row of a sequence stays. */
static void write_places(const Layer *layer, int64_t *last, int64_t *before)
{
    for (long long turn = 0; turn < layer->steps; turn++) {
        const int64_t offset = layer->offsets[step_at(layer, turn)], rows = rows_at(layer, turn);
        for (int64_t row = 0; row < rows; row++) {
            const bool is_first = row >= rows_at(layer, turn - 1);
            before[offset + row] = is_first ? row : layer->batch + last[row];
            last[row] = offset + row;
        }
    }
}

PyObject *packed_places(PyObject *module, PyObject *args)
{
    Layer layer = {0};
    PyObject *packed;
    unsigned long long last, before;
    if (!PyArg_ParseTuple(args, "pLLO!KK", &layer.reverse, &layer.steps, &layer.batch, &PyTuple_Type, &packed,
                          &last, &before)) {
        return NULL;
    }
    if (layer.steps < 1 || layer.batch < 1) {
        PyErr_SetString(PyExc_ValueError, "packed sequences without elements");
        return NULL;
    }
    if (read_packed_rows(packed, &layer) < 0) {
        return NULL;
    }
    write_places(&layer, (int64_t *)(uintptr_t)last, (int64_t *)(uintptr_t)before);
    PyMem_Free(layer.rows);
    Py_RETURN_NONE;
}
