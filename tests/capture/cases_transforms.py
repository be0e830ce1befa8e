"""Cases: function transforms of `torch.func`, each one node on a body of its own."""

from __future__ import annotations

import torch
import torch.nn as nn
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

from tests.capture.registry import case


@case(graphs=1, ops=2)
def vmap_of_lambda(x):
    return vmap(lambda row: row.sum() * 2)(x)


@case(graphs=1, ops=7)
def vmap_with_dims(x):
    scale = torch.ones(3)
    columns = vmap(lambda a: a * scale + a.sum(), in_dims=1, out_dims=1)(x)
    return columns, vmap(lambda a, b: (a + b, {"k": a - b}), in_dims=(0, None))(x, x[0])


@case(graphs=1, ops=2)
def vmap_nested(x):
    return vmap(vmap(lambda a: a * 2 + 1))(x)


@case(graphs=1, ops=2)
def vmap_with_random_numbers(x):
    return vmap(lambda a: a + torch.randn(4), randomness="different")(x)


doubled = vmap(lambda row: row.cos().sum())


@case(graphs=1, ops=3)
def vmap_made_outside(x):
    return doubled(x) + 1


@case(graphs=1, ops=3)
def vmap_crosses_a_break(x):
    f = vmap(torch.sin)
    print("between")
    return f(x + 1)


@case(graphs=1, ops=2)
def vmap_writes_inside(x):
    def body(a):
        b = a.clone()
        b.add_(1)
        b[0] = 2
        return b

    return vmap(body)(x)


@case(graphs=2, ops=2)
def vmap_in_chunks(x):
    return vmap(lambda a: a * 2, chunk_size=2)(x + 1) * 2


@case(graphs=1, ops=3)
def function_with_python_effects(x):
    calls = []

    def body(a):
        calls.append(a.shape)
        return a * 3

    return vmap(body)(x) + len(calls), calls


@case(graphs=1, ops=2)
def tensor_kept_by_a_body(x):
    kept = []

    def body(a):
        kept.append(a * 2)
        return a * 3

    return vmap(body)(x), len(kept)


@case(graphs=2, ops=2)
def print_in_a_body(x):
    def body(a):
        print("inside")
        return a * 3

    return vmap(body)(x * 2) + 1


@case(graphs=1, ops=2)
def gradient(x):
    return grad(lambda a: (a * a).sum())(x)


@case(graphs=1, ops=10)
def gradients(x):
    several = grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, x * 2)
    with_aux = grad(lambda a: ((a * a).sum(), a * 3), has_aux=True)(x)
    return several, with_aux, grad_and_value(lambda a: (a * a).sum())(x)


@case(graphs=1, ops=2)
def gradient_of_gradient(x):
    return grad(lambda y: grad(lambda a: (a**3).sum())(y).sum())(x)


@case(graphs=1, ops=4)
def gradient_with_free_tensors(x):
    weight = torch.ones(4) * 2
    return grad(lambda w: (x @ w).pow(2).mean())(weight)


@case(graphs=1, ops=7)
def gradient_for_each_row(x):
    w = x.sum(0)
    return vmap(grad(lambda a: (a * w).sum()))(x) + w[0], vmap(lambda a: a * w)(x)


def needs_grad():
    torch.manual_seed(0)
    return (torch.randn(3, 4, requires_grad=True),)


@case(graphs=1, ops=3, args=needs_grad)
def gradient_that_autograd_follows(x):
    return grad(lambda a: (a**3).sum())(x).sum()


@case(graphs=1, ops=4)
def forward_mode(x):
    return jvp(torch.sin, (x,), (torch.ones_like(x),))


@case(graphs=1, ops=5)
def reverse_mode(x):
    out, pull = vjp(torch.sin, x)
    return out, pull(torch.ones_like(x))


@case(graphs=1, ops=11)
def jacobians(x):
    both = jacrev(lambda a, b: a * b, argnums=(0, 1))(x[0], x[1])
    return both, jacfwd(torch.sin)(x[0]), hessian(lambda a: (a**3).sum())(x[0])


def linear():
    torch.manual_seed(0)
    return nn.Linear(4, 2), torch.randn(3, 4)


@case(graphs=1, ops=5, args=linear)
def per_sample_gradients(model, x):
    params = {name: p.detach() for name, p in model.named_parameters()}

    def loss(params, sample):
        return functional_call(model, params, (sample.unsqueeze(0),)).pow(2).sum()

    return vmap(grad(loss), in_dims=(None, 0))(params, x)


@case(graphs=2, ops=3)
def error_of_a_transform(x):
    y = x + 1
    try:
        return vmap(lambda a, b: a + b)(x, y[0])
    except ValueError as error:
        return y * 2, type(error)
