"""Random worlds that change between calls, captured, against eager: results and errors of each call."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import capture
from tests.random_worlds import RandomWorld

FAST, SLOW, BATCH = 1, 5, 20  # batches of worlds


def outcome(function: Any, world: dict[str, Any]) -> Any:
    torch.manual_seed(3)
    x = torch.arange(float(max(world["x_shape"], 1)), dtype=world["x_dtype"])
    x = x.requires_grad_() if world["x_grad"] else x
    try:
        with torch.set_grad_enabled(world["grad"]):
            result = function(x)
        if result.requires_grad:
            result.backward()
            gradient = None if x.grad is None else [round(g, 4) for g in x.grad.flatten().tolist()]
            return result.dtype, tuple(result.shape), round(result.item(), 3), gradient
        return result.dtype, tuple(result.shape), [round(value, 3) for value in result.flatten().tolist()]
    except Exception as error:
        return type(error), str(error)


def change(text: str, world: dict[str, Any]) -> Any:
    torch.manual_seed(5)
    try:
        exec(compile(text, "<change>", "exec"), world)
    except Exception as error:
        return type(error), str(error)
    return None


def differences(seed: int, backend: str) -> list[str]:
    """The differences, at the first call that has some."""
    random_world = RandomWorld(seed)
    eager = random_world.namespace(lambda: None)
    ours = random_world.namespace(capture.graph_break)
    captured = capture.compile(ours["f"], backend=backend)
    done: list[str] = []
    for changes in [[], [], *random_world.changes]:
        for text in changes:
            assert (change(text, eager) is None) == (change(text, ours) is None), text
            done.append(text)
        expected, got = outcome(eager["f"], eager), outcome(captured, ours)
        if repr(expected) != repr(got):
            return [f"seed {seed}: {expected} eager, {got} captured, after {done}", random_world.source]
    return []


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize(
    "batch", [*range(FAST), *(pytest.param(i, marks=pytest.mark.sweep) for i in range(FAST, SLOW))]
)
def test_worlds_change_as_in_eager(backend: str, batch: int) -> None:
    wrong = []
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        capture.reset()
        wrong += differences(seed, backend)
    assert not wrong, "\n".join(wrong)
