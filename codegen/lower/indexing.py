"""Reading at computed places, and writes that become a selection.

In:  the operands of an indexing operator.
Out: a definition that loads at an index which the kernel computes and checks, or that selects by position.

    aten.embedding(w, ids)                ->  Gather(w, (ids, 1))
    aten.select_scatter(x, y, 0, 3)       ->  Map("where", (i == 3, y, x))

An index out of range fails the kernel; eager then raises its own error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from codegen.kernel.index_algebra import Index, plus
from codegen.lower.registry import lowering
from codegen.lower.scalar_math import apply, both, compare, where
from codegen.lower.tensor_expr import (
    Fill,
    Gather,
    Padded,
    Position,
    Shape,
    Stored,
    TensorExpr,
    View,
    affine_view,
    along,
    broadcast,
    cast,
    expand,
    have_common_shape,
    numel,
    representable,
    reshape,
    size_value,
)
from codegen.lower.view import clamp_start

aten = torch.ops.aten


@lowering(aten.embedding.default)
def embedding(ctx: Any, weight: TensorExpr, indices: TensorExpr, *options: Any, **more: Any) -> TensorExpr:
    rows = spread(cast(indices, "i64"), ctx.shape, range(len(indices.shape)))
    return Gather(weight, ctx.shape, (rows, len(ctx.shape) - 1), wraps=False)


@lowering(aten.index_select.default)
def index_select(ctx: Any, base: TensorExpr, dim: int, indices: TensorExpr) -> TensorExpr:
    if not base.shape and numel(indices.shape) != 1:
        return NotImplemented  # eager raises an error
    base = with_dim(base)
    dim %= len(base.shape)
    shape = tuple(numel(indices.shape) if d == dim else size for d, size in enumerate(base.shape))
    column = spread(cast(reshape(indices, (shape[dim],)), "i64"), shape, (dim,))
    found = Gather(base, shape, tuple(column if d == dim else d for d in range(len(shape))), wraps=False)
    return reshape(found, ctx.shape)


@lowering(aten.gather.default)
def gather(
    ctx: Any, base: TensorExpr, dim: int, indices: TensorExpr, sparse_grad: bool = False
) -> TensorExpr:
    base, place = with_dim(base), cast(with_dim(indices), "i64")
    if len(base.shape) != len(place.shape):
        return NotImplemented  # eager accepts that where there are no indices
    dim %= len(base.shape)
    found = Gather(
        base, place.shape, tuple(place if d == dim else d for d in range(len(base.shape))), wraps=False
    )
    return reshape(found, ctx.shape)


def with_dim(value: TensorExpr) -> TensorExpr:
    """A zero-dimensional tensor as a vector of one element."""
    return value if value.shape else reshape(value, (1,))


@lowering(aten.index.Tensor)
def index(ctx: Any, base: TensorExpr, indices: Sequence[TensorExpr | None]) -> TensorExpr:
    found = index_coordinates(base.shape, indices)
    return NotImplemented if found is None else Gather(base, found[0], found[1], wraps=True)


@lowering(aten._unsafe_index.Tensor)
def unsafe_index(ctx: Any, base: TensorExpr, indices: Sequence[TensorExpr | None]) -> TensorExpr:
    """Indexing with tables that a rewriting made: their places are known to be inside."""
    found = index_coordinates(base.shape, indices)
    if found is None:
        return NotImplemented
    inside = all(item is None or _is_inside(ctx, item, size) for item, size in zip(indices, base.shape))
    gather = Gather(base, found[0], found[1], wraps=not inside)
    gather.trusted = inside
    return gather


def _is_inside(ctx: Any, places: TensorExpr, size: Index) -> bool:
    """Whether all places are constants of the graph, and below `size`."""
    while isinstance(places, View):
        places = places.base
    table = ctx.program.buffers[places.buffer].value if isinstance(places, Stored) else None
    if table is None or not isinstance(size, int):
        return False
    return table.numel() == 0 or (int(table.min()) >= 0 and int(table.max()) < size)


def index_coordinates(
    shape: Shape, indices: Sequence[TensorExpr | None]
) -> tuple[Shape, tuple[int | TensorExpr, ...]] | None:
    """The shape of `base[indices]`, and the index of each dim of the base.

    None if an index is a mask: then the shape depends on the data. None, too, if their sizes do not fit: the
    operator raises eager's error.
    """
    given = [dim for dim, item in enumerate(indices) if item is not None]
    items = [item for item in indices if item is not None]
    if any(item.dtype not in ("i64", "i32") for item in items):
        return None
    if not have_common_shape([item.shape for item in items]):
        return None
    picked = broadcast(item.shape for item in items)
    adjacent = given == list(range(given[0], given[0] + len(given)))
    first = given[0] if adjacent else 0
    kept = [size for dim, size in enumerate(shape) if dim not in given]
    result = (*kept[:first], *picked, *kept[first:])
    places = range(first, first + len(picked))
    after = iter([d for d in range(len(result)) if d not in places])
    coordinates: list[int | TensorExpr] = []
    for dim in range(len(shape)):
        item = indices[dim] if dim < len(indices) else None
        coordinates.append(
            next(after) if item is None else spread(expand(cast(item, "i64"), picked), result, places)
        )
    return result, tuple(coordinates)


def spread(value: TensorExpr, shape: tuple[Index, ...], dims: Sequence[int]) -> TensorExpr:
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
    if isinstance(base, Fill):
        row = affine_view(
            cast(source, ctx.dtype),
            (*ctx.shape[:dim], 1, *ctx.shape[dim + 1 :]),
            tuple(along(d) for d in others),
        )
        return Padded(
            row, ctx.shape, tuple(index if d == dim else 0 for d in range(len(ctx.shape))), base.value
        )
    here = compare("eq", Position(ctx.shape, dim), size_value(index, ctx.shape))
    return where(here, spread(cast(source, ctx.dtype), ctx.shape, others), base)


@lowering(aten.diagonal_scatter.default)
def diagonal_scatter(
    ctx: Any, base: TensorExpr, source: TensorExpr, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> TensorExpr:
    rank = len(base.shape)
    row, column = dim1 % rank, dim2 % rank
    along_diagonal = row if offset >= 0 else column
    padded = Padded(
        cast(source, ctx.dtype), (*source.shape[:-1], base.shape[along_diagonal]), (0,) * len(source.shape), 0
    )
    others = [d for d in range(rank) if d not in (row, column)]
    distance = apply("sub", Position(ctx.shape, column), Position(ctx.shape, row))
    here = compare("eq", distance, size_value(offset, ctx.shape))
    return where(here, spread(padded, ctx.shape, [*others, along_diagonal]), base)


def stepped_scatter(
    ctx: Any, base: TensorExpr, source: TensorExpr, dim: int, begin: Index, step: Any
) -> TensorExpr:
    """Spreads the source along `dim` with gaps of step - 1 and writes it as one piece.

    The gaps keep the base.
    """
    count = source.shape[dim]
    if not isinstance(begin, int) or not isinstance(step, int) or not isinstance(count, int):
        return NotImplemented
    lifted = (*source.shape[: dim + 1], 1, *source.shape[dim + 1 :])
    gaps = (*lifted[: dim + 1], step, *lifted[dim + 2 :])
    spaced = (*source.shape[:dim], count * step, *source.shape[dim + 1 :])
    wide = reshape(Padded(reshape(cast(source, ctx.dtype), lifted), gaps, (0,) * len(gaps), 0), spaced)
    moved = Padded(wide, ctx.shape, tuple(begin if d == dim else 0 for d in range(len(ctx.shape))), 0)
    distance = apply("sub", Position(ctx.shape, dim), size_value(begin, ctx.shape))
    inside = both(compare("ge", distance, 0), compare("lt", distance, count * step))
    on_step = compare("eq", apply("rem", distance, step), 0)
    return where(both(inside, on_step), moved, base)


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
    begin = clamp_start(start, base.shape[dim], ctx.operand_sizes()[dim])
    if step != 1:
        return stepped_scatter(ctx, base, source, dim, begin, step)
    position = Position(ctx.shape, dim)
    stop = plus(begin, source.shape[dim])
    inside = both(
        compare("ge", position, size_value(begin, ctx.shape)),
        compare("lt", position, size_value(stop, ctx.shape)),
    )
    begins = tuple(begin if d == dim else 0 for d in range(len(ctx.shape)))
    if isinstance(base, Fill):
        return Padded(cast(source, ctx.dtype), ctx.shape, begins, base.value)
    moved = Padded(cast(source, ctx.dtype), ctx.shape, begins, 0)
    return where(inside, moved, base)
