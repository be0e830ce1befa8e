"""Autograd in captured code: custom functions, checkpoints, functional transforms, hooks, gradients."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import torch.utils.checkpoint

from tests.capture.cases.registry import case


def leaf(*shape):
    torch.manual_seed(1)
    return torch.randn(*(shape or (3, 4)), requires_grad=True)


def one_leaf():
    return (leaf(),)


def two_leaves():
    return leaf(), torch.randn(4, 5, requires_grad=True)


def value_and_gradients(result, *leaves):
    return result.detach(), torch.autograd.grad(result.sum(), leaves)


@case(graphs=2, ops=5, args=one_leaf)
def checkpointed(x):
    def block(h):
        return torch.sin(h) * torch.cos(h)

    return value_and_gradients(torch.utils.checkpoint.checkpoint(block, x * 2, use_reentrant=False), x)


@case(graphs=2, ops=5, args=one_leaf)
def checkpointed_reentrant(x):
    def block(h):
        return torch.sin(h) * h

    return value_and_gradients(torch.utils.checkpoint.checkpoint(block, x * 2, use_reentrant=True), x)


@case(graphs=1, ops=1, args=one_leaf)
def checkpointed_reentrant_with_keywords(x):
    try:
        return torch.utils.checkpoint.checkpoint(lambda h, by=1: h * by, x, by=x, use_reentrant=True)
    except ValueError as error:
        return x + 1, str(error)


@case(graphs=1, ops=3)
def vmap_function(x):
    return torch.vmap(lambda row: row.sin().sum())(x) + 1


@case(graphs=1, ops=4)
def vmap_in_dims(x):
    return torch.func.vmap(torch.dot, in_dims=(1, 1))(x, x + 1) * 2


@case(graphs=1, ops=3)
def functional_grad(x):
    return torch.func.grad(lambda v: v.sin().sum())(x) * 2


@case(graphs=1, ops=4)
def functional_grad_of_captured_closure(x):
    y = x * 2
    return torch.func.grad(lambda v: (v * y).sum())(x) + y


@case(graphs=1, ops=4)
def functional_value_and_grad(x):
    grads, value = torch.func.grad_and_value(lambda v: (v * v).sum())(x)
    return grads + 1, value


@case(graphs=1, ops=5)
def functional_jvp(x):
    value, tangent = torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))
    return value + tangent


@case(graphs=1, ops=6)
def functional_vjp(x):
    value, pull = torch.func.vjp(torch.sin, x)
    return value, pull(torch.ones_like(x))[0] + 1


@case(graphs=1, ops=4)
def functional_jacrev(x):
    return torch.func.jacrev(torch.sin)(x[0]) + 1


@case(graphs=1, ops=4)
def functional_jacfwd(x):
    return torch.func.jacfwd(torch.sin)(x[0]) + 1


@case(graphs=1, ops=4)
def functional_hessian(x):
    return torch.func.hessian(lambda v: v.sin().sum())(x[0]) + 1


@case(graphs=1, ops=4)
def functional_per_sample_gradients(x):
    weight = torch.ones(4)
    return (
        torch.func.vmap(torch.func.grad(lambda w, row: (w * row).sum() ** 2), in_dims=(None, 0))(weight, x)
        + 1
    )


@case(graphs=1, ops=4, args=lambda: (torch.nn.Linear(4, 2), torch.ones(3, 4)))
def functional_call_of_module(model, x):
    weights = {name: p * 2 for name, p in model.named_parameters()}
    return torch.func.functional_call(model, weights, (x,)) + 1


@case(graphs=1, ops=5)
def conditional_operator(x):
    return torch.cond(x.sum() > 100, lambda v: v + 1, lambda v: v - 1, (x,)) * 2


@case(graphs=2, ops=None, args=one_leaf)
def hook_on_intermediate(x):
    y = x * 2
    y.register_hook(lambda grad: grad * 10)
    return value_and_gradients(y * 3, x)


@case(graphs=2, ops=3, args=one_leaf)
def hook_on_input(x):
    seen = []
    handle = x.register_hook(lambda grad: seen.append(grad.sum()))
    (x * 3).sum().backward()
    handle.remove()
    return seen, x.grad


@case(graphs=2, ops=3, args=one_leaf)
def backward_then_read(x):
    (x * x).sum().backward()
    return x.grad * 2


@case(graphs=1, ops=2, args=one_leaf)
def backward_twice(x):
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


@case(graphs=2, ops=5, args=one_leaf)
def grad_zeroed(x):
    (x * x).sum().backward()
    x.grad.zero_()
    (x * 2).sum().backward()
    return x.grad


@case(graphs=2, ops=3, args=one_leaf)
def grad_set_to_none(x):
    (x * x).sum().backward()
    x.grad = None
    return x * 2, x.grad


@case(graphs=1, ops=3, args=one_leaf)
def grad_written(x):
    x.grad = torch.ones_like(x) * 3
    return x.grad + 1


@case(graphs=1, ops=1, args=one_leaf)
def grad_written_wrong_shape(x):
    x.grad = torch.ones(7)
    return x


@case(graphs=3, ops=5, args=one_leaf)
def autograd_grad_inside(x):
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    return value_and_gradients(g * 2, x)


@case(graphs=2, ops=6, args=one_leaf)
def gradient_penalty(x):
    y = torch.tanh(x * 2).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    penalty = (g.norm() - 1) ** 2
    penalty.backward()
    return x.grad


@case(graphs=1, ops=2)
def requires_grad_on_input(x):
    x.requires_grad_()
    y = (x * 2).sum()
    y.backward()
    return x.grad


@case(graphs=2, ops=3)
def requires_grad_on_intermediate(x):
    y = (x * 2).requires_grad_()
    (y * y).sum().backward()
    return y.grad


@case(graphs=1, ops=4, args=one_leaf)
def requires_grad_as_it_is(x):
    y = (x * 2).requires_grad_().detach().requires_grad_(False)
    return x.requires_grad_(True) * y, (x + 1).requires_grad_(requires_grad=True)


@case(graphs=1, ops=1)
def requires_grad_within_a_transform(x):
    def f(t):
        try:
            return t.requires_grad_().sum()
        except RuntimeError:
            return (t * 3).sum()

    return x + 1, torch.func.grad(f)(x)


@case(graphs=2, ops=3)
def requires_grad_assigned(x):
    y = x * 2
    y.requires_grad = True
    return torch.autograd.grad((y * 3).sum(), y)[0]


@case(graphs=2, ops=5, args=one_leaf)
def detached(x):
    y = (x * 2).detach()
    return value_and_gradients(x * y, x)


@case(graphs=1, ops=3, args=one_leaf)
def detached_in_place(x):
    y = x * 2
    y.detach_()
    return y + 1, y.requires_grad


@case(graphs=1, ops=4, args=one_leaf)
def data_read(x):
    return x.data * 2, (x * 2).data.requires_grad


@case(graphs=1, ops=3, args=one_leaf)
def data_written_in_place(x):
    x.data.mul_(2)
    return x + 1


@case(graphs=1, ops=4, args=one_leaf)
def data_assigned(x):
    x.data = torch.ones(3, 4)
    return x + 1


@case(graphs=2, ops=7, args=one_leaf)
def no_grad_update(x):
    with torch.no_grad():
        x -= 0.1
        x.add_(1)
    return value_and_gradients(x * 2, x)


@case(graphs=1, ops=5, args=one_leaf)
def grad_mode_decorators(x):
    @torch.no_grad()
    def frozen(v):
        return v * 2

    @torch.enable_grad()
    def thawed(v):
        return v * 3

    return frozen(x).requires_grad, thawed(x).requires_grad, x + 1


@case(graphs=2, ops=3, args=one_leaf)
def retained_gradient(x):
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    return y.grad, x.grad


@case(graphs=1, ops=2)
def attribute_on_tensor(x):
    x.note = "seen"
    y = x * 2
    y.note = 3
    return y + y.note, x.note, y.note


@case(graphs=2, ops=2, args=one_leaf)
def grad_fn_name(x):
    return type((x * 2).grad_fn).__name__, x.grad_fn, x.is_leaf, (x * 2).is_leaf


@case(graphs=1, ops=2, args=one_leaf)
def whether_there_is_a_grad_fn(x):
    y = x * 2
    node = y.grad_fn
    z = y.sum() if y.grad_fn is not None and node else y
    return z, node is None, (y.grad_fn,)[0] is not None


@case(graphs=2, ops=2, args=one_leaf)
def grad_fn_that_is_used_later(x):
    node = (x * 2).grad_fn
    y = x.sin()
    return y, node.name(), node.next_functions[0][1]


@case(graphs=1, ops=2, args=one_leaf)
def saved_tensor_hooks(x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t):
        y = x * x
    return value_and_gradients(y, x)


@case(graphs=2, ops=3, args=one_leaf)
def anomaly_mode(x):
    with torch.autograd.set_detect_anomaly(False):
        y = x * 2
    return value_and_gradients(y, x)


@case(graphs=0, ops=0, args=one_leaf)
def forward_mode(x):
    import torch.autograd.forward_ad as fwAD

    with fwAD.dual_level():
        dual = fwAD.make_dual(x.detach(), torch.ones_like(x))
        return fwAD.unpack_dual(dual.sin()).tangent + 1


@case(graphs=3, ops=6, args=one_leaf)
def double_backward_of_softmax(x):
    (g,) = torch.autograd.grad(F.softmax(x, 1)[:, 0].sum(), x, create_graph=True)
    return value_and_gradients(g.square(), x)


@case(graphs=3, ops=8, args=one_leaf)
def differentiable_values_written_into_an_input(w):
    kept = torch.zeros(3, 4)
    kept.tolist()
    kept[:2] += w[1:] * 2
    return kept, kept.requires_grad, *value_and_gradients(kept, w)
