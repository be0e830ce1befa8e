/* Outputs of a plan that are views in eager: what autograd has to know of them.
 *
 * In:  outputs as the plan made them, with grad mode off; for each output what it is in eager.
 * Out: the same outputs, as eager would have made them: `y.detach()` is no view; a view has the base that the
 *      program has; one that was made in grad mode may be written to in grad mode, unless one operation made
 *      several views.
 */
#include "graph/compiled_graph.h"

#include "capture_native.h"
#include "tensors/tensor_access.h"

/* codegen/trace/view_kinds.py writes them */
enum { NO_VIEW = 0, VIEW = 1, OWN = 2, ONE_OF_SEVERAL = 3, WITHOUT_GRAD = 4, KINDS = 5, NO_BASE = 0xFFFF };

static PyObject *set_creation, *creations[KINDS]; /* torch's function, and its argument for each kind */

static int find_creations(void)
{
    static const char *const names[KINDS] = {NULL, "DEFAULT", NULL, "MULTI_OUTPUT_NODE", "NO_GRAD_MODE"};
    PyObject *module = PyImport_ImportModule("torch._C._autograd");
    PyObject *kinds = module == NULL ? NULL : PyObject_GetAttrString(module, "CreationMeta");
    PyObject *function = kinds == NULL ? NULL : PyObject_GetAttrString(module, "_set_creation_meta");
    for (int i = 0; i < KINDS && function != NULL; i++) {
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

/* The output becomes a view of `base`, if it is none yet. In a plan each view has the whole memory as its
 * base. */
static int set_base(PyObject **output, PyObject *base)
{
    if (!tensor_check_exact(*output) || Py_REFCNT(*output) != 1 || tensor_requires_grad(*output)
        || !tensor_check_exact(base) || tensor_dtype(*output) != tensor_dtype(base)
        || tensor_storage_key(*output) != tensor_storage_key(base)) {
        return 0;
    }
    PyObject *present = PyObject_GetAttrString(*output, "_base");
    if (present == NULL) {
        return -1;
    }
    Py_DECREF(present); /* the output has a reference */
    if (present == base) {
        return 0;
    }
    PyObject *view = tensor_as_view(base, tensor_ndim(*output), tensor_sizes(*output),
                                    tensor_strides(*output), tensor_storage_offset(*output));
    if (view == NULL) {
        return -1;
    }
    Py_SETREF(*output, view);
    return 0;
}

static int detach_own(PyObject **output)
{
    PyObject *detached = is_new_view(*output) ? tensor_detached(*output) : Py_NewRef(*output);
    if (detached == NULL) {
        return -1;
    }
    Py_SETREF(*output, detached);
    return 0;
}

static int set_creation_meta(PyObject *output, char kind)
{
    if (set_creation == NULL && find_creations() < 0) {
        return -1;
    }
    PyObject *done = PyObject_CallFunctionObjArgs(set_creation, output, creations[(int)kind], NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static int finish_view(PyObject **outs, int64_t i, char kind, int64_t base, bool grad_mode)
{
    if (base != NO_BASE && set_base(&outs[i], outs[base]) < 0) {
        return -1;
    }
    return grad_mode && is_new_view(outs[i]) ? set_creation_meta(outs[i], kind) : 0;
}

int finish_views(const CompiledGraph *graph, PyObject **outs, bool grad_mode)
{
    int64_t n = graph->noutputs;
    if (!PyBytes_CheckExact(graph->views) || PyBytes_GET_SIZE(graph->views) != 3 * n) {
        PyErr_Format(PyExc_TypeError, "views: expected three bytes for each output, got %R", graph->views);
        return -1;
    }
    const char *kinds = PyBytes_AS_STRING(graph->views);
    const unsigned char *bases = (const unsigned char *)kinds + n;
    for (int64_t i = 0; i < n; i++) {
        if (kinds[i] == OWN && detach_own(&outs[i]) < 0) {
            return -1;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        if (kinds[i] != NO_VIEW && kinds[i] != OWN
            && finish_view(outs, i, kinds[i], bases[2 * i] | bases[2 * i + 1] << 8, grad_mode) < 0) {
            return -1;
        }
    }
    return 0;
}
