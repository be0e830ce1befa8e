"""Random programs about views, hooks, saved tensors, identity and objects that die, against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import capture
from tests.random_objects import RandomObjects, observed

FAST, SLOW, BATCH = 1, 3, 10  # batches of programs


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and torch.allclose(one, other, rtol=1e-6, atol=1e-8, equal_nan=True)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


@pytest.mark.parametrize("backend", ["llvm", "aot_eager"])
@pytest.mark.parametrize(
    "batch", [*range(FAST), *(pytest.param(i, marks=pytest.mark.sweep) for i in range(FAST, SLOW))]
)
def test_as_eager(batch: int, backend: str) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        check(seed, backend)


def check(seed: int, backend: str) -> None:
    program = RandomObjects(seed)
    function = program.function()
    captured = capture.compile(program.function(), backend=backend)
    for world in program.worlds:
        for call in range(2):
            expected, found = observed(function, world), observed(captured, world)
            about = f"seed {seed}, call {call} of {world}\n{program.source}"
            if "lost view" in (expected[-1][0], found[-1][0]):
                break
            for one, other in zip(expected, found):
                assert one[0] == other[0], f"{one} eager, {other} captured: {about}"
                assert same(one[1], other[1]), f"{one} eager, {other} captured: {about}"
            assert len(expected) == len(found), (
                f"{expected[len(found) :]} eager, {found[len(expected) :]}: {about}"
            )
