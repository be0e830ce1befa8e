"""Function transforms of `torch.func`, each a node with its own body."""

from __future__ import annotations

import torch
import torch.nn as nn
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

from tests.capture.cases.registry import case, show


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
    show("between")
    return f(x + 1)


@case(graphs=1, ops=2)
def vmap_writes_inside(x):
    def body(a):
        b = a.clone()
        b.add_(1)
        b[0] = 2
        return b

    return vmap(body)(x)


@case(graphs=1, ops=4)
def vmap_in_chunks(x):
    return vmap(lambda a: a * 2, chunk_size=2)(x + 1) * 2


@case(graphs=1, ops=2)
def random_numbers_in_chunks(x):
    return vmap(lambda a: a + torch.rand(4), chunk_size=2, randomness="different")(x)


@case(graphs=1, ops=3)
def python_effects_in_chunks(x):
    calls = []

    def body(a):
        calls.append(1)
        return a * 2

    return vmap(body, chunk_size=2)(x + 1), len(calls)


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
        show("inside")
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


@case(graphs=1, ops=8)
def forward_mode_keeps_negative_zeros(x):
    """A factor without a tangent adds no zeros of its own."""
    made = [
        jvp(f, (x,), (x * 0,))[1] for f in (lambda a: a.cos() * x.abs(), lambda a: a.sign() - a.cos() * 2)
    ]
    return made[0].signbit(), made[1].signbit()


@case(graphs=1, ops=5)
def reverse_mode(x):
    out, pull = vjp(torch.sin, x)
    return out, pull(torch.ones_like(x))


@case(graphs=1, ops=13)
def forward_mode_of_structures(x):
    pair = jvp(lambda d: (d["a"] * 2, d["a"].sin()), ({"a": x},), ({"a": x * 3},))
    return (
        pair,
        jvp(lambda a: (a * 3, a + 1), (x,), (x,), has_aux=True),
        jvp(lambda a: 2 * a, (x,), (x,), strict=True),
    )


@case(graphs=1, ops=6)
def reverse_mode_keeps_its_graph(x):
    _, pull = vjp(torch.sin, x)
    return pull(x, retain_graph=True), pull(x * 2)


@case(graphs=2, ops=2)
def written_between_vjp_and_its_call(x):
    y = x + 1
    _, pull = vjp(torch.sin, y)
    y.mul_(2)
    return pull(x)


@case(graphs=1, ops=8)
def linear_approximation(x):
    out, push = torch.func.linearize(lambda a, b: (a * b, a.sin()), x, x + 1)
    return out, push(x, x * 2)


@case(graphs=1, ops=5)
def linearize_calls_twice(x):
    calls = []

    def body(a):
        calls.append(1)
        return a.sin()

    out, push = torch.func.linearize(body, x * 2)
    return out, push(x), len(calls)


@case(graphs=1, ops=2)
def without_writes(x):
    def body(a):
        b = a.clone()
        b.view(-1).add_(1)
        return b

    return torch.func.functionalize(body)(x)


made_outside = {
    "grad": grad(lambda a: a.sin().sum()),
    "both": grad_and_value(lambda a: a.sin().sum(), argnums=0),
    "jacrev": jacrev(torch.sin),
    "jacfwd": jacfwd(torch.sin),
    "hessian": hessian(lambda a: (a**3).sum()),
}


@case(graphs=1, ops=14)
def transforms_made_outside(x):
    first, second = made_outside["grad"](x), made_outside["both"](x)
    return first, second, [made_outside[name](x[0]) for name in ("jacrev", "jacfwd", "hessian")]


@case(graphs=1, ops=2)
def grad_mode_inside_of_a_body(x):
    def body(a):
        with torch.no_grad():
            scale = a * 2
        return (a * scale).sum()

    return grad(body)(x)


@case(graphs=2, ops=2)
def grad_mode_left_by_a_body(x):
    def body(a):
        torch._C._set_grad_enabled(False)
        return (a * 2).sum()

    try:
        return grad(body)(x + 1), x * 2
    finally:
        torch._C._set_grad_enabled(True)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(a):
        return a * a

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, tangent):
        (a,) = ctx.saved_tensors
        return tangent * 2 * a

    @staticmethod
    def jvp(ctx, tangent):
        (a,) = ctx.saved_tensors
        return tangent * 2 * a

    @staticmethod
    def vmap(info, in_dims, a):
        return Square.apply(a), in_dims[0]


@case(graphs=1, ops=10)
def custom_functions_in_bodies(x):
    each = vmap(grad(lambda a: Square.apply(a).sum()))(x)
    return vmap(Square.apply)(x), each, jvp(Square.apply, (x,), (x,)), jacrev(Square.apply)(x[0])


def weights_and_rows():
    torch.manual_seed(0)
    return {"w": torch.randn(4), "rest": (torch.randn(4),)}, torch.randn(3, 4)


@case(graphs=1, ops=2, args=weights_and_rows)
def structure_from_outside(weights, x):
    return vmap(lambda w, row: (w["w"] * row).sum() + w["rest"][0], in_dims=(None, 0))(weights, x)


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
