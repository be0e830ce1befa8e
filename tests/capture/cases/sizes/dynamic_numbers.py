"""Ints and floats that change: arguments, closures, attributes (see dynamic_registry)."""

from __future__ import annotations

import math
from types import SimpleNamespace

import torch
import torch.nn.functional as F

from tests.capture.cases.sizes.dynamic_registry import calls, rows, tensor, with_int


def adding(n):
    return lambda x: x + n


# --- ints -------------------------------------------------------------------------------------------------


@calls([(adding(n), tensor(3, 4)) for n in (2, 3, 5, 7)], graphs=2, dynamic=None)
def ints_in_closures(f, x):
    return f(x)


@calls(with_int(0, 1, 2, 1, 0), graphs=1)
def an_index(x, n):
    return x[n]


@calls(with_int(2, 3, 4), graphs=3)  # guards compute with at most 64 bits: the int is a constant
def a_limit_of_seventy_bits(x, n):
    return (x + n if n < 2**70 else x), n + 2**64


@calls(with_int(0, 1, 2, 0), graphs=2, dynamic=None)
def an_index_that_changed(x, n):
    return x[n]


class Fixed(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.sizes = {"n": n}

    def forward(self, x):
        return x + self.sizes["n"]


@calls([(Fixed(n), tensor(3, 4)) for n in (2, 3, 5)], graphs=3)
def ints_inside_of_a_modules_attribute(module, x):
    return module(x)


def with_default(x, n=3):
    return x + n


@calls([(tensor(3, 4),)] * 2, graphs=1, ops=1)
def a_default_is_a_constant(x):
    return with_default(x)


# --- floats -----------------------------------------------------------------------------------------------


@calls(with_int(1.5, 2.5, -0.0, float("inf")), graphs=1, ops=3)
def floats_in_lists_of_a_tensor(x, f):
    return torch.tensor([f, 2]), torch.tensor([[f], [x.shape[1]]])


@calls(rows(2, 3, 5), graphs=1, ops=4)
def quotients_of_sizes_in_lists_of_a_tensor(x):
    return torch.tensor([x.shape[0] / 2, True]), torch.tensor(list(x.shape), dtype=torch.float32), x + 1


@calls(rows(2, 3), graphs=2)
def sizes_beside_complex_numbers(x):
    return torch.tensor([x.shape[0], 1j]), x + 1


@calls(with_int(2.5, 3.5, 5.0, 0.0, -2.0, math.inf), graphs=1, ops=2)
def a_summand(x, s):
    return x + s


@calls(with_int(2.5, 3.5, 5.0), graphs=2, ops=3, dynamic=None)
def a_factor_that_changed(x, s):
    return x * s


@calls(with_int(2.5, 3.5, 5.0), graphs=3, ops=3, dynamic=False)
def a_factor_is_a_number(x, s):
    return x * s


@calls(with_int(2.5, 3.5, 5.0, 1.0, math.inf), graphs=2)
def a_branch(x, s):
    return x + 1 if s > 3 else x - 1


@calls(with_int(2.5, 3.5, 5.0, 3.5), graphs=2)
def a_value_that_is_looked_for(x, s):
    return x + 1 if s == 3.5 else x + s


@calls(with_int(2.5, 0.0, -1.0, -0.0), graphs=2)
def is_it_zero(x, s):
    return x + 1 if s else x - 1


@calls(with_int(2.5, 3.5, 9.0), graphs=1)
def arithmetic(x, s):
    return x + 1 / s, x * s**2, x - abs(-s), x / math.sqrt(s), x + max(s, 3.0), x - min(s, 3.0)


@calls(with_int(2.5, 3.5, 9.0), graphs=1)
def rounded(x, s):
    return x + int(s), x.new_zeros(math.floor(s)), x * round(s)


@calls(with_int(0.1, 0.2, 0.3), graphs=1)
def operators_that_take_numbers(x, s):
    return (
        F.leaky_relu(x, s),
        torch.clamp(x, max=s),
        torch.full((2,), s),
        x.masked_fill(x > 1, s),
        torch.tensor(s),
    )


@calls(with_int(0.0, -0.0, 0.0), graphs=2)
def zero_has_two_forms(x, s):
    return x + 1, str(s), len(str(s))


@calls(with_int(0.0, -0.0, 0.0), graphs=2)
def zero_that_is_computed_has_two_forms(x, s):
    return x + 1, str(s * 2).strip()


@calls(with_int(2.5, math.nan, math.inf, 3.5), graphs=2)
def not_a_number(x, s):
    return x.sum() if s > 1 else x + 1


@calls(with_int(2.5, 3.5), graphs=1)
def floats_are_returned(x, s):
    return x + 1, s, s * 2, [s + 1]


@calls(with_int(2, 2.5, 3, 3.5), graphs=2)
def an_int_or_a_float(x, s):
    return x * s


@calls([(tensor(n, 4), s) for n, s in ((3, 2.5), (5, 3.5), (6, 4.5))], graphs=1)
def floats_and_sizes(x, s):
    return x * (s * x.shape[0]) + s


@calls([(tensor(3, 4), [SimpleNamespace(lr=s)]) for s in (0.1, 0.2, 0.3)], graphs=2, dynamic=None)
def floats_in_objects(x, groups):
    return x - groups[0].lr * x


class Slope(torch.nn.Module):
    def __init__(self, slope):
        super().__init__()
        self.slope = slope

    def forward(self, x):
        return F.leaky_relu(x - 1, self.slope)


@calls([(Slope(s), tensor(3, 4)) for s in (0.1, 0.2, 0.3)], graphs=2, dynamic=None)
def floats_of_modules_once_they_changed(module, x):
    return module(x)


@calls([(Slope(s), tensor(3, 4)) for s in (0.1, 0.1)], graphs=1, ops=2)
def floats_of_modules_are_constants(module, x):
    return module(x)


@calls(with_int(2, 3, 4), graphs=3)
def formats_that_ints_refuse(x, n):
    errors = []
    for spec in ("z", ".2d", "q", "5d"):
        try:
            errors.append(f"{n:{spec}}")
        except ValueError as error:
            errors.append(str(error))
    return x + n, errors
