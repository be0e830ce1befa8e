"""Breaks at an instruction that has done nothing yet: the attempt ends where it stands, and what comes before
is translated once.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture
from capture.frame.attempts import Attempts
from capture.report.counters import counters
from tests.capture.policy.test_top_level import same


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions, once for each attempt."""
    begun = []
    begin = Attempts.begin

    def noting(self: Attempts) -> Any:
        begun.append(self.frame.code.co_name)
        return begin(self)

    monkeypatch.setattr(Attempts, "begin", noting)
    return begun


def branch(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    if y.sum() > 0:
        return y + 1
    return y - 1


def in_an_expression(x: torch.Tensor) -> Any:
    y = x * 2
    return [x + 1, (y, 3 if (y > 1).all() else 4), not (y < 0).any(), y - 1]


def in_a_handler(x: torch.Tensor) -> Any:
    y = x * 2
    try:
        while (y < 40).any():
            y = y * 3
            if not y.isfinite().all():
                raise ValueError("too large")
    except ValueError as error:
        return str(error), y
    finally:
        x = x + 1
    return x, y


@pytest.mark.parametrize("function", [branch, in_an_expression, in_a_handler])
@pytest.mark.parametrize("values", [(1.0, 2.0), (-1.0, -2.0), (float("inf"), -1.0), (1.0, 50.0)])
def test_results(function: Callable[[Any], Any], values: tuple[float, ...]) -> None:
    x = torch.tensor(values)
    if function is in_a_handler and min(values) <= 0:
        x = x.abs() + 1
    expected = function(x)
    run = capture.compile(function)
    for _ in range(2):
        assert same(run(x), expected)


def test_a_branch_takes_one_attempt(attempts: list[str]) -> None:
    capture.compile(branch)(torch.ones(3))
    assert attempts == ["branch", "branch"]  # up to the break, and the rest
    assert counters["graph_breaks"] == {"data_dependent_jump": 1}


def trains(x: torch.Tensor) -> torch.Tensor:
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    return loss * 2


def test_a_backward_takes_one_attempt(attempts: list[str]) -> None:
    x = torch.ones(3, requires_grad=True)
    run = capture.compile(trains)
    assert run(x) == 6 and torch.equal(x.grad, torch.full((3,), 2.0))
    assert attempts == ["trains", "trains"]
    assert run(x) == 6 and torch.equal(x.grad, torch.full((3,), 4.0))


def draws(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    chosen = random.sample([1, 2, 3], 3)
    return y + len(chosen)


def test_a_call_that_is_left_to_python_takes_one_attempt(attempts: list[str]) -> None:
    run = capture.compile(draws)
    assert torch.equal(run(torch.ones(3)), draws(torch.ones(3)))
    assert attempts.count("draws") == 2
    assert counters["graph_breaks"] == {"call_skipped": 1}


def compares(x: torch.Tensor) -> Any:
    y = x * 2
    number = y.sum().item()
    return (y, "large") if number > 4 else (y + 1, number)


@pytest.mark.parametrize("value", [1.0, 5.0])
def test_a_comparison(value: float, attempts: list[str]) -> None:
    for _ in range(2):
        assert same(capture.compile(compares)(torch.full((3,), value)), compares(torch.full((3,), value)))


def test_an_instruction_that_has_looked_at_something_takes_two(attempts: list[str]) -> None:
    """What its arguments are is no condition of the part in front of it."""

    def given(x: torch.Tensor, weights: list[torch.Tensor]) -> torch.Tensor:
        loss = x * x
        loss.backward(*weights)
        return loss * 2

    x = torch.ones(3, requires_grad=True)
    run = capture.compile(given)
    run(x, [torch.ones(3)])
    assert attempts == ["given", "given", "given"]
    run(x, [torch.ones(3), False])  # type: ignore[list-item]
    assert torch.equal(x.grad, torch.full((3,), 4.0))


def called(x: torch.Tensor) -> bool:
    return bool((x > 0).all())


def in_a_callee(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    return y + 1 if called(y) else y - 1


def test_a_break_in_a_callee_takes_another_attempt(attempts: list[str]) -> None:
    run = capture.compile(in_a_callee)
    for sign in (1, -1):
        assert torch.equal(run(torch.ones(3) * sign), in_a_callee(torch.ones(3) * sign))
    assert attempts[:2] == ["in_a_callee", "in_a_callee"]


def test_what_can_not_be_rebuilt_breaks_earlier() -> None:
    """The break moves in front of what made the value, as after a second attempt."""

    def makes(x: torch.Tensor) -> Any:
        y = x * 2
        items = (item for item in [y, y + 1])
        first = next(items)
        if first.sum() > 0:
            return [*items]
        return first

    for sign in (1, -1):
        torch.testing.assert_close(capture.compile(makes)(torch.ones(3) * sign), makes(torch.ones(3) * sign))


def test_a_whole_graph_says_why(attempts: list[str]) -> None:
    with pytest.raises(capture.Unsupported, match="a branch depends on the values of a tensor"):
        capture.compile(branch, fullgraph=True)(torch.ones(3))
    assert attempts == ["branch"]
