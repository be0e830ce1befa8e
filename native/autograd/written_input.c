/* The place of an input in autograd's graph after a graph wrote to it.
 *
 * In:  an input without a gradient of its own, and the result that it becomes.
 * Out: gradients of the input are those of the result, as in eager.
 *
 *     def f(x, w): w.copy_(x * 2); return w.sin()        w is in the place of x * 2, and leads on to x
 */
#include "autograd/autograd_node.h"

#include "tensors/tensor_access.h"
#include "tensors/torch_symbols.h"

/* False for views, whose history torch makes from that of their base, and for inference tensors, which eager
 * does not let the program write. */
static bool may_take_place(PyObject *target, PyObject *result)
{
    char *meta = TENSOR_FIELD(TENSOR_IMPL(target), tensor_offsets.autograd_meta, char *);
    bool is_simple = meta == NULL || (*(void **)meta == plain_meta && !has_forward_grad(target));
    bool has_grads = (tensor_dispatch_keys(target) & torch_symbols.grad_keys) == torch_symbols.grad_keys;
    return is_simple && has_grads && !tensor_requires_grad(target) && tensor_requires_grad(result)
           && !has_forward_grad(result);
}

static PyObject *take_place(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !tensor_check(args[0]) || !tensor_check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "expected two tensors");
        return NULL;
    }
    int ready = autograd_layout_ready();
    if (ready < 0) {
        return NULL;
    }
    if (ready == 0 || !may_take_place(args[0], args[1])) {
        Py_RETURN_FALSE;
    }
    Edge edge = {NULL, 0};
    autograd_symbols.gradient_edge(&edge, tensor_handle(args[1]));
    autograd_symbols.set_gradient_edge(tensor_handle(args[0]), &edge);
    Py_RETURN_TRUE;
}

static PyMethodDef methods[] = {
    {"take_place", (PyCFunction)(void (*)(void))take_place, METH_FASTCALL,
     "take_place(target, result): gives the target the result's place in autograd's graph; False where it "
     "can't."},
    {NULL, NULL, 0, NULL},
};

int init_written_input(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
