"""Arithmetic on sizes: a number, or a list of numbers.

In:  ints, lists of ints (also torch.Size).
Out: an int or a list of ints.

    add([2, 3], 1)   ->   [3, 4]
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

Numbers = Any  # an int, or a list of ints; ints may be symbols


def as_tensor(value: Numbers, dtype: torch.dtype) -> torch.Tensor:
    if isinstance(value, (list, tuple)):
        parts = [torch.full((), number, dtype=dtype) for number in value]
        return torch.stack(parts) if parts else torch.empty(0, dtype=dtype)
    return torch.full((), value, dtype=dtype)


def _each(function: Callable[[Any, Any], Any], a: Numbers, b: Numbers) -> Numbers:
    if not isinstance(a, (list, tuple)) and not isinstance(b, (list, tuple)):
        return function(a, b)
    count = max(len(a) if isinstance(a, (list, tuple)) else 1, len(b) if isinstance(b, (list, tuple)) else 1)
    return [function(x, y) for x, y in zip(_spread(a, count), _spread(b, count))]


def _spread(value: Numbers, count: int) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) not in (1, count):
        raise ValueError(f"{len(value)} sizes and {count} sizes don't fit")
    return list(value) * (count if len(value) == 1 else 1)


def add(a: Numbers, b: Numbers) -> Numbers:
    return _each(operator.add, a, b)


def sub(a: Numbers, b: Numbers) -> Numbers:
    return _each(operator.sub, a, b)


def mul(a: Numbers, b: Numbers) -> Numbers:
    return _each(operator.mul, a, b)


def floordiv(a: Numbers, b: Numbers) -> Numbers:
    return _each(operator.floordiv, a, b)


def mod(a: Numbers, b: Numbers) -> Numbers:
    return _each(operator.mod, a, b)


def maximum(a: Numbers, b: Numbers) -> Numbers:
    return _each(max, a, b)


def minimum(a: Numbers, b: Numbers) -> Numbers:
    return _each(min, a, b)


def product(values: Sequence[int]) -> int:
    return math.prod(values)


def pack(*values: int) -> list[int]:
    return list(values)


def join(*lists: Sequence[int]) -> list[int]:
    return [number for values in lists for number in values]


def pick(values: Sequence[int], index: Numbers) -> Numbers:
    """values[index], or those of a list of indices."""
    if isinstance(index, (list, tuple)):
        return [pick(values, number) for number in index]
    if not 0 <= index < len(values):
        raise IndexError(f"index {index} of {len(values)} sizes")
    return values[index]


def at(values: Sequence[int], index: int) -> int:
    """values[index]; a negative index counts from behind."""
    return values[index]


def part(values: Sequence[int], begin: int | None, end: int | None, step: int) -> list[int]:
    return list(values)[begin:end:step]


def number_range(start: int, limit: int, delta: int) -> list[int]:
    return list(range(start, limit, delta))


def first(values: Sequence[int]) -> int:
    """The only number of a list."""
    if len(values) != 1:
        raise ValueError(f"one size is wanted, there are {len(values)}")
    return values[0]
