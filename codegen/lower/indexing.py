"""Reading at computed places, and writes that read as a choice.

    aten.embedding(w, ids)                ->  Gather(w, (ids, 1))        a load at an index that the kernel computes, checked
    aten.select_scatter(x, y, 0, 3)       ->  Map("where", (i == 3, y, x))

An index out of range fails the kernel; eager then raises its own error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from codegen.index_algebra import Index, plus
from codegen.lower.promotion import as_operand
from codegen.lower.registry import lowering
from codegen.lower.scalar_math import both, compare, where
from codegen.lower.tensor_expr import (
    Checked,
    Gather,
    Padded,
    Position,
    SizeValue,
    TensorExpr,
    affine_view,
    along,
    cast,
    expand,
    representable,
    reshape,
)
from codegen.lower.view import clamp_start

aten = torch.ops.aten


@lowering(aten.embedding.default)
def embedding(ctx: Any, weight: TensorExpr, indices: TensorExpr, *options: Any, **more: Any) -> TensorExpr:
    rows = _spread(cast(indices, "i64"), ctx.shape, range(len(indices.shape)))
    return Gather(weight, ctx.shape, (rows, len(ctx.shape) - 1), wraps=False)


@lowering(aten.index_select.default)
def index_select(ctx: Any, base: TensorExpr, dim: int, indices: TensorExpr) -> TensorExpr:
    if not base.shape:
        return NotImplemented
    dim %= len(base.shape)
    column = _spread(cast(reshape(indices, (ctx.shape[dim],)), "i64"), ctx.shape, (dim,))
    return Gather(
        base, ctx.shape, tuple(column if d == dim else d for d in range(len(base.shape))), wraps=False
    )


@lowering(aten.gather.default)
def gather(
    ctx: Any, base: TensorExpr, dim: int, indices: TensorExpr, sparse_grad: bool = False
) -> TensorExpr:
    if not base.shape or not indices.shape:
        return NotImplemented
    dim %= len(base.shape)
    place = cast(indices, "i64")
    return Gather(
        base, ctx.shape, tuple(place if d == dim else d for d in range(len(base.shape))), wraps=False
    )


@lowering(aten.index.Tensor, aten._unsafe_index.Tensor)
def index(ctx: Any, base: TensorExpr, indices: Sequence[TensorExpr | None]) -> TensorExpr:
    given = [dim for dim, item in enumerate(indices) if item is not None]
    items = [item for item in indices if item is not None]
    if any(
        item.dtype not in ("i64", "i32") for item in items
    ):  # a mask: the size of the result depends on the data
        return NotImplemented
    picked = torch.broadcast_shapes(*(item.shape for item in items))
    adjacent = given == list(range(given[0], given[0] + len(given)))
    first = given[0] if adjacent else 0
    after = iter([d for d in range(len(ctx.shape)) if not first <= d < first + len(picked)])
    places = range(first, first + len(picked))
    coordinates: list[int | TensorExpr] = []
    for dim in range(len(base.shape)):
        item = indices[dim] if dim < len(indices) else None
        coordinates.append(
            next(after) if item is None else _spread(expand(cast(item, "i64"), picked), ctx.shape, places)
        )
    return Gather(base, ctx.shape, tuple(coordinates), wraps=True)


def _spread(value: TensorExpr, shape: tuple[Index, ...], dims: Sequence[int]) -> TensorExpr:
    """`value`, whose dimension k is dimension dims[k] of `shape`, repeated along the others."""
    return affine_view(value, shape, tuple(along(dim) for dim in dims))


@lowering(aten.constant_pad_nd.default)
def constant_pad_nd(ctx: Any, base: TensorExpr, pad: Sequence[Any], value: Any = 0) -> TensorExpr:
    rank = len(base.shape)
    begin: list[Index] = [0] * rank
    for pair in range(len(pad) // 2):
        begin[rank - 1 - pair] = pad[2 * pair]
    return Padded(base, ctx.shape, tuple(begin), representable(value, ctx.dtype))


@lowering(aten.select_scatter.default)
def select_scatter(ctx: Any, base: TensorExpr, source: TensorExpr, dim: int, index: Any) -> TensorExpr:
    dim %= len(base.shape)
    if isinstance(index, int) and index < 0:
        index = plus(index, base.shape[dim])
    others = [d for d in range(len(base.shape)) if d != dim]
    here = compare("eq", Position(ctx.shape, dim), _size(index, ctx.shape))
    return where(here, _spread(cast(source, ctx.dtype), ctx.shape, others), base)


def _size(value: Index, shape: tuple[Index, ...]) -> Any:
    return value if isinstance(value, int) else expand(SizeValue(value), shape)


@lowering(aten.slice_scatter.default)
def slice_scatter(
    ctx: Any,
    base: TensorExpr,
    source: TensorExpr,
    dim: int = 0,
    start: Any = None,
    end: Any = None,
    step: Any = 1,
) -> TensorExpr:
    dim %= len(base.shape)
    begin = clamp_start(start, base.shape[dim])
    if step != 1 or begin is None:
        return NotImplemented
    position = Position(ctx.shape, dim)
    stop = plus(begin, source.shape[dim])
    inside = both(
        compare("ge", position, _size(begin, ctx.shape)), compare("lt", position, _size(stop, ctx.shape))
    )
    moved = Padded(
        cast(source, ctx.dtype), ctx.shape, tuple(begin if d == dim else 0 for d in range(len(ctx.shape))), 0
    )
    return where(inside, moved, base)


def _scattered(ctx: Any, base: TensorExpr, dim: int, indices: TensorExpr, source: Any) -> TensorExpr:
    """One write for each line along `dim`: every element asks whether it is the one that is written."""
    rank = len(base.shape)
    dim %= max(rank, 1)
    expected = tuple(1 if d == dim else size for d, size in enumerate(base.shape))
    if rank == 0 or indices.shape != expected:
        return NotImplemented
    place = cast(indices, "i64")
    valid = both(compare("ge", place, 0), compare("lt", place, _size(base.shape[dim], expected)))
    checked = expand(Checked(place, valid), ctx.shape)
    return where(compare("eq", Position(ctx.shape, dim), checked), source, base)


@lowering(aten.scatter.value)
def scatter_value(ctx: Any, base: TensorExpr, dim: int, indices: TensorExpr, value: Any) -> TensorExpr:
    return _scattered(ctx, base, dim, indices, as_operand(value, ctx.dtype, ctx.shape))


@lowering(aten.scatter.src)
def scatter_source(
    ctx: Any, base: TensorExpr, dim: int, indices: TensorExpr, source: TensorExpr
) -> TensorExpr:
    if source.shape != indices.shape:
        return NotImplemented
    return _scattered(ctx, base, dim, indices, expand(source, ctx.shape))
