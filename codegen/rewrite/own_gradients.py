"""Functions whose gradient looks at values in eager: to choose a formula, or to raise an error.

In:  a call of the graph on fake tensors. They have no values, so torch would choose the most general formula.
Out: the same call, with a gradient that computes both formulas and chooses where eager chooses.

    max(x)    ->   the gradient is written to the largest elements, and not multiplied with a mask
    prod(x)   ->   the gradient is grad * (prod / x) where no x is 0 (so NaN where x is NaN), else grad * the
                   product of the other elements

The second derivative of scattered products looks at values, too: eager runs such a graph.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.autograd import forward_ad

from codegen.kernel.errors import UntraceableError
from codegen.rewrite.rows import replacing


class Product(torch.autograd.Function):
    """The product of all elements (`dim` None) or along a dim."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, dim: int | None, keepdim: bool) -> torch.Tensor:
        result = torch.prod(tensor) if dim is None else torch.prod(tensor, dim, keepdim)
        ctx.save_for_backward(tensor, result)
        ctx.dim = dim
        ctx.keepdim = keepdim
        return result

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        tensor, result = ctx.saved_tensors
        (grad,) = grads
        if ctx.dim is not None and not ctx.keepdim:
            grad, result = grad.unsqueeze(ctx.dim), result.unsqueeze(ctx.dim)
        if tensor.numel() == 0:  # there are no other elements to multiply; only the layout counts
            return grad * (result / tensor), None, None
        if ctx.dim is not None:
            return of_product(grad, tensor, result, ctx.dim), None, None
        flat = of_product(grad, tensor.reshape(-1), result, 0)
        several = (tensor == 0).sum() > 1
        return flat.view_as(tensor).masked_fill(several, 0), None, None


def of_product(grad: torch.Tensor, tensor: torch.Tensor, result: torch.Tensor, dim: int) -> torch.Tensor:
    """The formula that is not chosen gets ones in place of the tensor: its own derivatives stay finite.

    The layout is that of the division.
    """
    has_none = (tensor != 0).all()
    by_division = grad * (result / torch.where(has_none, tensor, 1.0))
    of_others = grad * product_of_others(tensor.masked_fill(has_none, 1), dim)
    return torch.where(has_none, by_division, of_others)


def product_of_others(tensor: torch.Tensor, dim: int) -> torch.Tensor:
    count = tensor.shape[dim]
    if count == 1:
        return torch.ones_like(tensor)
    ones = torch.ones_like(tensor.narrow(dim, 0, 1))
    before = torch.cat((ones, tensor.narrow(dim, 0, count - 1)), dim).cumprod(dim)
    behind = torch.cat((ones, tensor.narrow(dim, 1, count - 1).flip(dim)), dim).cumprod(dim).flip(dim)
    return before * behind


#: skips `torch.autograd.Function.apply`, whose checks are for functorch
product = super(torch.autograd.Function, Product).apply


@replacing(torch.prod, "prod")
def prod(*operands: Any, **kwargs: Any) -> Any:
    """`torch.prod(tensor, ...)`"""
    if not operands:
        return NotImplemented
    tensor, *args = operands
    dims, options = [*args], dict(kwargs)
    dim = dims[0] if dims else options.pop("dim", None)
    keepdim = dims[1] if len(dims) > 1 else options.pop("keepdim", False)
    if isinstance(dim, torch.SymInt):
        dim = int(dim)  # torch's own operator makes it a constant, too
    dtype = options.pop("dtype", None) or tensor.dtype
    usual = (
        not options
        and (tensor.requires_grad and torch.is_grad_enabled())
        and dtype.is_floating_point
        and tensor.dtype.is_floating_point
        and tensor.dim() > 0
        and (dim is None or (type(dim) is int and -tensor.dim() <= dim < tensor.dim()))
        and forward_ad._current_level < 0
    )
    return product(tensor.to(dtype), dim, keepdim) if usual else torch.prod(tensor, *args, **kwargs)


class Chosen(torch.autograd.Function):
    """One of the elements. The gradient goes to all that are equal to it, in equal parts."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, choose: Callable[..., Any]) -> torch.Tensor:
        result: torch.Tensor = choose(tensor)
        ctx.save_for_backward(tensor, result)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        tensor, result = ctx.saved_tensors
        (grad,) = grads
        are_chosen = (tensor == result) | (tensor.isnan() & result.isnan())
        share = grad / are_chosen.sum()
        return grad.new_zeros(tensor.shape).masked_fill(are_chosen, share), None


chosen = super(torch.autograd.Function, Chosen).apply


def chosen_of_all(function: Callable[..., Any], *operands: Any, **kwargs: Any) -> Any:
    """`torch.max(x)`, `torch.median(x)`. For fake tensors torch multiplies a mask with the gradient:
    a gradient that is infinite gives NaN beside it.
    """
    is_of_all = len(operands) == 1 and not kwargs and isinstance(operands[0], torch.Tensor)
    learns = is_of_all and operands[0].requires_grad and torch.is_grad_enabled()
    if not learns or forward_ad._current_level >= 0:
        return function(*operands, **kwargs)
    return chosen(operands[0], function)


def scattered(function: Callable[..., Any], *operands: Any, **kwargs: Any) -> Any:
    """`torch.scatter_reduce(tensor, dim, index, src, reduce)` and similar functions"""
    if not operands:
        return NotImplemented
    tensor, *args = operands
    reduce = args[3] if len(args) > 3 else kwargs.get("reduce")
    source = args[2] if len(args) > 2 else kwargs.get("src", kwargs.get("source"))
    learns = tensor.requires_grad or (isinstance(source, torch.Tensor) and source.requires_grad)
    if reduce == "prod" and learns and torch.is_grad_enabled():
        raise UntraceableError(
            f"the second derivative of {function.__name__} with products depends on values"
        )
    return function(tensor, *args, **kwargs)


ILL_DEFINED = (
    "{0}_backward: The {1} in the complex case are specified up to multiplication by e^{{i phi}}. "
    "The specified loss function depends on this quantity, so it is ill-defined."
)


class Eigenvectors(torch.autograd.Function):
    """Returns the same vectors; raises where a gradient depends on their phases."""

    @staticmethod
    def forward(ctx: Any, vectors: torch.Tensor, name: str) -> torch.Tensor:
        ctx.save_for_backward(vectors)
        ctx.name = name
        # `view_as` may change the strides of dims of size 1
        return torch.ops.aten.alias.default(vectors)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        (vectors,), (grad,) = ctx.saved_tensors, grads
        phases = (vectors.detach().conj() * grad.detach()).sum(-2).imag
        text = ILL_DEFINED.format(ctx.name, "eigenvectors")
        torch.ops.aten._assert_async.msg((phases.abs() <= 1e-2).all(), text)
        return grad, None


eigenvectors = super(torch.autograd.Function, Eigenvectors).apply


def decomposed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`torch.linalg.eig(x)`, `torch.linalg.eigh(x)`"""
    made = function(*args, **kwargs)
    values, vectors = made
    if not (vectors.is_complex() and vectors.requires_grad and "out" not in kwargs and vectors.numel()):
        return made
    return type(made)((values, eigenvectors(vectors, function.__name__)))


SCATTERED: dict[Any, Callable[..., Any]] = {
    torch.scatter_reduce: torch.scatter_reduce,
    torch.index_reduce: torch.index_reduce,
    **{
        name: getattr(torch.Tensor, name)
        for name in ("scatter_reduce", "scatter_reduce_", "index_reduce", "index_reduce_")
    },
}
for target, function in SCATTERED.items():
    replacing(target)(partial(scattered, function))
for name in ("max", "min", "median", "nanmedian"):
    function = getattr(torch, name)
    replacing(function, name)(partial(chosen_of_all, function))
for function in (torch.linalg.eig, torch.linalg.eigh):
    replacing(function)(partial(decomposed, function))
