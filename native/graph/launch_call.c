/* Calls of ATen operators from a launch plan.
 *
 * In:  an instruction: callable, where the results go, and a postfix program that builds the arguments.
 * Out: results in slots, checked against what the graph was compiled for.
 *
 *     cat([x, y], 1)   ->   ARG_SLOT x, ARG_SLOT y, ARG_LIST 2, ARG_OBJECT 1
 */
#include "graph/compiled_graph.h"

#include "capture_native.h"

#include "tensors/tensor_access.h"

/* Operands: callable (object), keyword names (object or -1), positional arguments, depth of the argument
 * stack, words of the argument program, results; then the program, then (slot, spec or -1) for each result;
 * slot -1: not used. */
typedef struct {
    int64_t callable, keywords, npositional, depth, nwords, nresults;
    int64_t rest[];
} Call;

static PyObject *sequence_of(PyObject **items, int64_t count, bool is_list)
{
    PyObject *sequence = is_list ? PyList_New(count) : PyTuple_New(count);
    for (int64_t i = 0; i < count; i++) {
        if (sequence == NULL) {
            Py_DECREF(items[i]);
        } else if (is_list) {
            PyList_SET_ITEM(sequence, i, items[i]);
        } else {
            PyTuple_SET_ITEM(sequence, i, items[i]);
        }
    }
    return sequence;
}

/* The number of arguments on the stack (new references), or -1 with an exception; the stack is empty then. */
static int64_t build_arguments(Run *run, const Call *call, PyObject **stack)
{
    int64_t top = 0;
    for (int64_t i = 0; i < call->nwords; i += 2) {
        int64_t kind = call->rest[i], value = call->rest[i + 1];
        if (kind == ARG_SLOT) {
            stack[top++] = Py_NewRef(run->slots[value].tensor);
        } else if (kind == ARG_OBJECT) {
            stack[top++] = Py_NewRef(PyTuple_GET_ITEM(run->graph->objects, value));
        } else {
            top -= value;
            PyObject *sequence = sequence_of(stack + top, value, kind == ARG_LIST);
            if (sequence == NULL) {
                while (top > 0) {
                    Py_DECREF(stack[--top]);
                }
                return -1;
            }
            stack[top++] = sequence;
        }
    }
    return top;
}

static int store_result(Run *run, PyObject *result, int64_t slot, int64_t spec)
{
    if (slot < 0) {
        return 0;
    }
    PyObject *tensor =
        spec < 0 ? Py_NewRef(result) : spec_conform(&run->graph->specs[spec], result, "value", slot);
    if (tensor == NULL) {
        return -1;
    }
    if (!tensor_check(tensor)) {
        PyErr_Format(PyExc_TypeError, "an operator gave a %.200s where the graph expects a tensor",
                     Py_TYPE(tensor)->tp_name);
        Py_DECREF(tensor);
        return -1;
    }
    slot_set(&run->slots[slot], tensor);
    return 0;
}

static int store_results(Run *run, const Call *call, PyObject *result)
{
    const int64_t *targets = call->rest + call->nwords;
    if (call->nresults == 0) {
        return 0;
    }
    if (!PyTuple_Check(result) && !PyList_Check(result)) {
        return store_result(run, result, targets[0], targets[1]);
    }
    if (PySequence_Fast_GET_SIZE(result) != call->nresults) {
        PyErr_Format(PyExc_TypeError, "an operator gave %zd results, the graph expects %lld",
                     PySequence_Fast_GET_SIZE(result), (long long)call->nresults);
        return -1;
    }
    for (int64_t i = 0; i < call->nresults; i++) {
        if (store_result(run, PySequence_Fast_GET_ITEM(result, i), targets[2 * i], targets[2 * i + 1]) < 0) {
            return -1;
        }
    }
    return 0;
}

int run_call(Run *run, const int64_t *operand)
{
    const Call *call = (const Call *)operand;
    PyObject *few[16];
    PyObject **stack = call->depth <= 16 ? few : PyMem_New(PyObject *, call->depth);
    if (stack == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    int status = -1;
    int64_t count = build_arguments(run, call, stack);
    if (count >= 0) {
        PyObject *callable = PyTuple_GET_ITEM(run->graph->objects, call->callable);
        PyObject *keywords =
            call->keywords < 0 ? NULL : PyTuple_GET_ITEM(run->graph->objects, call->keywords);
        PyObject *result = PyObject_Vectorcall(callable, stack, (size_t)call->npositional, keywords);
        for (int64_t i = 0; i < count; i++) {
            Py_DECREF(stack[i]);
        }
        if (result != NULL) {
            status = store_results(run, call, result);
            Py_DECREF(result);
        } else if (PyErr_ExceptionMatches(PyExc_Exception) && !handler_has_raised()) {
            run->failed_check = -1;
        }
    }
    if (stack != few) {
        PyMem_Free(stack);
    }
    return status;
}
