"""Writes that are left to eager, which may refuse them or may do them in another way.

In:  an operator that writes, the values that it would write, the tensors that they go to.
Out: nothing, or `UntraceableError`: the operator runs as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch._ops import OpOverload

from codegen.fake.shapes.spec import can_cast
from codegen.kernel.errors import UntraceableError


def check_drawn(func: OpOverload, value: torch.Tensor, target: torch.Tensor) -> None:
    """Random numbers are drawn in the order of the memory."""
    if torch.Tag.nondeterministic_seeded in func.tags and value.stride() != target.stride():
        raise UntraceableError(f"a call of {func} with a tensor of other strides than its result")


def check_out_dtypes(func: OpOverload, made: Sequence[Any], targets: Sequence[torch.Tensor]) -> None:
    """Raises where a tensor given by `out=` has another dtype than the result.

    Some kernels convert then, others raise; only eager knows which.
    """
    if any(a.is_out for a in func._schema.arguments) and any(
        value.dtype is not target.dtype for value, target in zip(made, targets)
    ):
        raise UntraceableError(f"a call of {func} with a tensor of another dtype than its result")


def check_cast(value: torch.Tensor, target: torch.Tensor) -> None:
    """Eager refuses some writes, such as floats to integers."""
    if not can_cast(value.dtype, target.dtype):
        raise UntraceableError(f"a write of {value.dtype} to a tensor of {target.dtype}")


def check_overlap(func: OpOverload, target: torch.Tensor, operand: torch.Tensor) -> None:
    """Raises where a written tensor has elements of an operand in other places.

    Eager refuses `x[1:].add_(x[:-1])`, whose tensors are dense. Of tensors with gaps it refuses none: the
    result depends on the order in which its kernel writes, as in `x[::2][1:].add_(x[::2][:-1])`.
    """
    if target is operand or not (target.numel() and operand.numel()):
        return
    if _is_dense(target) and _is_dense(operand):
        (begin, end), (other_begin, other_end) = _bytes_of(target), _bytes_of(operand)
        if (begin, end) == (other_begin, other_end):
            is_mixed = target.stride() != operand.stride()
        else:
            is_mixed = begin < other_end and other_begin < end
    else:
        is_mixed = not _same_places(target, operand) and _may_share(target, operand)
    if is_mixed:
        raise UntraceableError(f"a call of {func} that writes to a part of one of its operands")


def overlaps_itself(sizes: Iterable[Any], strides: Iterable[Any]) -> bool:
    """Whether elements may share places: a step is not longer than what the shorter ones span."""
    span = 0
    for stride, size in sorted(zip(strides, sizes)):
        if size > 1 and stride <= span:
            return True
        span += stride * (size - 1)
    return False


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether the elements fill their memory without gaps, in some order of the dims."""
    expected = 1
    dims = ((stride, size) for stride, size in zip(tensor.stride(), tensor.shape) if size != 1)
    for stride, size in sorted(dims):
        if stride != expected:
            return False
        expected *= size
    return tensor.numel() > 0


def _bytes_of(tensor: torch.Tensor) -> tuple[Any, Any]:
    begin = tensor.storage_offset() * tensor.element_size()
    return begin, begin + tensor.numel() * tensor.element_size()


def _same_places(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether each element is at the place of the same element of the other tensor."""
    return (
        one.dtype is other.dtype
        and one.storage_offset() == other.storage_offset()
        and one.shape == other.shape
        and all(size == 1 or a == b for size, a, b in zip(one.shape, one.stride(), other.stride()))
    )


Dim = tuple[Any, Any, Any]  # a stride, and the number of elements of each of two tensors along it


def _may_share(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors on one memory may have an element in common: False for `x[:, 0]` and `x[:, 1:]`."""
    dims = _common_dims(one, other)
    if dims is None or one.element_size() != other.element_size():
        return True
    return _reaches(one.storage_offset() - other.storage_offset(), sorted(dims, reverse=True))


def _common_dims(one: torch.Tensor, other: torch.Tensor) -> list[Dim] | None:
    """Their dims as they are broadcast; None where the strides differ."""
    found: list[Dim] = []
    rank = max(one.dim(), other.dim())
    sides = [
        [(0, 1)] * (rank - tensor.dim()) + [*zip(tensor.stride(), tensor.shape)] for tensor in (one, other)
    ]
    for (stride, size), (other_stride, other_size) in zip(*sides, strict=True):
        if size != 1 and other_size != 1 and stride != other_stride:
            return None
        if size != 1 or other_size != 1:
            found.append((stride if size != 1 else other_stride, size, other_size))
    return found


def _reaches(distance: Any, dims: list[Dim]) -> bool:
    """Whether steps along the dims, the longest first, can make up for the distance of the first elements.

    Where the inner dims span less than one step, only the two numbers of steps next to the quotient can.
    """
    if not dims:
        return bool(distance == 0)
    (stride, size, other_size), *inner = dims
    if stride <= sum(step * (max(a, b) - 1) for step, a, b in inner):
        return True
    steps = -(distance // stride)
    return any(
        -other_size < count < size and _reaches(distance + count * stride, inner)
        for count in (steps, steps - 1)
    )
