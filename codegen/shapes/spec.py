"""What comes in: an operator's arguments (fake tensors, numbers). What goes out: a `Spec` for each new tensor.

    RULES[aten.mm.default]((x, w), {})   ->   Spec((3, 5), (5, 1), torch.float32)

torch has the same knowledge in its meta kernels, most of them written in Python on top of `symbolic_shapes`: 60-120 us a call and 0.3 s for
the first. These rules cover the usual operators on tensors of static size at 1-5 us. A rule that is not sure answers `NotImplemented`
(an unusual layout, an argument that eager would refuse): then torch's meta kernel decides, and raises eager's error.
"""

from __future__ import annotations

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
RULES: dict[OpOverload, ShapeRule] = {}


def shape_rule(*names: str) -> Callable[[ShapeRule], ShapeRule]:
    """Register for operators by name: `"mm"` is `aten.mm.default`, `"sum.dim_IntList"` an overload."""

    def register(body: ShapeRule) -> ShapeRule:
        for name in names:
            packet, _, overload = name.partition(".")
            RULES[getattr(getattr(aten, packet), overload or "default")] = body
        return body

    return register


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    strides = [1] * len(shape)
    for dim in range(len(shape) - 2, -1, -1):
        strides[dim] = strides[dim + 1] * max(shape[dim + 1], 1)
    return tuple(strides)


def contiguous(shape: Sequence[int], dtype: torch.dtype) -> Spec:
    return Spec(tuple(shape), row_major(shape), dtype)


def is_contiguous(tensor: torch.Tensor) -> bool:
    """As `Tensor.is_contiguous()`: the stride of a dim of size 1 does not matter."""
    return tensor.is_contiguous()


def like(tensor: torch.Tensor, dtype: torch.dtype | None = None) -> Spec:
    """As `empty_like` with `torch.preserve_format`: strides kept where dense and not overlapping, else by the elementwise rule."""
    shape, strides = tuple(tensor.shape), tensor.stride()
    return Spec(shape, dense_strides(shape, (strides,)), dtype or tensor.dtype)


def is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """No gaps, no overlaps, in some order of the dims."""
    expected = 1
    for stride, size in sorted(((stride, size) for size, stride in zip(shape, strides) if size != 1)):
        if size == 0:
            return True
        if stride != expected:
            return False
        expected *= size
    return True


def dense_strides(shape: tuple[int, ...], operands: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The strides that TensorIterator gives an output it allocates; `operands` are the inputs' strides broadcast to `shape` (0 where
    expanded): the layout of the inputs where they agree, else their dims in the order of the first inputs' strides."""
    if not operands or not shape:
        return row_major(shape)
    contiguous_strides = row_major(shape)
    if all(same_layout(shape, strides, contiguous_strides) for strides in operands):
        return contiguous_strides
    first = tuple(operands[0])
    if all(tuple(strides) == first for strides in operands) and is_dense(shape, first):
        return first
    if 0 in shape:
        return row_major(shape) if len(operands) > 1 else permuted(shape, operands)
    return permuted(shape, operands)


def same_layout(shape: Sequence[int], left: Sequence[int], right: Sequence[int]) -> bool:
    return all(size == 1 or a == b for size, a, b in zip(shape, left, right))


def permuted(shape: tuple[int, ...], operands: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Dims ordered from fastest to slowest, by insertion, as the operands' strides say; then packed in that order."""
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
    strides, step = [0] * len(shape), 1
    for dim in order:
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def compare(first: int, second: int, shape: Sequence[int], operands: Sequence[Sequence[int]]) -> int:
    """1: `second` is faster than `first`, which stands before it; -1: the order is right; 0: the operands do not say."""
    for strides in operands:
        left, right = strides[first], strides[second]
        if left == 0 or right == 0:
            continue
        if left != right:
            return -1 if left < right else 1
        if shape[first] > shape[second]:
            return 1
    return 0
