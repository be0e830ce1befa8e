"""NumPy's numbers as arguments, and between tensors."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import torch

from tests.capture.cases.registry import case, default_args


def integer() -> tuple[Any, ...]:
    return *default_args(), np.int64(3)


def float32() -> tuple[Any, ...]:
    return *default_args(), np.float32(1.25)


def float64() -> tuple[Any, ...]:
    return *default_args(), np.float64(1.25)


def half() -> tuple[Any, ...]:
    return *default_args(), np.float16(1.25)


@case(graphs=1, ops=4, args=integer)
def integer_between_tensors(x, n):
    return x + n, n * x, x > n, 3 - n


@case(graphs=1, ops=5, args=float64)
def number_of_double_precision_leaves_float_tensors_floats(x, n):
    return x + n, n - x, x.to(torch.float16) * n, n / 2


@case(graphs=1, ops=6, args=float64)
def tensors_of_integers_take_the_default_dtype(x, n):
    return x.int() + n, torch.tensor(2) < n


@case(graphs=1, ops=2, args=float32)
def single_precision_between_integers(x, n):
    return x.int() * n, n


@case(graphs=1, ops=2, args=half)
def half_precision_between_tensors(x, n):
    return x * n + n


@case(graphs=1, ops=2, args=float32)
def added_in_place(x, n):
    x += n
    x *= n
    return x


@case(graphs=1, ops=7, args=lambda: (torch.ones(3), np.arange(4).reshape(2, 2), np.int64(12)))
def sum_of_an_array_between_tensors(x, y, n):
    return x + y.sum() + n, y[0][1] / 68


class Settings:
    def __init__(self) -> None:
        self.scale = np.float64(0.5)


@case(graphs=1, ops=2, args=lambda: (*default_args(), Settings()))
def attribute_that_is_a_number(x, settings):
    settings.scale = settings.scale + 1
    return x * settings.scale, isinstance(settings.scale, float), type(settings.scale)


@case(graphs=1, ops=1, args=float64)
def branch_on_a_number(x, n):
    if n > 1:
        return "more"
    return "less"


def two_integers() -> tuple[Any, ...]:
    return *default_args(), np.int64(12), 10


@case(graphs=1, ops=2, args=two_integers)
def largest_of_numbers(x, n, m):
    return x + 1, max(n, m), min(n - 4, m)


@case(graphs=1, ops=2, args=integer)
def branch_decided_by_a_number(x, n):
    if n > 2:
        return x + 1
    return x - 1


@case(graphs=1, ops=5, args=integer)
def number_as_size_and_index(x, n):
    return x.sum().expand(n), x[: int(n)], torch.zeros(n), [1, 2, 3, 4][n], range(n), x[n - 1]


@case(graphs=1, args=float64)
def number_as_contents_of_a_tensor(x, n):
    return torch.tensor([n, n]), x + 1


@case(graphs=1, ops=1, args=float32)
def number_as_python_number_and_text(x, n):
    return x * float(n), int(n), round(n), n.item(), str(n), f"{n:.1f}", bool(n), not n


@case(graphs=None)
def numbers_are_compared_with_lists(x):
    number = np.float32(2)
    return x + 1, ([1, 2] == number).tolist(), (collections.deque([2.0]) != number).tolist(), number == 2
