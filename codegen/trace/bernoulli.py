"""Fills tensors by `bernoulli_` (the noise of each dropout) with torch's own numbers, in less time.

In:  a new tensor, the chance of a one, a generator.
Out: whether the tensor is filled: as `bernoulli_` would do it, and the generator has moved on as far.

    fill_bernoulli(noise, 0.9)   ->   True: a million elements take 0.8 ms, not 6

torch's generator gives one number after the other; `_capture` makes them in blocks. A build of torch may draw
otherwise (one with MKL does on processors of Intel). So the first call for a type compares the numbers and
the states of two generators.

No other thread may draw meanwhile (native/random/mersenne_twister.c); where one could, `bernoulli_` itself
runs.
"""

from __future__ import annotations

import functools
import math
import os
import sys
import threading
import types
from collections.abc import Callable

import _capture
import torch

# Below this many elements the copies of the state (1 us) and the checks take longer than the numbers.
LEAST_ELEMENTS = 1500

# Functions of the standard library in which threads wait: their frames call nothing that they were given.
LIBRARY = os.path.dirname(threading.__file__) + os.sep
WAITS = frozenset(
    ("wait", "_wait_for_tstate_lock", "_worker", "select", "_poll", "accept", "recv", "_recv", "readinto")
)

Threads = Callable[[], dict[int, types.FrameType]]

# The bits of 1.0.
ONES = {
    torch.float64: 0x3FF0000000000000,
    torch.float32: 0x3F800000,
    torch.bfloat16: 0x3F80,
    torch.float16: 0x3C00,
    torch.bool: 1,
}


def fill_bernoulli(tensor: torch.Tensor, p: float = 0.5, generator: torch.Generator | None = None) -> bool:
    """Whether this has filled the tensor as `tensor.bernoulli_(p, generator=generator)` would. Else nothing
    has been drawn.
    """
    return (
        type(tensor) is torch.Tensor
        and tensor.numel() >= LEAST_ELEMENTS
        and tensor.is_contiguous()
        and 0 <= p <= 1
        and _draws_alike(tensor.dtype)
        and _fill(tensor, p, generator or torch.default_generator, sys._current_frames)
    )


@functools.cache
def _draws_alike(dtype: torch.dtype) -> bool:
    """Whether `_capture` gives the numbers of this torch, and leaves a generator in the same state."""
    if dtype not in ONES or not hasattr(_capture, "fill_bernoulli"):  # a build without the extension
        return False
    # no thread has these
    theirs, ours = (torch.Generator().manual_seed(0) for _ in range(2))
    for count, p in ((5, 0.25), (1999, 0.1), (700, 0.9)):
        expected = torch.empty(count, dtype=dtype).bernoulli_(p, generator=theirs)
        found = torch.empty(count, dtype=dtype)
        if not _fill(found, p, ours, dict) or not torch.equal(expected, found):
            return False
    return torch.equal(theirs.get_state(), ours.get_state())


def _fill(tensor: torch.Tensor, p: float, generator: torch.Generator, threads: Threads) -> bool:
    """False: one of the threads may draw, or the generator has a state that torch's own never reach."""
    memory = (tensor.data_ptr(), tensor.numel())
    one = (tensor.element_size(), ONES[tensor.dtype])
    filled: bool = _capture.fill_bernoulli(
        generator, threads, WAITS, LIBRARY, *memory, math.ceil(p * 2**53), *one
    )
    return filled
