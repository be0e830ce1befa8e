"""NumPy's numbers as arguments, and between tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tests.capture.registry import case, default_args


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


@case(graphs=1, ops=6, args=lambda: (torch.ones(3), np.arange(4).reshape(2, 2), np.int64(12)))
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
