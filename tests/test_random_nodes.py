"""Random uses of the nodes of random programs, captured, against eager: gradients, hooks, errors."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import capture
from tests.random_nodes import Log, RandomNodes, play

FAST, SLOW, BATCH = 1, 5, 20  # batches of programs


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and torch.allclose(one, other, rtol=1e-6, atol=1e-8, equal_nan=True)
    return type(one) is type(other) and one == other


def difference(expected: Log, found: Log) -> str:
    """What eager logs before the step with its first error, which need not be one here."""
    if expected and expected[-1][0] == "error":  # a step that fails has run other hooks by then
        while expected and expected[-1][0] != "state":
            expected = expected[:-1]
        found = found[: len(expected)]
    for i, entry in enumerate(expected):
        if i == len(found) or len(entry) != len(found[i]) or not all(map(same, entry, found[i])):
            return f"{entry} eager, {found[i] if i < len(found) else 'nothing'} captured"
    return "" if len(found) == len(expected) else f"{found[len(expected)]} captured"


@pytest.mark.parametrize("backend", ["llvm", "aot_eager"])
@pytest.mark.parametrize(
    "batch", [*range(FAST), *(pytest.param(i, marks=pytest.mark.sweep) for i in range(FAST, SLOW))]
)
def test_as_eager(batch: int, backend: str) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        check(seed, backend)


@pytest.mark.parametrize("seed", [1191])
def test_programs_that_were_wrong(seed: int) -> None:
    check(seed, "llvm")


def check(seed: int, backend: str) -> None:
    program = RandomNodes(seed)
    function = program.function()
    captured = capture.compile(function, backend=backend)
    for steps in program.scenarios:
        expected, found = play(function, steps), play(captured, steps)
        assert difference(expected, found) == "", f"seed {seed}: {steps}\n{program.source}"
