"""What is known to change behind a graph break is a symbol in the first capture of the resume function."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import capture
from capture.report.counters import counters
from tests.capture.test_cases import same


def found(x: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
    rows = x[x > 0]
    return [(rows, rows * 2)]


def items_of_a_result(x):
    y = x + 1
    [(first, second)] = found(x)  # as many rows as it finds
    return first * second + y.sum()


def number_of_the_turn(x):
    out = []
    for i in range(4):
        y = x * 2 + i
        y = y[y > 0.5]
        out.append(y.sum() * i)
    return out


def number_beside_an_item(x):
    out = []
    for i, (a, b) in enumerate([(x, x + 1), (x + 2, x + 3)]):
        y = a * 2
        y = y[y > 0.5]
        out.append(y.sum() * i + b)
    return out


def counter(x):
    out, step = [], 0
    while step < 4:
        y = x * 2 + step
        y = y[y > 0.5]
        out.append(y.sum() * step)
        step += 1
    return out


def counters_of_nested_loops(x):
    out, step = [], 3
    for _ in range(3):
        for k in range(2):
            y = x * 2 + k
            y = y[y > 0.5]
            out.append(y.sum() * step)
        step += 2
    return out


def item_of_an_argument(xs, breaks):
    y = xs[0] * 2
    if breaks:
        capture.graph_break()
    return y.sum() + xs[0]


def numbers(positive: int) -> Any:
    return torch.arange(20.0) - 19.5 + positive


@pytest.mark.parametrize(
    "program",
    [
        items_of_a_result,
        number_of_the_turn,
        number_beside_an_item,
        counters_of_nested_loops,
    ],
)
def test_resume_functions_are_captured_once(program):
    fast = capture.compile(program)
    for n in (6, 9, 13, 17):
        assert same(fast(numbers(n)), program(numbers(n)))
    assert not counters["recompiles"]


def test_a_counter_is_a_symbol_until_the_loop_ends():
    fast = capture.compile(counter)
    for n in (6, 9, 13, 17):
        assert same(fast(numbers(n)), counter(numbers(n)))
    assert list(counters["recompiles"].values()) == [1]  # the last turn


def test_what_changes_below_an_argument_changes_behind_the_break():
    """The size of the item is a symbol from the second capture on, also in the rest, which is new then."""
    fast = capture.compile(item_of_an_argument)
    for n, breaks in ((5, False), (6, False), (7, True), (8, True), (9, True)):
        xs = [torch.arange(n + 0.0)]
        assert same(fast(xs, breaks), item_of_an_argument(xs, breaks))
    assert dict(counters["recompiles"]) == {"item_of_an_argument": 2}
