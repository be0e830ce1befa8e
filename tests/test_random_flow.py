"""Random Python programs, captured, against eager.

Compared: results, errors with their context and lines, printed text, changed objects.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture
from tests.random_flow import Flow, Obj

FAST, SLOW, BATCH = 3, 18, 25  # batches of programs


def plain(value: Any) -> Any:
    """The value in a form that compares exactly; tensors become their rounded elements."""
    if isinstance(value, torch.Tensor):
        elements = [round(number, 4) if number == number else "nan" for number in value.flatten().tolist()]
        return (tuple(value.shape), value.requires_grad, elements)
    if isinstance(value, (list, tuple)):
        return (type(value), [plain(item) for item in value])
    if isinstance(value, dict):
        return [(key, plain(item)) for key, item in value.items()]
    return (type(value), value)


def told(error: BaseException) -> Any:
    """The error and the errors in its context, with the lines of the program that they passed."""
    chain: list[Any] = []
    current: BaseException | None = error
    while current is not None:
        chain.append((type(current), str(current)))
        current = current.__context__
    frames = traceback.extract_tb(error.__traceback__)
    return chain, [(frame.name, frame.lineno) for frame in frames if "random flow" in frame.filename]


def outcome(function: Callable[..., Any], counts: list[int], sign: int, grad: bool, capsys: Any) -> Any:
    """Two calls on one world."""
    x, y, o = (
        torch.tensor([1.0, -2.0, 3.0]) * sign,
        torch.tensor([0.5, 0.25, -1.0], requires_grad=grad),
        Obj(),
    )
    counts[:] = [0]
    results = []
    for n in (2, 3):
        try:
            results.append(plain(function(x, y, n, o)))
        except Exception as error:
            results.append(told(error))
    world = [plain(value) for value in (x, y, o.n, o.items, o.t, o.d, counts[0])]
    return results, world, capsys.readouterr().out


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize(
    "batch", [*range(FAST), *(pytest.param(n, marks=pytest.mark.sweep) for n in range(FAST, SLOW))]
)
def test_same_as_eager(batch: int, backend: str, capsys: Any) -> None:
    first = (batch + (SLOW if backend == "llvm" else 0)) * BATCH
    for seed in range(first, first + BATCH):
        flow = Flow(seed)
        function, counts = flow.function()
        captured = capture.compile(function, backend=backend)
        for sign in (1, -1):
            expected = outcome(function, counts, sign, seed % 3 == 0, capsys)
            assert outcome(captured, counts, sign, seed % 3 == 0, capsys) == expected, (
                f"seed {seed}:\n{flow.source}"
            )
        capture.reset()
