"""Views: transformations of indices, no work.

In:  the operands of a view operator.
Out: the definition of the view.

    aten.permute(x, (1, 0))  ->  View(x, Affine((along(1), along(0))))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from codegen.kernel.index_algebra import Index, minus, plus, row_major
from codegen.lower.registry import lowering
from codegen.lower.tensor_expr import (
    Coordinate,
    Shape,
    Stored,
    TensorExpr,
    View,
    affine_view,
    along,
    expand,
    numel,
    reshape,
)

aten = torch.ops.aten


def permuted(base: TensorExpr, order: Sequence[int]) -> TensorExpr:
    """Dimension k of the result is dimension order[k] of the base."""
    rank = len(base.shape)
    order = [dim % rank for dim in order]
    coordinates = tuple(along(order.index(dim)) for dim in range(rank))
    return affine_view(base, tuple(base.shape[dim] for dim in order), coordinates)


@lowering(aten.permute.default)
def permute(ctx: Any, base: TensorExpr, order: Sequence[int]) -> TensorExpr:
    return permuted(base, order)


@lowering(aten.t.default)
def transpose_matrix(ctx: Any, base: TensorExpr) -> TensorExpr:
    return permuted(base, (1, 0)) if len(base.shape) == 2 else alias(ctx, base)


@lowering(aten.transpose.int)
def transpose(ctx: Any, base: TensorExpr, first: int, second: int) -> TensorExpr:
    rank = len(base.shape)
    if rank == 0:
        return alias(ctx, base)
    order = list(range(rank))
    order[first % rank], order[second % rank] = second % rank, first % rank
    return permuted(base, order)


@lowering(aten.alias.default, aten.detach.default, aten.lift_fresh_copy.default, aten.lift_fresh.default)
def alias(ctx: Any, base: TensorExpr) -> TensorExpr:
    return affine_view(base, base.shape, tuple(map(along, range(len(base.shape)))))


@lowering(
    aten.view.default,
    aten._unsafe_view.default,
    aten.reshape.default,
    aten.squeeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
    aten.unsqueeze.default,
    aten.flatten.using_ints,
    aten.view_copy.default,
)
def reshaped(ctx: Any, base: TensorExpr, *sizes: Any) -> TensorExpr:
    """The shape is that of the fake result."""
    return alias(ctx, base) if base.shape == ctx.shape else reshape(base, ctx.shape)


@lowering(aten.expand.default)
def expanded(ctx: Any, base: TensorExpr, sizes: Sequence[Any], implicit: bool = False) -> TensorExpr:
    return alias(ctx, base) if base.shape == ctx.shape else expand(base, ctx.shape)


@lowering(aten.broadcast_to.default)
def broadcast_to(ctx: Any, base: TensorExpr, sizes: Sequence[Any]) -> TensorExpr:
    return expanded(ctx, base, sizes)


def strided_slice(base: TensorExpr, dim: int, start: Index, step: Index, size: Index) -> TensorExpr:
    """`size` elements along `dim`, beginning at `start`."""
    coordinates = [along(d) for d in range(len(base.shape))]
    coordinates[dim] = Coordinate(((dim, step),), start)
    shape = (*base.shape[:dim], size, *base.shape[dim + 1 :])
    return affine_view(base, shape, tuple(coordinates))


def clamp_start(start: Index | None, size: Index, present: Any) -> Index:
    """The start of a slice.

    `present`: the size as torch has it. Each comparison with it becomes a condition of the graph.
    """
    if start is None or not isinstance(start, int):
        return start or 0
    if start < 0:
        return plus(size, start) if present + start >= 0 else 0
    return start if start <= present else size


@lowering(aten.slice.Tensor)
def slice_lowering(
    ctx: Any, base: TensorExpr, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1
) -> TensorExpr:
    dim %= len(base.shape)
    begin = clamp_start(start, base.shape[dim], ctx.operand_sizes()[dim])
    return strided_slice(base, dim, begin, step, ctx.shape[dim])


@lowering(aten.narrow.default)
def narrow(ctx: Any, base: TensorExpr, dim: int, start: Any, length: Any) -> TensorExpr:
    return slice_lowering(ctx, base, dim, start)


def selected(base: TensorExpr, dim: int, index: Index) -> TensorExpr:
    dim %= len(base.shape)
    if isinstance(index, int) and index < 0:
        index = plus(index, base.shape[dim])
    coordinates = [along(d if d < dim else d - 1) for d in range(len(base.shape))]
    coordinates[dim] = Coordinate((), index)
    return affine_view(base, (*base.shape[:dim], *base.shape[dim + 1 :]), tuple(coordinates))


@lowering(aten.select.int)
def select(ctx: Any, base: TensorExpr, dim: int, index: Any) -> TensorExpr:
    return selected(base, dim, index)


@lowering(aten.unbind.int)
def unbind(ctx: Any, base: TensorExpr, dim: int = 0) -> tuple[TensorExpr, ...]:
    return tuple(selected(base, dim, index) for index in range(len(ctx.val)))


@lowering(aten.split.Tensor, aten.split_with_sizes.default, aten.chunk.default)
def split(ctx: Any, base: TensorExpr, sizes: Any, dim: int = 0) -> tuple[TensorExpr, ...]:
    """The pieces; the fake results have their sizes."""
    dim %= len(base.shape)
    pieces: list[TensorExpr] = []
    start: Index = 0
    for val in ctx.val:
        size = val.shape[dim] if isinstance(val.shape[dim], int) else None
        if size is None:
            return NotImplemented
        pieces.append(strided_slice(base, dim, start, 1, size))
        start = plus(start, size)
    return tuple(pieces)


@lowering(aten.flip.default)
def flip(ctx: Any, base: TensorExpr, dims: Sequence[int]) -> TensorExpr:
    """A reversed view; in eager it is a copy."""
    coordinates = [along(dim) for dim in range(len(base.shape))]
    for dim in dims if base.shape else ():
        dim %= len(base.shape)
        coordinates[dim] = Coordinate(((dim, -1),), minus(base.shape[dim], 1))
    return affine_view(base, base.shape, tuple(coordinates), aliases=False)


@lowering(aten.diagonal.default)
def diagonal(ctx: Any, base: TensorExpr, offset: int = 0, dim1: int = 0, dim2: int = 1) -> TensorExpr:
    rank = len(base.shape)
    first, second = dim1 % rank, dim2 % rank
    others = iter(range(rank))
    coordinates = [Coordinate() if dim in (first, second) else along(next(others)) for dim in range(rank)]
    coordinates[first] = Coordinate(((rank - 2, 1),), max(-offset, 0))
    coordinates[second] = Coordinate(((rank - 2, 1),), max(offset, 0))
    return affine_view(base, ctx.shape, tuple(coordinates))


@lowering(aten.unfold.default)
def unfold(ctx: Any, base: TensorExpr, dim: int, size: int, step: int) -> TensorExpr:
    """Windows: the new last dimension is the position within a window."""
    rank = len(base.shape)
    if rank == 0:
        return affine_view(base, ctx.shape, ())
    coordinates = [along(d) for d in range(rank)]
    coordinates[dim % rank] = Coordinate(((dim % rank, step), (rank, 1)))
    return affine_view(base, ctx.shape, tuple(coordinates))


@lowering(aten.repeat.default)
def repeat(ctx: Any, base: TensorExpr, repeats: Sequence[int]) -> TensorExpr:
    """(r, n) expanded and read as r * n; in eager it is a copy."""
    lead = len(repeats) - len(base.shape)
    sizes = (1,) * lead + base.shape
    spread: list[Index] = []
    coordinates: list[Coordinate] = []
    for dim, (count, size) in enumerate(zip(repeats, sizes, strict=True)):
        spread += [count, size]
        if dim >= lead:
            coordinates.append(along(2 * dim + 1))
    view = affine_view(base, tuple(spread), tuple(coordinates), aliases=False)
    return reshape(view, ctx.shape, aliases=False)


@lowering(aten.as_strided.default, aten._reshape_alias.default)
def as_strided(ctx: Any, base: TensorExpr, size: Any, stride: Any, storage_offset: Any = None) -> TensorExpr:
    """A view by strides, if the tensor begins where its memory begins, or if its offset is kept.

    It has to lie within the tensor: how much memory is behind it, each call knows anew.
    """
    if storage_offset is not None and not (storage_offset == 0 and _starts_its_memory(ctx, base)):
        return NotImplemented
    if isinstance(base, Stored) and _lies_within(ctx.shape, stride, base):
        return Stored(ctx.shape, base.dtype, base.buffer, tuple(stride), base.offset)
    contiguous = ctx.layouts.get(base) == row_major(base.shape) and tuple(stride) == row_major(ctx.shape)
    if contiguous and numel(base.shape) == numel(ctx.shape):
        return reshape(base, ctx.shape)
    return NotImplemented


def _lies_within(shape: Shape, strides: Sequence[Index], base: Stored) -> bool:
    last, last_of_base = _last_place(shape, strides), _last_place(base.shape, base.strides)
    if last is not None and last_of_base is not None:
        return last <= last_of_base
    dense = tuple(strides) == row_major(shape) and base.strides == row_major(base.shape)
    return dense and numel(shape) == numel(base.shape)


def _last_place(shape: Shape, strides: Sequence[Index]) -> int | None:
    """The distance of the last element from the first one; None for symbols. -1 if there are no elements."""
    place = -1 if 0 in shape else 0
    for size, stride in zip(shape, strides, strict=True):
        if not isinstance(size, int) or not isinstance(stride, int):
            return None
        place += 0 if 0 in shape else (size - 1) * stride
    return place


def _starts_its_memory(ctx: Any, base: TensorExpr) -> bool:
    return not isinstance(base, (Stored, View)) or (
        isinstance(base, Stored) and base.offset == 0 and ctx.program.buffers[base.buffer].kind == "temp"
    )
