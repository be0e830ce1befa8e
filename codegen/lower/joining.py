"""Operators that write into parts of a buffer, or into a buffer that exists.

aten.cat([x, y], 0)     ->  a buffer, and two stores: x to its first rows, y to the others
aten.copy_(param, new)  ->  a store of `new` to the buffer of `param`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from codegen.index_algebra import Index, plus, times
from codegen.lower.graph import Store, strides_of
from codegen.lower.promotion import as_operand
from codegen.lower.registry import lowering
from codegen.lower.tensor_expr import Stored, TensorExpr, cast, reshape

aten = torch.ops.aten


def joined(ctx: Any, parts: Sequence[TensorExpr], dim: int) -> TensorExpr:
    """A buffer of the shape of the current node, each part stored at its place along `dim`."""
    result = ctx.new_buffer(ctx.name, "temp", ctx.val.dtype, ctx.shape, strides_of(ctx.val))
    start: Index = 0
    for part in parts:
        offset = times(start, result.strides[dim])
        place = Stored(part.shape, result.dtype, result.buffer, result.strides, offset)
        ctx.stores.append(Store(cast(part, result.dtype), place))
        start = plus(start, part.shape[dim])
    return result


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


@lowering(aten.copy_.default)
def copy_into(ctx: Any, target: TensorExpr, source: TensorExpr, non_blocking: bool = False) -> TensorExpr:
    """The tracer puts the writes to inputs at the end of the graph."""
    if not isinstance(target, Stored):
        return NotImplemented
    ctx.stores.append(Store(as_operand(source, target.dtype, target.shape), target))
    return target
