"""Numbers that a frame counts up are symbols before the rest of the frame is translated."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import capture
from capture.frame.attempts import Attempts

pytestmark = pytest.mark.usefixtures("fresh")
MANY = 20  # operations behind the counter

steps = 5
state = {"steps": 7}


class Counted(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps, self.decay = 3, 0.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        self.decay *= 0.9
        return _long(x) * self.steps + self.decay


def _long(x: torch.Tensor) -> torch.Tensor:
    for _ in range(MANY):
        x = x * 1.01
    return x


def of_global(x: torch.Tensor) -> torch.Tensor:
    global steps
    steps += 2
    return _long(x) * steps


def of_dict(x: torch.Tensor) -> torch.Tensor:
    state["steps"] *= 2
    return _long(x) * state["steps"]


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The instructions of each attempt that ended without an entry."""
    found: list[int] = []
    follow = Attempts.follow

    def noted(self: Attempts, signal: Any, tx: Any) -> None:
        found.append(tx.output.budget.instructions)
        follow(self, signal, tx)

    monkeypatch.setattr(Attempts, "follow", noted)
    return found


def check(function: Any, expected: Any) -> None:
    compiled = capture.compile(function)
    for _ in range(5):
        torch.testing.assert_close(compiled(torch.ones(3)), expected(torch.ones(3)))
    assert not sum(capture.counters["recompiles"].values())


def test_attributes(lost: list[int]) -> None:
    check(Counted(), Counted())
    assert len(lost) == 2 and max(lost) < MANY


def test_globals(lost: list[int]) -> None:
    numbers = iter(range(7, 99, 2))
    check(of_global, lambda x: _long(x) * next(numbers))
    assert len(lost) == 1 and max(lost) < MANY


def test_items_of_dicts(lost: list[int]) -> None:
    numbers = iter([7 * 2**n for n in range(1, 9)])
    check(of_dict, lambda x: _long(x) * next(numbers))
    assert len(lost) == 1 and max(lost) < MANY


def test_many_counters_end_few_attempts(lost: list[int]) -> None:
    class Many:
        def __init__(self) -> None:
            self.a = self.b = self.c = self.d = self.e = 0

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            self.a += 1
            self.b += 2
            self.c += 3
            self.d += 4
            self.e += 5
            return _long(x) * self.a + self.b + self.c + self.d + self.e

    check(Many(), Many())
    assert len(lost) == 4  # the last two counters show at the end


def test_counters_that_go_back(lost: list[int]) -> None:
    class Nested:
        def __init__(self) -> None:
            self.depth = 0

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            self.depth += 1
            try:
                return x if self.depth > 3 else x + self.depth
            finally:
                self.depth -= 1

    check(Nested(), Nested())
    assert not lost
