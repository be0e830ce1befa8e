"""Writes to computed places.

In:  the base, the indices and the source of a scatter operator.
Out: a buffer with a copy of the base, and the scattered store to it.

    aten.scatter_add(base, 0, index, source)
    ->  a buffer with a copy of base; Scattered(source, (index, 1), "sum") is stored to it

An index out of range fails the kernel; eager then raises its own error. Eager computes sums in half precision
itself, because it rounds each addition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from codegen.kernel.index_algebra import Index, row_major
from codegen.kernel.ops import TORCH_DTYPES
from codegen.lower.indexing import index_coordinates, spread, with_dim
from codegen.lower.nodes import strides_of
from codegen.lower.pointwise import add_lowering
from codegen.lower.promotion import as_operand
from codegen.lower.registry import lowering
from codegen.lower.scalar_math import apply, both, compare, where
from codegen.lower.tensor_expr import (
    Assignment,
    Checked,
    Gather,
    Position,
    Scattered,
    Shape,
    Stored,
    TensorExpr,
    cast,
    copy_of,
    expand,
    expands,
    fill,
    numel,
    reshape,
    size_value,
)
from codegen.lower.view import strided_slice

aten = torch.ops.aten
NOT_ADDED = ("b8", "bf16", "f16")
REDUCTIONS = {"sum": "sum", "prod": "prod", "amax": "max", "amin": "min"}


def identity(reduce: str, dtype: str) -> float | int:
    """The value that changes nothing: the start of a reduction that ignores the base."""
    torch_dtype = TORCH_DTYPES[dtype]
    if reduce in ("amax", "amin") and torch_dtype.is_floating_point:
        return -math.inf if reduce == "amax" else math.inf
    if reduce in ("amax", "amin"):
        limits = torch.iinfo(torch_dtype)
        return limits.min if reduce == "amax" else limits.max
    return 0 if reduce == "sum" else 1


def scattered(
    ctx: Any,
    base: TensorExpr,
    source: TensorExpr,
    coordinates: tuple[int | TensorExpr, ...],
    *,
    wraps: bool,
    combine: str | None = None,
    into: Shape | None = None,
) -> Any:
    """A copy of `base` with `source` written to it.

    `into`: another shape in which the row-major result is written.
    """
    if combine is not None and ctx.dtype in NOT_ADDED:
        return NotImplemented
    result = ctx.new_buffer(ctx.name, "temp", ctx.val.dtype, ctx.shape, strides_of(ctx.val))
    place = result
    if into is not None:
        if result.strides != row_major(result.shape):
            return NotImplemented
        place = Stored(into, result.dtype, result.buffer, row_major(into))
    # A copy, also if the base is computed: other readers of the base must not read memory that is about to
    # change.
    ctx.stores.append(Assignment(copy_of(reshape(cast(base, ctx.dtype), ctx.shape)), result))
    ctx.stores.append(
        Assignment(Scattered(cast(source, ctx.dtype), place.shape, coordinates, wraps, combine), place)
    )
    return result


def _along(rank: int, dim: int, place: TensorExpr) -> tuple[int | TensorExpr, ...]:
    return tuple(place if d == dim else d for d in range(rank))


def _line(ctx: Any, indices: TensorExpr, shape: Shape, dim: int) -> TensorExpr:
    """A vector of indices along `dim` of `shape`."""
    return spread(cast(reshape(indices, (shape[dim],)), "i64"), shape, (dim,))


def cut(value: TensorExpr, shape: Shape) -> TensorExpr:
    """The corner of `value` with that shape."""
    for dim, size in enumerate(shape):
        if value.shape[dim] != size:
            value = strided_slice(value, dim, 0, 1, size)
    return value


# --- one index for each element ---------------------------------------------------------------------------


def scatter(
    ctx: Any, base: TensorExpr, dim: int, indices: TensorExpr, source: Any, combine: str | None = None
) -> Any:
    into = None if base.shape else (1,)
    base, indices = with_dim(base), with_dim(indices)
    dim %= len(base.shape)
    if isinstance(source, TensorExpr):
        source = cut(with_dim(source), indices.shape)
    else:
        source = as_operand(source, ctx.dtype, indices.shape)
    coordinates = _along(len(base.shape), dim, cast(indices, "i64"))
    return scattered(ctx, base, source, coordinates, wraps=False, combine=combine, into=into)


@lowering(aten.scatter_add.default)
def scatter_add(ctx: Any, base: TensorExpr, dim: int, indices: TensorExpr, source: TensorExpr) -> Any:
    return scatter(ctx, base, dim, indices, source, "sum")


@lowering(aten.scatter_reduce.two)
def scatter_reduce(
    ctx: Any,
    base: TensorExpr,
    dim: int,
    indices: TensorExpr,
    source: TensorExpr,
    reduce: str,
    include_self: bool = True,
) -> Any:
    if reduce not in REDUCTIONS or ctx.dtype in NOT_ADDED:
        return NotImplemented
    if not include_self:
        base = scatter(ctx, base, dim, indices, identity(reduce, ctx.dtype))
    return scatter(ctx, base, dim, indices, source, REDUCTIONS[reduce])


@lowering(aten.scatter.value)
def scatter_value(ctx: Any, base: TensorExpr, dim: int, indices: TensorExpr, value: Any) -> Any:
    return _chosen(ctx, base, dim, indices, value) or scatter(ctx, base, dim, indices, value)


@lowering(aten.scatter.src)
def scatter_source(ctx: Any, base: TensorExpr, dim: int, indices: TensorExpr, source: TensorExpr) -> Any:
    whole = source.shape == indices.shape
    chosen = _chosen(ctx, base, dim, indices, source) if whole else None
    return chosen or scatter(ctx, base, dim, indices, source)


def _chosen(ctx: Any, base: TensorExpr, dim: int, indices: TensorExpr, source: Any) -> TensorExpr | None:
    """One write for each line along `dim`: every element tests whether it is the one that is written."""
    rank = len(base.shape)
    dim %= max(rank, 1)
    expected = tuple(1 if d == dim else size for d, size in enumerate(base.shape))
    if rank == 0 or indices.shape != expected:
        return None
    place = cast(indices, "i64")
    valid = both(compare("ge", place, 0), compare("lt", place, size_value(base.shape[dim], expected)))
    checked = expand(Checked(place, valid), ctx.shape)
    return where(
        compare("eq", Position(ctx.shape, dim), checked), as_operand(source, ctx.dtype, ctx.shape), base
    )


@lowering(aten.scatter.reduce, aten.scatter.value_reduce)
def scatter_with(
    ctx: Any, base: TensorExpr, dim: int, indices: TensorExpr, source: Any, *, reduce: str
) -> Any:
    return scatter(ctx, base, dim, indices, source, {"add": "sum", "multiply": "prod"}[reduce])


# --- one index for each slice -----------------------------------------------------------------------------


def _fits_the_others(shape: Sequence[Index], indices: TensorExpr, source: Sequence[Index], dim: int) -> bool:
    """Whether the source has a slice for each index, of the size of the base's, and all have elements.

    No shape rule checks it: where the sizes may be others, eager's operator does.
    """
    others = all(a == b for place, (a, b) in enumerate(zip(shape, source)) if place != dim)
    fits = len(shape) == len(source) and others and numel(indices.shape) == source[dim]
    return fits and 0 not in shape and 0 not in source


@lowering(aten.index_add.default)
def index_add(
    ctx: Any, base: TensorExpr, dim: int, indices: TensorExpr, source: TensorExpr, *, alpha: Any = 1
) -> Any:
    if ctx.dtype in NOT_ADDED:
        return NotImplemented
    into = None if base.shape else (1,)
    base, source = with_dim(base), with_dim(source)
    dim %= len(base.shape)
    if not _fits_the_others(base.shape, indices, source.shape, dim):
        return NotImplemented
    if alpha != 1:
        if isinstance(alpha, TensorExpr) or (isinstance(alpha, float) and source.dtype not in ("f32", "f64")):
            return NotImplemented
        source = apply("mul", source, alpha)
    place = _along(len(base.shape), dim, _line(ctx, indices, source.shape, dim))
    return scattered(ctx, base, source, place, wraps=False, combine="sum", into=into)


@lowering(aten.index_reduce.default)
def index_reduce(
    ctx: Any,
    base: TensorExpr,
    dim: int,
    indices: TensorExpr,
    source: TensorExpr,
    reduce: str,
    include_self: bool = True,
) -> Any:
    if reduce not in REDUCTIONS or ctx.dtype in NOT_ADDED:
        return NotImplemented
    if len(base.shape) != len(source.shape) or len(indices.shape) > 1:
        return NotImplemented  # eager raises an error
    into = None if base.shape else (1,)
    base, source = with_dim(base), with_dim(source)
    dim %= len(base.shape)
    if not _fits_the_others(base.shape, indices, source.shape, dim):
        return NotImplemented
    place = _along(len(base.shape), dim, _line(ctx, indices, source.shape, dim))
    if not include_self:
        nothing = as_operand(identity(reduce, ctx.dtype), ctx.dtype, source.shape)
        base = with_dim(scattered(ctx, base, nothing, place, wraps=False, into=into))
    return scattered(ctx, base, source, place, wraps=False, combine=REDUCTIONS[reduce], into=into)


@lowering(aten.index_copy.default)
def index_copy(ctx: Any, base: TensorExpr, dim: int, indices: TensorExpr, source: TensorExpr) -> Any:
    into = None if base.shape else (1,)
    base, source = with_dim(base), with_dim(source)
    dim %= len(base.shape)
    if not _fits_the_others(base.shape, indices, source.shape, dim):
        return NotImplemented
    place = _along(len(base.shape), dim, _line(ctx, indices, source.shape, dim))
    return scattered(ctx, base, source, place, wraps=False, into=into)


@lowering(aten.index_fill.int_Scalar, aten.index_fill.int_Tensor)
def index_fill(ctx: Any, base: TensorExpr, dim: int, indices: TensorExpr, value: Any) -> Any:
    into = None if base.shape else (1,)
    base = with_dim(base)
    dim %= len(base.shape)
    count = numel(indices.shape)
    shape = tuple(count if d == dim else size for d, size in enumerate(base.shape))
    source = as_operand(value, ctx.dtype, shape)
    place = _along(len(base.shape), dim, _line(ctx, indices, shape, dim))
    return scattered(ctx, base, source, place, wraps=True, into=into)


@lowering(aten.embedding_dense_backward.default)
def embedding_backward(
    ctx: Any, grad: TensorExpr, indices: TensorExpr, count: Any, padding: int, by_frequency: bool
) -> Any:
    if by_frequency:
        return NotImplemented
    rows = spread(cast(indices, "i64"), grad.shape, range(len(indices.shape)))
    source = grad if padding < 0 else where(compare("eq", rows, padding), 0, grad)
    flat = (numel(indices.shape), ctx.shape[1])
    base = fill(ctx.shape, ctx.dtype, 0)
    return scattered(ctx, base, reshape(source, flat), (reshape(rows, flat), 1), wraps=False, combine="sum")


# --- several indices --------------------------------------------------------------------------------------


@lowering(aten.index_put.default, aten._unsafe_index_put.default)
def index_put(
    ctx: Any,
    base: TensorExpr,
    indices: Sequence[TensorExpr | None],
    values: TensorExpr,
    accumulate: bool = False,
) -> Any:
    found = index_coordinates(base.shape, indices)
    if found is None:
        return _masked_put(ctx, base, indices, values, accumulate)
    shape, coordinates = found
    if not expands(values.shape, shape):
        return NotImplemented  # eager raises an error
    return scattered(
        ctx, base, expand(values, shape), coordinates, wraps=True, combine="sum" if accumulate else None
    )


def _masked_put(
    ctx: Any, base: TensorExpr, indices: Sequence[TensorExpr | None], values: TensorExpr, accumulate: bool
) -> Any:
    """Writes one number to the places where a mask over leading dims is true."""
    (mask, *others) = indices
    if mask is None or others or mask.dtype != "b8" or numel(values.shape) != 1:
        return NotImplemented
    wanted = spread(mask, ctx.shape, range(len(mask.shape)))
    value = as_operand(reshape(values, ()), ctx.dtype, ctx.shape)
    return where(wanted, add_lowering(ctx, base, value) if accumulate else value, base)


@lowering(aten.take.default)
def take(ctx: Any, base: TensorExpr, indices: TensorExpr) -> Any:
    flat = reshape(base, (numel(base.shape),))
    return Gather(flat, ctx.shape, (cast(indices, "i64"),), wraps=True)


@lowering(aten.put.default)
def put(ctx: Any, base: TensorExpr, indices: TensorExpr, source: TensorExpr, accumulate: bool = False) -> Any:
    count: Index = numel(indices.shape)
    if numel(source.shape) != count:
        return NotImplemented  # eager raises an error, which no shape rule does
    place = cast(reshape(indices, (count,)), "i64")
    flat = reshape(source, (count,))
    into = (numel(ctx.shape),)
    return scattered(ctx, base, flat, (place,), wraps=True, combine="sum" if accumulate else None, into=into)
