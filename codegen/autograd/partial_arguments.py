"""What the backward for some of the gradients takes of the arguments of the whole backward.

In:  the saved values and tangents of a call, None for the missing ones.
Out: `set_of`: which of them are there. `PartialArguments`: the arguments of the backward that was made for
     such calls (`codegen.autograd.partial_backward`).

    saved (s0, None), tangents (None, t1)   ->   sets (1, 2); arguments [s0, t1, zeros like t0]

A set of values is an int with one bit for each: the first is 1, the second is 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from capture_records import dataclass

Have = tuple[int, int]  # the saved values that are there, and the tangents
Layout = tuple[Sequence[int], Sequence[int], torch.dtype]  # sizes, strides


def set_of(values: Sequence[Any]) -> int:
    """The set of the values that are there."""
    return sum(1 << number for number, value in enumerate(values) if value is not None)


@dataclass(frozen=True, slots=True)
class PartialArguments:
    """The saved values at the positions `saved`, the sent tangents, and zeros of these layouts."""

    saved: list[int]
    zeros: list[Layout]

    def of(
        self,
        saved: Sequence[Any],
        tangents: Sequence[Any],
        in_numbers: Callable[[Sequence[Any]], Sequence[int]] = tuple,
    ) -> list[Any]:
        """`saved`, `tangents`: all arguments of the whole backward; None for those that are not needed.
        `in_numbers` gives sizes or strides without symbols.
        """
        layouts = [(in_numbers(size), in_numbers(strides), dtype) for size, strides, dtype in self.zeros]
        zeros = (torch.empty_strided(*layout, dtype=dtype).zero_() for *layout, dtype in layouts)
        return [*(saved[place] for place in self.saved), *(t for t in tangents if t is not None), *zeros]
