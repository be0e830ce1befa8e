"""Writes to parts of an input: the rest of it is not touched.

In:  the node of an input's final contents, which the tracer has made from writes through views
     (`codegen.trace.functionalise`).
Out: places in the memory of the input, and the definitions to store there.

    x[3] = y;  x[:, 2:4] += 1     copy_(x, slice_scatter(select_scatter(x, y, 0, 3), add, 1, 2, 4))
    x[3] = y alone                copy_(x, select_scatter(x, y, 0, 3))       ->   y to x[3]

Places of several writes must not overlap, because the stores may run in any order. If they overlap, each
write becomes a step of its own (`codegen.lower.ordered_writes`). If that is impossible, the whole input is
computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import gcd
from typing import Any, cast

import torch
from torch import fx

from capture_records import dataclass
from codegen.kernel.index_algebra import Index, plus, times
from codegen.lower.tensor_expr import Shape, Stored, TensorExpr, View, reshape
from codegen.lower.view import clamp_start, permuted

aten = torch.ops.aten
#: a place, and the definition that is written to it
Part = tuple[Stored, TensorExpr]


@dataclass(frozen=True, slots=True)
class Contents:
    """`value` is the contents of `place`, before the writes that are examined."""

    value: TensorExpr
    place: Stored

    def are_at(self, ctx: Any, value: Any, place: Stored) -> bool:
        """Whether `value` is the part of it that is at `place`."""
        if isinstance(self.value, Stored) and position(self.value) != position(self.place):
            return False  # another layout
        base = value
        while isinstance(base, View) and base is not self.value:
            base = base.base
        found = ctx.as_strided(value, self.place, base) if base is self.value else None
        return found is not None and position(found) == position(place)


def written_parts(ctx: Any, target: Stored, node: fx.Node) -> list[Part] | None:
    """The parts that are written; None if that is the whole target, or if the parts may overlap."""
    parts = parts_of(ctx, target, node, Contents(target, target))
    if any(place is target for place, _ in parts):
        return None
    if _are_apart([place for place, _ in parts]):
        return parts
    ctx.want_order(target.buffer)
    return None


def parts_of(ctx: Any, target: Stored, node: fx.Node, contents: Contents) -> list[Part]:
    """The places where `node` differs from the contents, as far as that is known."""
    value = ctx.values.get(node)
    if value is not None and contents.are_at(ctx, value, target):
        return []
    if node.target in _NARROWED:
        base, source, *rest = cast(Any, node.args)
        before = parts_of(ctx, target, base, contents)
        if not any(place is target for place, _ in before):
            part = _NARROWED[node.target](ctx, target, node, *map(ctx.argument, rest))
            after = (
                parts_of(ctx, part, source, Contents(ctx.values[base], target)) if part else [(target, value)]
            )
            return [*_but_overwritten(before, after), *after]
    elif node.target in _TURNED:
        inner = cast(Any, node.args[0])
        turned = _TURNED[node.target](ctx, target, inner, *node.args[1:])
        parts = [] if turned is None else parts_of(ctx, turned, inner, contents)
        if turned is not None and not any(place is turned for place, _ in parts):
            return parts
    return [(target, value)]


def _but_overwritten(before: list[Part], after: list[Part]) -> list[Part]:
    written = [position(place) for place, _ in after]
    return [part for part in before if position(part[0]) not in written]


def position(place: Stored) -> tuple[Any, ...]:
    """A key that is equal for places with the same elements, in the same order."""
    used = [(size, stride) for size, stride in zip(place.shape, place.strides, strict=True) if size != 1]
    return (place.offset, *used)


def strided(ctx: Any, value: Any) -> Stored | None:
    """A view of stored memory, as strides and an offset."""
    base = value
    while isinstance(base, View):
        base = base.base
    return ctx.as_strided(value, base, base) if isinstance(base, Stored) else None


# --- the place that a scatter writes to -------------------------------------------------------------------


def _placed(target: Stored, shape: Shape, strides: tuple[Index, ...], distance: Index) -> Stored:
    return Stored(shape, target.dtype, target.buffer, strides, plus(target.offset, distance))


def _selected(ctx: Any, target: Stored, node: fx.Node, dim: int, index: Index) -> Stored:
    dim %= len(target.shape)
    if isinstance(index, int) and index < 0:
        index = plus(index, target.shape[dim])
    shape, strides = ((*part[:dim], *part[dim + 1 :]) for part in (target.shape, target.strides))
    return _placed(target, shape, strides, times(index, target.strides[dim]))


def _sliced(
    ctx: Any, target: Stored, node: fx.Node, dim: int = 0, start: Any = None, end: Any = None, step: Index = 1
) -> Stored:
    dim %= len(target.shape)
    begin = clamp_start(start, target.shape[dim], node.meta["val"].shape[dim])
    strides = (*target.strides[:dim], times(target.strides[dim], step), *target.strides[dim + 1 :])
    shape = ctx.values[node.args[1]].shape
    return _placed(target, shape, strides, times(begin, target.strides[dim]))


def _on_diagonal(
    ctx: Any, target: Stored, node: fx.Node, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Stored:
    rank = len(target.shape)
    row, column = dim1 % rank, dim2 % rank
    others = tuple(stride for dim, stride in enumerate(target.strides) if dim not in (row, column))
    strides = (*others, plus(target.strides[row], target.strides[column]))
    distance = times(abs(offset), target.strides[column if offset >= 0 else row])
    return _placed(target, ctx.values[node.args[1]].shape, strides, distance)


def _on_strides(
    ctx: Any, target: Stored, node: fx.Node, size: Any, stride: tuple[Index, ...], offset: Index | None = None
) -> Stored | None:
    """The tracer uses these only for row-major tensors at the start of their memory."""
    return None if target.offset != 0 else _placed(target, tuple(size), tuple(stride), offset or 0)


_NARROWED: dict[Any, Callable[..., Stored | None]] = {
    aten.as_strided_scatter.default: _on_strides,
    aten.select_scatter.default: _selected,
    aten.slice_scatter.default: _sliced,
    aten.diagonal_scatter.default: _on_diagonal,
}


# --- the place that a view was made from ------------------------------------------------------------------


def _reshaped(ctx: Any, target: Stored, inner: fx.Node, *sizes: Any) -> Stored | None:
    return strided(ctx, reshape(target, ctx.values[inner].shape))


def _permuted(ctx: Any, target: Stored, inner: fx.Node, order: list[int]) -> Stored | None:
    order = [dim % len(order) for dim in order]
    return strided(ctx, permuted(target, [order.index(dim) for dim in range(len(order))]))


def _transposed(ctx: Any, target: Stored, inner: fx.Node, first: int = 0, second: int = 1) -> Stored | None:
    rank = len(target.shape)
    if rank < 2:
        return target
    order = list(range(rank))
    order[first % rank], order[second % rank] = second % rank, first % rank
    return strided(ctx, permuted(target, order))


_TURNED: dict[Any, Callable[..., Stored | None]] = {
    aten.reshape.default: _reshaped,
    aten.permute.default: _permuted,
    aten.transpose.int: _transposed,
    aten.t.default: _transposed,
}


# --- overlap ----------------------------------------------------------------------------------------------


def _are_apart(places: list[Stored]) -> bool:
    return all(_is_apart(left, right) for left, right in combinations(places, 2))


def _is_apart(left: Stored, right: Stored) -> bool:
    """Whether the places share no element.

    Either one place lies after the other, or their distance is no multiple of their strides.
    """
    numbers = [(*place.shape, *place.strides, place.offset) for place in (left, right)]
    if not all(isinstance(number, int) for place in numbers for number in place):
        return False
    if 0 in (*left.shape, *right.shape):
        return True
    ends: list[tuple[Any, Any]] = []
    steps: Any = 0
    for place in (left, right):
        used = [(size, stride) for size, stride in zip(place.shape, place.strides, strict=True) if size != 1]
        length: Any = sum((size - 1) * stride for size, stride in used)  # type: ignore[misc, operator]
        ends.append((place.offset, place.offset + length))
        steps = gcd(steps, *(stride for _, stride in used))  # type: ignore[arg-type]
    (first, last), (other_first, other_last) = ends
    distance = first - other_first
    return last < other_first or other_last < first or bool(distance % steps if steps else distance)
