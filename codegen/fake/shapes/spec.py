"""Shape rules: their results, their registry, and functions for strides.

In:  an operator's arguments (fake tensors, numbers).
Out: a `Spec` for each new tensor.

    SHAPE_RULES[aten.mm.default]((x, w), {})   ->   Spec((3, 5), (5, 1), torch.float32)

torch's meta kernels have the same knowledge. Most of them are written in Python on top of `symbolic_shapes`:
a call takes 60-120 us, the first one 0.3 s. These rules cover the usual operators on tensors of static size
at 1-5 us. A rule that is not sure returns `NotImplemented` (an unusual layout, an argument that eager would
refuse): then torch's meta kernel decides, and raises eager's error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch._ops import OpOverload

aten = torch.ops.aten


class Spec(NamedTuple):
    """A new tensor."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype


ShapeRule = Callable[[tuple[Any, ...], dict[str, Any]], Any]
SHAPE_RULES: dict[OpOverload, ShapeRule] = {}


def shape_rule(*names: str) -> Callable[[ShapeRule], ShapeRule]:
    """Registers a rule by operator name: `"mm"` is `aten.mm.default`, `"sum.dim_IntList"` an overload."""

    def register(body: ShapeRule) -> ShapeRule:
        for name in names:
            packet, _, overload = name.partition(".")
            SHAPE_RULES[getattr(getattr(aten, packet), overload or "default")] = body
        return body

    return register


#: While a mode is on, torch makes operators of these questions, and the mode runs them: 50 us each.
promoted = functools.cache(torch.promote_types)
can_cast = functools.cache(torch.can_cast)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    strides = [1] * len(shape)
    for dim in range(len(shape) - 2, -1, -1):
        strides[dim] = strides[dim + 1] * max(shape[dim + 1], 1)
    return tuple(strides)


def contiguous(shape: Sequence[int], dtype: torch.dtype) -> Spec:
    return Spec(tuple(shape), row_major(shape), dtype)


def channels_last(shape: Sequence[int], dtype: torch.dtype) -> Spec:
    """Channels-last, for four dims of which none is 0."""
    _, channels, height, width = shape
    strides = (channels * height * width, 1, channels * width, channels)
    return Spec(tuple(shape), strides, dtype)


def is_contiguous(tensor: torch.Tensor) -> bool:
    """As `Tensor.is_contiguous()`: the stride of a dim of size 1 does not matter."""
    return tensor.is_contiguous()


def like(tensor: torch.Tensor, dtype: torch.dtype | None = None) -> Spec:
    """As `empty_like` with `torch.preserve_format`.

    The strides are kept where they are dense and do not overlap; else they are packed in the same order.
    """
    shape, strides = tuple(tensor.shape), tensor.stride()
    if strides != row_major(shape) and not is_dense(shape, strides):
        strides = packed(shape, fastest_first(shape, (strides,)), empty=1)
    return Spec(shape, tuple(strides), dtype or tensor.dtype)


def is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether there are no gaps and no overlaps, in some order of the dims. An empty tensor has neither."""
    if 0 in shape:
        return True
    expected = 1
    for stride, size in sorted(((stride, size) for size, stride in zip(shape, strides) if size > 1)):
        if stride != expected:
            return False
        expected *= size
    return True


def iterated_strides(
    shape: tuple[int, ...], operands: Sequence[Sequence[int]], same_shape: bool
) -> tuple[int, ...]:
    """The strides that TensorIterator gives an output that it allocates.

    `operands`: the inputs' strides broadcast to `shape`, 0 where expanded. `same_shape`: no input is
    broadcast (a number is, unless the shape is ()). Then inputs that agree on a dense layout decide; else the
    strides of the first inputs order the dims.
    """
    if same_shape and operands:
        if all(same_layout(shape, strides, row_major(shape)) for strides in operands):
            return row_major(shape)
        if len(shape) == 4:
            pixels_first = packed(shape, (1, 3, 2, 0), empty=1)
            if all(same_layout(shape, strides, pixels_first) for strides in operands):
                return pixels_first
        first = tuple(operands[0])
        if is_dense(shape, first) and all(tuple(strides) == first for strides in operands):
            return first
    order = fastest_first(shape, operands)
    if order == list(range(len(shape) - 1, -1, -1)):
        return row_major(shape)
    return packed(shape, order, empty=0)


def equal(left: Sequence[int], right: Sequence[int]) -> bool:
    """Tuples of different lengths are compared item by item, too: with symbols each comparison counts."""
    return len(left) == len(right) and left == right


def same_layout(shape: Sequence[int], left: Sequence[int], right: Sequence[int]) -> bool:
    """Whether every element has the same place.

    The stride of a dim of size 1 does not matter; no stride matters where there are no elements.
    """
    return 0 in shape or all(size == 1 or a == b for size, a, b in zip(shape, left, right))


def packed(shape: Sequence[int], order: Sequence[int], *, empty: int) -> tuple[int, ...]:
    """Strides without gaps; the first dim of `order` is the fastest.

    A dim without elements counts as `empty` elements.
    """
    strides, step = [0] * len(shape), 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim] or empty
    return tuple(strides)


def fastest_first(shape: Sequence[int], operands: Sequence[Sequence[int]]) -> list[int]:
    """The dims, ordered by insertion as the strides of the operands say."""
    order = list(range(len(shape) - 1, -1, -1))
    for i in range(1, len(order)):
        at = i
        for j in range(i - 1, -1, -1):
            comparison = compare(order[j], order[at], shape, operands)
            if comparison > 0:
                order[j], order[at] = order[at], order[j]
                at = j
            elif comparison < 0:
                break
    return order


def compare(first: int, second: int, shape: Sequence[int], operands: Sequence[Sequence[int]]) -> int:
    """1: `second` is faster than the earlier `first`. -1: the order is right. 0: the operands do not say."""
    for strides in operands:
        left, right = strides[first], strides[second]
        if left == 0 or right == 0:
            continue
        if left != right:
            return -1 if left < right else 1
        if shape[first] > shape[second]:
            return 1
    return 0
