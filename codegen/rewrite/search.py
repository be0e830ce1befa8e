"""Positions in sorted numbers, by a binary search with the steps of eager's own.

In:  values, and the numbers among which they are searched.
Out: positions equal to eager's, also for NaN and for numbers that are not sorted.

    bucketize(x, boundaries)   ->   first, end = 0, n; for each bit of n: middle = (first + end) // 2, and
                                    `first` or `end` moves there
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from codegen.rewrite.rows import rewriting
from codegen.rewrite.simple import NUMBERS

aten = torch.ops.aten
LONGEST = 1 << 14  # longest list of numbers that is searched: 15 steps


def search(
    values: torch.Tensor, count: int, at: Callable[[torch.Tensor], torch.Tensor], right: bool, narrow: bool
) -> torch.Tensor:
    """`at` reads the numbers at given positions."""
    first: Any = aten.zeros_like(values, dtype=torch.int64, memory_format=torch.contiguous_format)
    end: Any = aten.full_like(first, count)
    beyond = aten.gt if right else aten.ge
    for _ in range(count.bit_length()):
        middle = aten.bitwise_right_shift(aten.add(first, end), 1)
        open_yet = aten.lt(first, end)
        lower = beyond(at(aten.clamp_max(middle, count - 1)), values)
        first, end = (
            aten.where(aten.logical_and(open_yet, aten.logical_not(lower)), aten.add(middle, 1), first),
            aten.where(aten.logical_and(open_yet, lower), middle, end),
        )
    return aten._to_copy(first, dtype=torch.int32) if narrow else first


def is_usual(values: torch.Tensor, numbers: torch.Tensor) -> bool:
    return values.dtype is numbers.dtype and numbers.shape[-1] <= LONGEST


@rewriting(aten.bucketize.Tensor, dtypes=NUMBERS, any_size=True)
def bucketize(
    tensor: torch.Tensor, boundaries: torch.Tensor, *, out_int32: bool = False, right: bool = False
) -> Any:
    if boundaries.dim() != 1 or not is_usual(tensor, boundaries):
        return NotImplemented
    count = boundaries.shape[0]
    return search(tensor, count, lambda places: aten._unsafe_index(boundaries, [places]), right, out_int32)


@rewriting(aten.searchsorted.Tensor, dtypes=NUMBERS, any_size=True)
def searchsorted(
    numbers: torch.Tensor,
    values: torch.Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: torch.Tensor | None = None,
) -> Any:
    contradiction = side not in (None, "left", "right") or (side == "left" and right)
    if numbers.dim() == 0 or contradiction or not is_usual(values, numbers):
        return NotImplemented
    if sorter is not None and (sorter.dtype is not torch.int64 or sorter.shape != numbers.shape):
        return NotImplemented
    if numbers.dim() > 1 and numbers.shape[:-1] != values.shape[:-1]:
        return NotImplemented

    def at(places: torch.Tensor) -> torch.Tensor:
        for index in (sorter, numbers):
            if index is not None:
                is_row = index.dim() == 1
                places = aten.index(index, [places]) if is_row else aten.gather(index, -1, places)
        return places

    return search(values, numbers.shape[-1], at, right or side == "right", out_int32)
