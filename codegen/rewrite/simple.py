"""Operators that are a few simpler ones, where torch has no rule or a rule that is not exact.

In:  a call of such an operator.
Out: calls of simpler operators with eager's result.

    angle(x)   ->   where(isnan(x), x, where(x < 0, pi, 0))
"""

from __future__ import annotations

import math
from typing import Any

import torch

from codegen.rewrite.rows import HALF, WIDE, replacing, rewriting

aten = torch.ops.aten
FLOATS = WIDE + HALF
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
NUMBERS = FLOATS + INTEGERS


@rewriting(aten.angle.default, dtypes=WIDE, any_size=True)
def angle(tensor: torch.Tensor) -> torch.Tensor:
    angles = aten.mul(aten.to(aten.lt(tensor, 0), tensor.dtype), math.pi)
    return aten.where(aten.isnan(tensor), tensor, angles)


# --- standard deviations: exactly 0 for equal numbers, because the gradient compares them with 0 ----------


def from_the_first(tensor: torch.Tensor, dims: list[int] | None) -> torch.Tensor:
    """The differences from the first number of each reduced group. They are 0 where the numbers are equal."""
    first = tensor
    for dim in dims or range(tensor.dim()):
        first = aten.slice(first, dim, 0, 1)
    return aten.sub(tensor, first)


@rewriting(aten.std.correction, dtypes=WIDE)
def std(
    tensor: torch.Tensor, dim: list[int] | None = None, *, correction: Any = None, keepdim: bool = False
) -> Any:
    return aten.sqrt(aten.var(from_the_first(tensor, dim), dim, correction=correction, keepdim=keepdim))


@rewriting(aten.std_mean.correction, dtypes=WIDE)
def std_mean(
    tensor: torch.Tensor, dim: list[int] | None = None, *, correction: Any = None, keepdim: bool = False
) -> Any:
    deviation = aten.std(tensor, dim, correction=correction, keepdim=keepdim)
    return deviation, aten.mean(tensor, dim, keepdim)


@rewriting(aten.aminmax.default, dtypes=(*NUMBERS, torch.bool), any_size=True)
def aminmax(tensor: torch.Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    dims = [] if dim is None else [dim]
    return aten.amin(tensor, dims, keepdim), aten.amax(tensor, dims, keepdim)


@rewriting(aten.round.decimals, dtypes=WIDE, any_size=True)
def round_to(tensor: torch.Tensor, *, decimals: int) -> torch.Tensor:
    scale = 10.0 ** abs(decimals)
    if decimals == 0:
        return aten.round(tensor)
    if decimals > 0:
        return aten.div(aten.round(aten.mul(tensor, scale)), scale)
    return aten.mul(aten.round(aten.div(tensor, scale)), scale)


@rewriting(aten.ldexp.Tensor, dtypes=(torch.float32,), any_size=True)
def ldexp(tensor: torch.Tensor, exponent: torch.Tensor) -> Any:
    """Computes in float64, where the product is exact. Clamped exponents give 0 or infinity, too."""
    if exponent.dtype not in INTEGERS:
        return NotImplemented
    power = aten.exp2(aten._to_copy(aten.clamp(exponent, -400, 400), dtype=torch.float64))
    return aten._to_copy(aten.mul(aten._to_copy(tensor, dtype=torch.float64), power), dtype=torch.float32)


@rewriting(aten.softshrink.default, dtypes=FLOATS, any_size=True)
def softshrink(tensor: torch.Tensor, limit: Any = 0.5) -> Any:
    """Computes in float32 also for half precision, as eager does. Eager refuses a negative limit."""
    if not 0 <= limit <= torch.finfo(tensor.dtype).max:
        return NotImplemented
    value = aten._to_copy(tensor, dtype=torch.float32) if tensor.dtype in HALF else tensor
    inside = aten.where(aten.isnan(value), value, 0.0)
    below = aten.where(aten.lt(value, -limit), aten.add(value, limit), inside)
    result = aten.where(aten.gt(value, limit), aten.sub(value, limit), below)
    return aten._to_copy(result, dtype=tensor.dtype) if tensor.dtype in HALF else result


@rewriting(aten.softshrink_backward.default, aten.hardshrink_backward.default, dtypes=FLOATS, any_size=True)
def shrink_backward(grad: torch.Tensor, tensor: torch.Tensor, limit: Any) -> torch.Tensor:
    inside = aten.logical_and(aten.ge(tensor, -limit), aten.le(tensor, limit))
    return aten.where(inside, 0.0, grad)


@rewriting(aten.dot.default, dtypes=WIDE, any_size=True)
def dot(left: torch.Tensor, right: torch.Tensor) -> Any:
    if left.dtype is not right.dtype or left.shape != right.shape or left.dim() != 1:
        return NotImplemented
    return aten.sum(aten.mul(left, right))


@rewriting(aten.dist.default, dtypes=WIDE, any_size=True)
def dist(left: torch.Tensor, right: torch.Tensor, p: Any = 2) -> torch.Tensor:
    return aten.norm(aten.sub(left, right), p)


@rewriting(aten._trilinear.default, dtypes=WIDE, any_size=True)
def trilinear(
    first: torch.Tensor,
    second: torch.Tensor,
    third: torch.Tensor,
    expand1: list[int],
    expand2: list[int],
    expand3: list[int],
    sumdim: list[int],
    unroll_dim: int = 1,
) -> torch.Tensor:
    operands = []
    for tensor, dims in ((first, expand1), (second, expand2), (third, expand3)):
        for dim in dims:
            tensor = aten.unsqueeze(tensor, dim)
        operands.append(tensor)
    product = aten.mul(aten.mul(operands[0], operands[2]), operands[1])
    return aten.sum(product, sumdim) if sumdim else product


# --- diagonals --------------------------------------------------------------------------------------------


@rewriting(aten.diagonal_copy.default, dtypes=(*NUMBERS, torch.bool), any_size=True)
def diagonal_copy(tensor: torch.Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> torch.Tensor:
    return aten.clone(aten.diagonal(tensor, offset, dim1, dim2), memory_format=torch.contiguous_format)


# --- unpooling: each value goes to the place that its index names -----------------------------------------


def unpool(tensor: torch.Tensor, indices: torch.Tensor, output_size: list[int]) -> Any:
    rank = len(output_size)
    if indices.shape != tensor.shape or tensor.dim() not in (rank + 1, rank + 2):
        return NotImplemented
    planes, places = math.prod(tensor.shape[:-rank]), math.prod(output_size)
    zeros = aten.new_zeros(tensor, [planes, places])
    flat = [aten.reshape(value, [planes, -1]) for value in (tensor, indices)]
    result = aten.reshape(aten.scatter(zeros, 1, flat[1], flat[0]), [*tensor.shape[:-rank], *output_size])
    channels_last = tensor.dim() == 4 and not tensor.is_contiguous()
    if channels_last and tensor.is_contiguous(memory_format=torch.channels_last):
        return aten.clone(result, memory_format=torch.channels_last)
    return result


@rewriting(aten.max_unpool2d.default, dtypes=WIDE)
def max_unpool2d(tensor: torch.Tensor, indices: torch.Tensor, output_size: list[int]) -> Any:
    return unpool(tensor, indices, output_size)


@rewriting(aten.max_unpool3d.default, dtypes=WIDE)
def max_unpool3d(
    tensor: torch.Tensor, indices: torch.Tensor, output_size: list[int], stride: list[int], padding: list[int]
) -> Any:
    return unpool(tensor, indices, output_size)


# --- pieces -----------------------------------------------------------------------------------------------


@rewriting(aten.unsafe_split.Tensor, dtypes=(*NUMBERS, torch.bool), any_size=True)
def unsafe_split(tensor: torch.Tensor, size: int, dim: int = 0) -> Any:
    return aten.split(tensor, size, dim)


@rewriting(aten.unsafe_split_with_sizes.default, dtypes=(*NUMBERS, torch.bool), any_size=True)
def unsafe_split_with_sizes(tensor: torch.Tensor, sizes: list[int], dim: int = 0) -> Any:
    return aten.split_with_sizes(tensor, sizes, dim)


# --- scattered reductions: sums, and means as sums divided by counts --------------------------------------


def _mean(total: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Where the count is 0, nothing was added, and the total is the mean."""
    return aten.div(total, aten.where(aten.eq(counts, 0), 1.0, counts))


@rewriting(aten.scatter_reduce.two, any_size=True)
def scatter_reduce(
    tensor: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    source: torch.Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Any:
    if reduce not in ("sum", "mean") or source.dtype is not tensor.dtype or index.numel() == 0:
        return NotImplemented
    base = tensor if include_self else aten.scatter(tensor, dim, index, 0)
    total = aten.scatter_add(base, dim, index, source)
    if reduce == "sum":
        return total
    ones = aten.ones_like(tensor) if include_self else aten.zeros_like(tensor)
    counts = aten.scatter_add(ones, dim, index, aten.ones_like(source))
    return _mean(total, counts)


@rewriting(aten.index_reduce.default, any_size=True)
def index_reduce(
    tensor: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    source: torch.Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Any:
    if reduce != "mean" or source.dtype is not tensor.dtype or index.numel() == 0:
        return NotImplemented
    base = tensor if include_self else aten.index_fill(tensor, dim, index, 0)
    total = aten.index_add(base, dim, index, source)
    ones = aten.ones_like(tensor) if include_self else aten.zeros_like(tensor)
    counts = aten.index_add(ones, dim, index, aten.ones_like(source))
    return _mean(total, counts)


@replacing("fill_diagonal_", torch.Tensor.fill_diagonal_)
def fill_diagonal_(x: torch.Tensor, value: Any, wrap: bool = False) -> Any:
    """torch takes the diagonal by as_strided, at an offset from the start of the memory."""
    if x.dim() != 2 or wrap or isinstance(value, torch.Tensor):
        return NotImplemented
    x.diagonal().fill_(value)
    return x
