"""Parts of tensors, as TensorFlow chooses them.

In:  tensors; positions as numbers.
Out: tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F


def given_or(value: torch.Tensor | None, default: torch.Tensor) -> torch.Tensor:
    """An argument with a default."""
    return default if value is None else value


def slice_of(x: torch.Tensor, begin: Sequence[int], size: Sequence[int]) -> torch.Tensor:
    """`size` elements from `begin` on; -1 takes the rest."""
    if len(begin) != x.dim() or len(size) != x.dim():
        raise ValueError(
            f"Slice: {len(begin)} positions and {len(size)} sizes for a tensor of rank {x.dim()}"
        )
    for dim, (start, length) in enumerate(zip(begin, size)):
        x = torch.narrow(x, dim, start, x.shape[dim] - start if length == -1 else length)
    return x


def strided_slice(
    x: torch.Tensor,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    kinds: Sequence[str],
) -> torch.Tensor:
    """x[begin:end:stride, ...]. `kinds` has the letters of each place: "n" is a new dimension, "." all those
    that no other place takes, "i" one index, "b" and "e" are open at begin and end.
    """
    taken = sum(kind not in ("n", ".") for kind in kinds)
    if taken > x.dim():
        raise IndexError(f"StridedSlice: {taken} places for a tensor of rank {x.dim()}")
    dim = 0
    for place, kind in enumerate(kinds):
        if kind == "n":
            x = x.unsqueeze(dim)
            dim += 1
        elif kind == ".":
            dim += x.dim() - dim - sum(later not in ("n", ".") for later in kinds[place + 1 :])
        elif kind == "i":
            x = x.select(dim, begin[place])
        else:
            first = None if "b" in kind else begin[place]
            x = _along(x, dim, first, None if "e" in kind else end[place], strides[place])
            dim += 1
    return x


def _along(x: torch.Tensor, dim: int, begin: int | None, end: int | None, stride: int) -> torch.Tensor:
    if stride == 0:
        raise ValueError("StridedSlice: a stride is 0")
    index: Any = (slice(None),) * dim
    if stride > 0:
        return x[(*index, slice(begin, end, stride))]
    start, stop, step = slice(begin, end, stride).indices(x.shape[dim])
    count = max(-((start - stop) // step), 0)
    if count == 0:
        return x[(*index, slice(0, 0))]
    return x[(*index, slice(start + (count - 1) * step, start + 1, -step))].flip(dim)


def gather(x: torch.Tensor, indices: torch.Tensor, axis: int) -> torch.Tensor:
    axis = axis + x.dim() if axis < 0 else axis
    found = torch.index_select(x, axis, indices.reshape(-1))
    return found.reshape([*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]])


def one_hot(
    indices: torch.Tensor, depth: int, on: torch.Tensor, off: torch.Tensor, axis: int
) -> torch.Tensor:
    axis = axis + indices.dim() + 1 if axis < 0 else axis
    shape = [1] * (indices.dim() + 1)
    shape[axis] = depth
    places = torch.arange(depth, dtype=indices.dtype).reshape(shape)
    return torch.where(indices.unsqueeze(axis) == places, on, off)


def split(x: torch.Tensor, axis: int, count: int) -> tuple[torch.Tensor, ...]:
    """`count` parts of one size."""
    if x.shape[axis] % count:
        raise ValueError(f"Split: {x.shape[axis]} elements can't be split into {count} equal parts")
    return torch.split(x, x.shape[axis] // count, axis) if x.shape[axis] else (x,) * count


def split_sizes(x: torch.Tensor, sizes: Sequence[int], axis: int) -> tuple[torch.Tensor, ...]:
    """Parts of these sizes; -1 takes the rest."""
    rest = x.shape[axis] - sum(size for size in sizes if size != -1)
    return torch.split(x, [rest if size == -1 else size for size in sizes], axis)


def select(condition: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """A vector of conditions chooses whole rows."""
    if condition.dim() == 1 and x.dim() > 1:
        condition = condition.reshape(-1, *[1] * (x.dim() - 1))
    return torch.where(condition, x, y)


def pad(x: torch.Tensor, paddings: Sequence[Sequence[int]], value: float | bool) -> torch.Tensor:
    return F.pad(x, [amount for pair in reversed(list(paddings)) for amount in pair], value=value)


def product(x: torch.Tensor, axes: Sequence[int], keepdim: bool) -> torch.Tensor:
    axes = [axis % x.dim() for axis in axes] if x.dim() else []
    for axis in sorted(axes, reverse=True):
        x = torch.prod(x, axis, keepdim=keepdim, dtype=x.dtype)
    return x
