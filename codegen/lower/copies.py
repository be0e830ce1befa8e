"""Copies.

In:  the tensor that an operator copies.
Out: its elements, computed where they are needed; they are stored only if that saves time.

    aten.clone(x)   ->  the elements of x
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch

from codegen.kernel.index_algebra import Index, times
from codegen.lower.promotion import as_operand
from codegen.lower.registry import lowering
from codegen.lower.tensor_expr import Affine, Stored, TensorExpr, View, copy_of

aten = torch.ops.aten
MANY = 1 << 14  # elements; in a smaller tensor strided reads are cheap enough
ROW_REDUCTIONS = frozenset((
    aten.amax.default, aten.amin.default, aten.sum.dim_IntList, aten.mean.dim, aten.var_mean.correction,
    aten.var.correction, aten.logsumexp.default,
))  # fmt: skip


@lowering(aten.clone.default)
def clone(ctx: Any, value: TensorExpr, memory_format: Any = None) -> TensorExpr:
    copy = copy_of(value)
    return ctx.realize(copy) if _makes_rows(ctx, value) else copy


@lowering(torch.ops.prims.clone.default)
def stored(ctx: Any, value: TensorExpr, memory_format: Any = None) -> TensorExpr:
    """A copy that one of our rewritings wants in memory: torch itself calls the other overload."""
    return ctx.realize(copy_of(value))


@lowering(aten.copy.default)
def copy(ctx: Any, target: TensorExpr, source: TensorExpr, non_blocking: bool = False) -> TensorExpr:
    return copy_of(as_operand(source, ctx.dtype, ctx.shape))


def _makes_rows(ctx: Any, value: TensorExpr) -> bool:
    """Whether the copy turns a strided dimension into rows that are reduced, and read again afterwards.

    Such a tensor is copied once, in tiles. Without the copy each loop over a row would jump from element to
    element.
    """
    sizes = [size for size in value.shape if isinstance(size, int)]
    if not sizes or len(sizes) < len(value.shape) or prod(sizes) < MANY:
        return False
    if len(ctx.users) < 2 or not any(user.target in ROW_REDUCTIONS for user in ctx.users):
        return False
    last = next(dim for dim in reversed(range(len(sizes))) if sizes[dim] != 1)
    return _stride_along(value, last) not in (None, 0, 1) and ctx.val.stride(last) == 1


def _stride_along(value: TensorExpr, dim: int) -> Index | None:
    """Elements from one position of `dim` to the next in the memory of `value`; None if it is computed."""
    if isinstance(value, Stored):
        return value.strides[dim]
    if not isinstance(value, View) or not isinstance(value.transform, Affine):
        return None
    steps = [
        (position, step)
        for position, coordinate in enumerate(value.transform.coordinates)
        for other, step in coordinate.terms
        if other == dim
    ]
    if len(steps) != 1:
        return None
    ((position, step),) = steps
    inner = _stride_along(value.base, position)
    return None if inner is None else times(inner, step)
