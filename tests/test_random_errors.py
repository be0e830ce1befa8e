"""Random programs that may raise between their changes, against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import capture
from tests.random_errors import RandomErrors, observed

FAST, SLOW, BATCH = 1, 15, 10  # batches of programs


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and torch.allclose(one, other, rtol=1e-5, atol=1e-6, equal_nan=True)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and same([*one.values()], [*other.values()])
    return type(one) is type(other) and bool(one == other)


@pytest.mark.parametrize("backend", ["llvm", "eager"])
@pytest.mark.parametrize(
    "batch", [*range(FAST), *(pytest.param(i, marks=pytest.mark.sweep) for i in range(FAST, SLOW))]
)
def test_as_eager(batch: int, backend: str) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        check(seed, backend)


def check(seed: int, backend: str) -> None:
    program = RandomErrors(seed)
    function = program.function(seed)
    captured = capture.compile(program.function(seed), backend=backend)
    for number, index in enumerate(program.worlds):
        expected = observed(function, index, program.grad)
        found = observed(captured, index, program.grad)
        about = f"seed {seed}, call {number}, index {index}, grad {program.grad}\n{program.source}"
        assert same(expected, found), f"{expected} eager\n{found} captured: {about}"
