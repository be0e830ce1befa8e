"""Operators that write into parts of a buffer, or into a buffer that exists.

In:  the tensors to write, and the target if there is one.
Out: a buffer and the stores to its parts.

    aten.cat([x, y], 0)     ->  a buffer, and two stores: x to its first rows, y to the others
    aten.roll(x, 3, 1)      ->  a buffer, and two stores: the last three columns of x become the first ones
    aten.copy_(param, new)  ->  a store of `new` to the buffer of `param`
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from codegen.kernel.index_algebra import Index, plus, times
from codegen.lower.nodes import strides_of
from codegen.lower.part_writes import written_parts
from codegen.lower.promotion import as_operand
from codegen.lower.registry import lowering
from codegen.lower.tensor_expr import Assignment, Stored, TensorExpr, cast, reshape
from codegen.lower.view import strided_slice

aten = torch.ops.aten
MOST_ROLLED = 3  # dims; each dim doubles the number of blocks


def joined(ctx: Any, parts: Sequence[TensorExpr], dim: int) -> TensorExpr:
    """A buffer of the shape of the current node, each part stored at its place along `dim`."""
    result = ctx.new_buffer(ctx.name, "temp", ctx.val.dtype, ctx.shape, strides_of(ctx.val))
    start: Index = 0
    for part in parts:
        _store(ctx, part, result, times(start, result.strides[dim]))
        start = plus(start, part.shape[dim])
    return result


def _store(ctx: Any, part: TensorExpr, result: Stored, offset: Index) -> None:
    place = Stored(part.shape, result.dtype, result.buffer, result.strides, offset)
    ctx.stores.append(Assignment(cast(part, result.dtype), place))


@lowering(aten.cat.default)
def cat(ctx: Any, tensors: Sequence[TensorExpr], dim: int = 0) -> TensorExpr:
    """An empty one-dimensional tensor joins anything."""
    parts = [part for part in tensors if part.shape != (0,)] or list(tensors[:1])
    return joined(ctx, parts, dim % len(ctx.shape))


@lowering(aten.stack.default)
def stack(ctx: Any, tensors: Sequence[TensorExpr], dim: int = 0) -> TensorExpr:
    dim %= len(ctx.shape)
    shape = tuple(1 if d == dim else size for d, size in enumerate(ctx.shape))
    return joined(ctx, [reshape(part, shape) for part in tensors], dim)


@lowering(aten.roll.default)
def roll(ctx: Any, base: TensorExpr, shifts: Sequence[Any], dims: Sequence[int] = ()) -> TensorExpr:
    """Swaps blocks. Without dims the tensor is rolled as one row."""
    shape = [size for size in base.shape if isinstance(size, int)]
    if len(shape) < len(base.shape) or not all(isinstance(shift, int) for shift in shifts):
        return NotImplemented
    if not dims:
        row = reshape(base, (math.prod(shape),))
        return reshape(_rolled(ctx, row, (1,), {0: shifts[0]}), base.shape)
    total: dict[int, int] = {}
    for shift, dim in zip(shifts, dims, strict=True):
        dim %= len(shape)
        total[dim] = total.get(dim, 0) + shift
    return _rolled(ctx, base, strides_of(ctx.val), total) if len(total) <= MOST_ROLLED else NotImplemented


def _rolled(ctx: Any, base: TensorExpr, strides: tuple[Index, ...], shifts: dict[int, int]) -> TensorExpr:
    """`shifts`: by dim. `strides`: of the result."""
    result = ctx.new_buffer(ctx.name, "temp", ctx.val.dtype, base.shape, strides)
    blocks: list[tuple[TensorExpr, Index]] = [(base, 0)]
    for dim, shift in shifts.items():
        size = base.shape[dim]
        assert isinstance(size, int)
        cut = -shift % max(size, 1)  # the element that becomes the first one
        ends = ((cut, size, 0), (0, cut, size - cut))
        blocks = [
            (strided_slice(block, dim, start, 1, end - start), plus(offset, times(to, strides[dim])))
            for block, offset in blocks
            for start, end, to in ends
            if end > start
        ]
    for block, offset in blocks:
        _store(ctx, block, result, offset)
    return result


@lowering(aten.copy_.default)
def copy_into(ctx: Any, target: TensorExpr, source: TensorExpr, non_blocking: bool = False) -> TensorExpr:
    """The write of an input; the tracer puts these at the end of the graph."""
    if not isinstance(target, Stored):
        return NotImplemented
    name = ctx.ordered.versions.get(ctx.operands[-1])
    if name is not None:
        assert ctx.latest[name].buffer != name, f"nothing has written {name}"
        return target  # a step in order has written it
    parts = written_parts(ctx, target, ctx.operands[-1])
    for place, value in [(target, source)] if parts is None else parts:
        if value is not None:
            ctx.stores.append(Assignment(as_operand(value, place.dtype, place.shape), place))
    return target
