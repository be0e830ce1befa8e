"""Function transforms and loops of torch on changing sizes (see dynamic_registry).

Jacobians fix the sizes: their basis is made of numbers.
"""

from __future__ import annotations

import torch
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as map_slices
from torch._higher_order_ops.scan import scan
from torch.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

from tests.capture.cases.sizes.dynamic_registry import calls, rows, tensor

VECTORS = [(tensor(n) - 0.5,) for n in (3, 5, 2)]


@calls(rows(2, 3, 5), graphs=1)
def gradients(x):
    y = x + 1
    return grad(lambda a: (a.sin() * y).sum())(x)


@calls(rows(2, 3, 5), graphs=1)
def mapped(x):
    return vmap(lambda row: row * row.shape[0], out_dims=1)(x), vmap(vmap(torch.sin))(x)


@calls(rows(2, 3, 5), graphs=1)
def products_of_jacobians(x):
    out, pull = vjp(torch.sin, x)
    approximated, push = linearize(torch.cos, x)
    return out, pull(x), jvp(torch.sin, (x,), (x * 2,)), approximated, push(x)


@calls(VECTORS, graphs=3)
def jacobians(x):
    return jacrev(torch.sin)(x), jacfwd(torch.sin)(x), hessian(lambda a: (a**3).sum())(x), x + 1


@calls(rows(2, 3, 5), graphs=1)
def branches_that_read_sizes(x):
    size = x.shape[0]
    return torch.cond(x.sum() > 1, lambda a: a * size, lambda a: a - size + a.shape[0], (x,))


@calls(rows(2, 3, 5), graphs=1)
def a_scan(x):
    return scan(
        lambda carry, row: (carry + row, {"k": carry * row}), torch.zeros(x.shape[1]), x, reverse=True
    )


@calls([(tensor(4, n),) for n in (2, 3, 5)], graphs=1)
def a_scan_over_columns(x):
    return scan(lambda carry, row: (carry + row, carry * row), torch.zeros(x.shape[0]), x, dim=1)


@calls([(tensor(n, 4).requires_grad_(),) for n in (2, 3, 5)], graphs=1)
def a_scan_of_gradients(x):
    return scan(lambda carry, row: (carry + row, carry * 2), torch.zeros(4), x)


@calls(rows(2, 3, 5), graphs=1)
def an_associative_scan(x):
    return associative_scan(lambda a, b: a + b, x.round(), 0, combine_mode="generic")


@calls(rows(2, 3, 5), graphs=1)
def mapped_slices(x):
    size = x.shape[0]
    return map_slices(lambda row: (row * size, row.sum()), x)


class OfSizes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.count = x.shape[0] * 2 + n
        result = x.sin()
        ctx.save_for_backward(result)
        return result * ctx.count

    @staticmethod
    def backward(ctx, grad):
        (result,) = ctx.saved_tensors
        return grad * result * ctx.count + result.shape[1], None


@calls([(tensor(n, 4).requires_grad_(),) for n in (2, 3, 5)], graphs=1)
def sizes_in_autograd_functions(x):
    y = OfSizes.apply(x, x.shape[0])
    return y, y.sum()
