"""Reductions.

In:  the operands of a reduction, the reduced dims.
Out: the definition of its result.

    aten.mean.dim(x, [1])  ->  Map("div", (Reduce("sum", x, (1,)), Fill(n)))

Sums of integers and bools are i64. Sums of bf16 and f16 accumulate in f32 and are rounded once, as in eager.
Variances take two passes (mean, then squared deviations), which is as exact as eager's running update.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from codegen.kernel.index_algebra import Index, minus
from codegen.lower.nodes import sizes_of
from codegen.lower.one_hot import one_hot_sum
from codegen.lower.promotion import compute_dtype, is_float
from codegen.lower.registry import lowering
from codegen.lower.scalar_math import apply, mul, nonzero, sub
from codegen.lower.tensor_expr import (
    Reduce,
    SizeValue,
    TensorExpr,
    cast,
    copy_of,
    expand,
    fill,
    numel,
    reshape,
)
from codegen.lower.whole_reduction import reduce_whole

aten = torch.ops.aten


def reduced_dims(rank: int, dims: Any) -> tuple[int, ...]:
    """Dimensions in ascending order; None and an empty list mean all of them."""
    if isinstance(dims, int):
        dims = [dims]
    if not dims:
        return tuple(range(rank))
    return tuple(sorted({dim % max(rank, 1) for dim in dims})) if rank else ()


def reduce(combine: str, value: TensorExpr, dims: tuple[int, ...]) -> TensorExpr:
    """A reduction; over no dimension (a zero-dimensional tensor) it is a reduction over one element."""
    if combine == "sum" and is_float(value.dtype) and all(value.shape[dim] == 1 for dim in dims):
        rest = tuple(size for dim, size in enumerate(value.shape) if dim not in dims)
        return apply("add", reshape(value, rest), 0.0)  # sums begin with 0.0: they are never -0.0
    if not value.shape:
        return Reduce(combine, reshape(value, (1,)), (0,))
    if combine == "sum" and len(dims) == 1 and (of_row := one_hot_sum(value, dims[0])) is not None:
        return of_row
    if len(dims) == len(value.shape) and not combine.startswith("arg"):
        return reduce_whole(combine, value)
    return Reduce(combine, value, dims)


def keep_dims(value: TensorExpr, full: tuple[Index, ...], dims: tuple[int, ...]) -> TensorExpr:
    """`value`, which was reduced over `dims` of `full`, with sizes of 1 in their places."""
    return reshape(value, tuple(1 if dim in dims else size for dim, size in enumerate(full)))


def count(shape: tuple[Index, ...], dims: tuple[int, ...]) -> Index:
    return numel(tuple(shape[dim] for dim in dims))


def _number(value: Index, shape: tuple[Index, ...], dtype: str) -> TensorExpr:
    if isinstance(value, int):
        return fill(shape, dtype, value)
    return expand(cast(SizeValue(value), dtype), shape)


def _finish(ctx: Any, value: TensorExpr) -> TensorExpr:
    return cast(reshape(value, ctx.shape), ctx.dtype)


@lowering(aten.sum.default, aten.sum.dim_IntList)
def sum_lowering(
    ctx: Any, value: TensorExpr, dims: Any = None, keepdim: bool = False, dtype: Any = None
) -> TensorExpr:
    source = cast(cast(value, ctx.dtype) if dtype is not None else value, compute_dtype(ctx.dtype))
    return _finish(ctx, reduce("sum", source, reduced_dims(len(value.shape), dims)))


@lowering(aten.mean.default, aten.mean.dim)
def mean(
    ctx: Any, value: TensorExpr, dims: Any = None, keepdim: bool = False, dtype: Any = None
) -> TensorExpr:
    source = cast(cast(value, ctx.dtype) if dtype is not None else value, compute_dtype(ctx.dtype))
    axes = reduced_dims(len(value.shape), dims)
    total = reduce("sum", source, axes)
    return _finish(ctx, apply("div", total, _number(count(value.shape, axes), total.shape, total.dtype)))


@lowering(aten.prod.default)
def prod(ctx: Any, value: TensorExpr, dtype: Any = None) -> TensorExpr:
    return prod_dim(ctx, value, None)


@lowering(aten.prod.dim_int)
def prod_dim(ctx: Any, value: TensorExpr, dim: Any, keepdim: bool = False, dtype: Any = None) -> TensorExpr:
    source = cast(value, compute_dtype(ctx.dtype))
    return _finish(ctx, reduce("prod", source, reduced_dims(len(value.shape), dim)))


def _extreme(combine: str, ctx: Any, value: TensorExpr, dims: Any) -> TensorExpr:
    if value.dtype == "b8":
        combine = {"max": "any", "min": "all"}[combine]
    source = cast(value, compute_dtype(value.dtype))
    return reduce(combine, source, reduced_dims(len(value.shape), dims))


@lowering(aten.amax.default)
def amax(ctx: Any, value: TensorExpr, dims: Any = (), keepdim: bool = False) -> TensorExpr:
    return _finish(ctx, _extreme("max", ctx, value, dims))


@lowering(aten.amin.default)
def amin(ctx: Any, value: TensorExpr, dims: Any = (), keepdim: bool = False) -> TensorExpr:
    return _finish(ctx, _extreme("min", ctx, value, dims))


@lowering(aten.max.default)
def max_all(ctx: Any, value: TensorExpr) -> TensorExpr:
    return _finish(ctx, _extreme("max", ctx, value, None))


@lowering(aten.min.default)
def min_all(ctx: Any, value: TensorExpr) -> TensorExpr:
    return _finish(ctx, _extreme("min", ctx, value, None))


def _position(combine: str, value: TensorExpr, dims: tuple[int, ...]) -> TensorExpr:
    if not value.shape:
        return fill((), "i64", 0)
    source = cast(value, "u8" if value.dtype == "b8" else compute_dtype(value.dtype))
    return reduce("arg" + combine, source, dims)


def _with_indices(combine: str, ctx: Any, value: TensorExpr, dim: int) -> tuple[TensorExpr, TensorExpr]:
    if not value.shape:
        return copy_of(value), _position(combine, value, ())
    dims = reduced_dims(len(value.shape), dim)
    shape = sizes_of(ctx.val[0])
    values = cast(_extreme(combine, ctx, value, dims), value.dtype)
    return reshape(values, shape), reshape(_position(combine, value, dims), shape)


@lowering(aten.max.dim)
def max_dim(ctx: Any, value: TensorExpr, dim: int, keepdim: bool = False) -> tuple[TensorExpr, TensorExpr]:
    return _with_indices("max", ctx, value, dim)


@lowering(aten.min.dim)
def min_dim(ctx: Any, value: TensorExpr, dim: int, keepdim: bool = False) -> tuple[TensorExpr, TensorExpr]:
    return _with_indices("min", ctx, value, dim)


@lowering(aten.argmax.default)
def argmax(ctx: Any, value: TensorExpr, dim: Any = None, keepdim: bool = False) -> TensorExpr:
    return _finish(
        ctx, _position("max", value, reduced_dims(len(value.shape), None if dim is None else [dim]))
    )


@lowering(aten.argmin.default)
def argmin(ctx: Any, value: TensorExpr, dim: Any = None, keepdim: bool = False) -> TensorExpr:
    return _finish(
        ctx, _position("min", value, reduced_dims(len(value.shape), None if dim is None else [dim]))
    )


def _truth(combine: str, ctx: Any, value: TensorExpr, dims: Any) -> TensorExpr:
    source = nonzero(cast(value, compute_dtype(value.dtype)))
    return _finish(ctx, reduce(combine, source, reduced_dims(len(value.shape), dims)))


@lowering(aten.any.default, aten.any.dim, aten.any.dims)
def any_lowering(ctx: Any, value: TensorExpr, dims: Any = None, keepdim: bool = False) -> TensorExpr:
    return _truth("any", ctx, value, [dims] if isinstance(dims, int) else dims)


@lowering(aten.all.default, aten.all.dim, aten.all.dims)
def all_lowering(ctx: Any, value: TensorExpr, dims: Any = None, keepdim: bool = False) -> TensorExpr:
    return _truth("all", ctx, value, [dims] if isinstance(dims, int) else dims)


# --- moments ----------------------------------------------------------------------------------------------


def moments(source: TensorExpr, dims: tuple[int, ...], correction: float) -> tuple[TensorExpr, TensorExpr]:
    """(variance, mean) over `dims`, without those dimensions."""
    size = count(source.shape, dims)
    total = reduce("sum", source, dims)
    average = apply("div", total, _number(size, total.shape, total.dtype))
    deviation = sub(source, expand(keep_dims(average, source.shape, dims), source.shape))
    squares = reduce("sum", mul(deviation, deviation), dims)
    return apply("div", squares, _degrees_of_freedom(size, correction, squares)), average


def _degrees_of_freedom(size: Index, correction: float, like: TensorExpr) -> TensorExpr:
    """NaN for no elements: they have no variance, whatever the correction."""
    if isinstance(size, int):
        return fill(like.shape, like.dtype, max(0.0, size - correction) if size else math.nan)
    if correction != int(correction):
        remaining = apply("sub", _number(size, like.shape, "f64"), fill(like.shape, "f64", correction))
        return cast(apply("max", remaining, fill(like.shape, "f64", 0.0)), like.dtype)
    remaining = _number(minus(size, int(correction)), like.shape, "i64")
    return cast(apply("max", remaining, 0), like.dtype)


def _variance(ctx: Any, value: TensorExpr, dims: Any, correction: Any) -> tuple[TensorExpr, TensorExpr]:
    source = cast(value, compute_dtype(value.dtype))
    if not source.shape:
        source = reshape(source, (1,))
    axes = reduced_dims(len(source.shape), dims)
    return moments(source, axes, 1.0 if correction is None else float(correction))


def _unbiased(options: dict[str, Any], correction: Any) -> float:
    """The correction that the old `unbiased` flag means."""
    return float(correction) if correction is not None else float(options.get("unbiased", True))


@lowering(aten.var.correction, torch.ops.prims.var.default)
def var(ctx: Any, value: TensorExpr, dims: Any = None, correction: Any = None, **options: Any) -> TensorExpr:
    return _finish(ctx, _variance(ctx, value, dims, _unbiased(options, correction))[0])


@lowering(aten.var.default, aten.var.dim)
def var_dim(
    ctx: Any, value: TensorExpr, dims: Any = None, unbiased: Any = True, keepdim: bool = False
) -> TensorExpr:
    if isinstance(dims, bool):  # var.default(x, unbiased)
        dims, unbiased = None, dims
    return _finish(ctx, _variance(ctx, value, dims, float(unbiased))[0])


@lowering(aten.std.correction)
def std(
    ctx: Any, value: TensorExpr, dims: Any = None, correction: Any = None, keepdim: bool = False
) -> TensorExpr:
    return _finish(ctx, apply("sqrt", _variance(ctx, value, dims, correction)[0]))


def _both_moments(ctx: Any, value: TensorExpr, dims: Any, correction: Any) -> tuple[TensorExpr, ...]:
    shape = sizes_of(ctx.val[0])
    return tuple(cast(reshape(part, shape), value.dtype) for part in _variance(ctx, value, dims, correction))


@lowering(aten.var_mean.correction)
def var_mean(
    ctx: Any, value: TensorExpr, dims: Any = None, correction: Any = None, keepdim: bool = False
) -> tuple[TensorExpr, ...]:
    return _both_moments(ctx, value, dims, correction)


@lowering(aten.var_mean.dim)
def var_mean_dim(
    ctx: Any, value: TensorExpr, dims: Any = None, unbiased: bool = True, keepdim: bool = False
) -> tuple[TensorExpr, ...]:
    return _both_moments(ctx, value, dims, float(unbiased))
