"""Functions that a captured frame makes and that outlive it: their cells keep their values."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import capture
from capture.report.config import config


def made(x: torch.Tensor) -> Any:
    y = x + 1

    def inner() -> torch.Tensor:
        return y * 2

    return inner


def holding(value: Any) -> Any:
    return lambda: value


def both(first: Any, second: Any) -> Any:
    parts = (first, second)
    return lambda: sum(part() for part in parts)


def made_of_others(x: torch.Tensor) -> Any:
    return both(holding(x + 1), holding(x * 3))


def made_before_a_break(x: torch.Tensor) -> Any:
    function = both(holding(x + 1), holding(x * 3))
    capture.graph_break()
    return holding(function() + 1)


def stored(x: torch.Tensor) -> Any:
    made = []
    for scale in (1, 2):
        y = x * scale
        made.append(lambda y=y: (y, x))
    return lambda: [function() for function in made][1][0]


@pytest.mark.parametrize("function", [made, made_of_others, made_before_a_break, stored])
def test_returned_function(function: Any) -> None:
    x = torch.arange(3.0)
    captured = capture.compile(function, backend="eager")
    with config.patch(raise_on_error=True):
        for _ in range(2):
            assert torch.equal(captured(x)(), function(x)())
