"""Ints that leave 64 bits in an operation, and floats for which Python raises: its answers, no warning."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import capture

INTS = (3, 4, 5, 2**31, 2**32, -(2**32), 2**62, -(2**63), 2**63 - 1, 6)


def remainder(x, n):
    return x * (n * n % 7), n * n * n // 3


def branch_on_a_square(x, n):
    return x + 1 if n * n < 100 else x - 1


def branch_on_a_sum(x, n):
    return x + 1 if n + 2**62 < 2**63 - 1 else x - 1


def branch_on_a_shift(x, n):
    return x + 1 if (n << 3) < 1000 else x - 1


def rounded_to_tens(x, n):
    return x + round(n, -1) % 1000


def outcome(function: Any, number: Any) -> Any:
    try:
        result = function(torch.ones(1, dtype=torch.float64), number)
    except ArithmeticError as error:
        return type(error), str(error)
    return [
        part.item() if isinstance(part, torch.Tensor) else part
        for part in torch.utils._pytree.tree_leaves(result)
    ]


@pytest.mark.filterwarnings("error::capture.report.errors.CaptureWarning")
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    "function", [remainder, branch_on_a_square, branch_on_a_sum, branch_on_a_shift, rounded_to_tens]
)
def test_ints(function: Any, dynamic: bool | None) -> None:
    with capture.config.patch(recompile_limit=20):
        compiled = capture.compile(function, dynamic=dynamic)
        for number in INTS:
            assert outcome(compiled, number) == outcome(function, number), number


@pytest.mark.filterwarnings("error::capture.report.errors.CaptureWarning")
@pytest.mark.parametrize("power", [lambda x, a: x * a**2, lambda x, a: x * pow(a, 3), lambda x, a: x * a**a])
def test_powers_of_floats(power: Any) -> None:
    compiled = capture.compile(power, dynamic=True)
    for number in (1.5, 2.5, 3.5, 1e300, 2.0):
        assert outcome(compiled, number) == outcome(power, number)
