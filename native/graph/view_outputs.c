/* Outputs of a plan that are views in eager: what autograd has to know of them.
 *
 * In:  outputs as the plan made them, with grad mode off; for each output what it is in eager.
 * Out: the same outputs, as eager would have made them: `y.detach()` is no view; a view that was made in grad
 *      mode may be written to in grad mode, unless one operation made several views.
 */
#include "graph/compiled_graph.h"

#include "capture_native.h"
#include "tensors/tensor_access.h"

enum { NO_VIEW = 0, VIEW = 1, DETACHED = 2, ONE_OF_SEVERAL = 3 }; /* codegen/trace/trace.py writes them */

static PyObject *set_creation, *creations[4]; /* torch's function, and its argument for each kind */

static int find_creations(void)
{
    static const char *const names[4] = {NULL, "DEFAULT", NULL, "MULTI_OUTPUT_NODE"};
    PyObject *module = PyImport_ImportModule("torch._C._autograd");
    PyObject *kinds = module == NULL ? NULL : PyObject_GetAttrString(module, "CreationMeta");
    PyObject *function = kinds == NULL ? NULL : PyObject_GetAttrString(module, "_set_creation_meta");
    for (int i = 0; i < 4 && function != NULL; i++) {
        if (names[i] != NULL && creations[i] == NULL) {
            creations[i] = PyObject_GetAttrString(kinds, names[i]);
            if (creations[i] == NULL) {
                Py_CLEAR(function);
            }
        }
    }
    set_creation = function;
    Py_XDECREF(kinds);
    Py_XDECREF(module);
    return set_creation == NULL ? -1 : 0;
}

/* A view that only this call knows. Tensors that the plan makes have no metadata of autograd otherwise. */
static bool is_new_view(PyObject *output)
{
    return tensor_check_exact(output) && Py_REFCNT(output) == 1 && !tensor_requires_grad(output)
           && TENSOR_FIELD(TENSOR_IMPL(output), tensor_offsets.autograd_meta, void *) != NULL;
}

int finish_views(const CompiledGraph *graph, PyObject **outs, bool grad_mode)
{
    if (!PyBytes_CheckExact(graph->views) || PyBytes_GET_SIZE(graph->views) != graph->noutputs) {
        PyErr_Format(PyExc_TypeError, "views: expected a byte for each output, got %R", graph->views);
        return -1;
    }
    const char *kinds = PyBytes_AS_STRING(graph->views);
    for (int64_t i = 0; i < graph->noutputs; i++) {
        if (kinds[i] == NO_VIEW || !is_new_view(outs[i])) {
            continue;
        }
        if (kinds[i] == DETACHED) {
            PyObject *detached = tensor_detached(outs[i]);
            if (detached == NULL) {
                return -1;
            }
            Py_SETREF(outs[i], detached);
        } else if (grad_mode) {
            if (set_creation == NULL && find_creations() < 0) {
                return -1;
            }
            PyObject *done =
                PyObject_CallFunctionObjArgs(set_creation, outs[i], creations[kinds[i] & 3], NULL);
            if (done == NULL) {
                return -1;
            }
            Py_DECREF(done);
        }
    }
    return 0;
}
