"""Loops whose length changes, and numbers that change in each call: the number of entries stays small.

Each program runs ten times in eager and captured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn as nn

import capture
from capture.report.config import config
from capture.report.counters import counters
from tests.capture.test_cases import same

CALLS = 10


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(4, 8)

    def forward(self, x, state=None):
        for t in range(x.size(0)):
            state = self.cell(x[t], state)
        return state


class OverRows(Recurrent):
    def forward(self, x, state=None):
        for row in x:
            state = self.cell(row, state)
        return state


class OverNumberedRows(Recurrent):
    def forward(self, x, state=None):
        for i, (row, same_row) in enumerate(zip(x, x * 2)):
            state = self.cell(row + same_row * i, state)
        return state


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.steps = 0

    def forward(self, x):
        self.steps += 1
        y = self.linear(x)
        return y * 2 if self.steps % 4 == 0 else y


def counting_in_a_cell() -> Any:
    steps = 0

    def count(x: torch.Tensor) -> torch.Tensor:
        nonlocal steps
        scale = 1.0 + 0.5 * steps
        steps += 1
        return x * scale

    return count


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(12))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            capture.graph_break()
        return x


class NumberedLayers(Layers):
    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x) * i
            capture.graph_break()
        return x


class Average(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        self.calls += 1
        return x * (1.0 / float(self.calls))


def sequence(i: int) -> torch.Tensor:
    return torch.ones(3 + i, 2, 4) * i


def sum_of_list(held: list[Any], x: torch.Tensor) -> torch.Tensor:
    held.append(x)
    total = x * 0
    for item in held:
        total = total + item * 2
    return total


def discounted(rewards: list[float], x: torch.Tensor) -> torch.Tensor:
    returns: list[float] = []
    total = 0.0
    for reward in rewards[::-1]:
        total = reward + 0.5 * total
        returns.insert(0, total)
    return torch.tensor(returns) + x


def loop_with_break(x: torch.Tensor) -> torch.Tensor:
    for i in range(12):
        x = x * 2 + i
        capture.graph_break()
    return x


class Caching(nn.Module):
    """It keeps a tensor that grows."""

    def __init__(self) -> None:
        super().__init__()
        self.cache: Any = None

    def forward(self, x):
        self.cache = x if self.cache is None else torch.cat([self.cache, x])
        return self.cache * 2


class CachingPairs(nn.Module):
    """It keeps tensors that grow in a tuple of a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.cache: dict[int, Any] = {}

    def forward(self, x):
        key, value = self.cache.get(7, (x, x))
        self.cache[7] = (torch.cat([key, x]), torch.cat([value, x * 2]))
        return key.sum(0) * value.sum(0)


def growing_in_a_loop(x: torch.Tensor) -> torch.Tensor:
    for _ in range(6):
        capture.graph_break()
        x = torch.cat([x, x[:1] * 0.5])
    return x


def counted_in_a_loop(x: torch.Tensor) -> torch.Tensor:
    step, scale = 0, 1.0
    while step < 6:
        capture.graph_break()
        step, scale = step + 1, scale * 0.5
        x = x * scale + step
    return x


def chosen_rows(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    y = (x * 2)[mask]
    return y.sin() + 1


def chosen(i: int) -> tuple[Any, ...]:
    return torch.arange(24.0).view(12, 2), torch.arange(12) < 2 + i


def named(x: torch.Tensor, name: str) -> Any:
    return {name: x * 2, "title": f"<{name}>"}


def sum_and_print(x: torch.Tensor, i: int) -> Any:
    total = 0.0
    for row in x:
        total = total + row.sum().item()
        capture.graph_break()
    return x * total, f"{i}: {total:.2f}"


def smaller_batch(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    capture.graph_break()
    z = y + 1
    capture.graph_break()
    return z * y


def mode(x: torch.Tensor, name: str) -> torch.Tensor:
    return x * 2 if name == "train" else x + len(name)


def of_numbers(state: list[float], x: torch.Tensor) -> torch.Tensor:
    return torch.tensor(state) * x


def periodic(x: torch.Tensor, step: int) -> torch.Tensor:
    y = x * 2
    return y + 1 if step % 5 == 0 else y


def rows(i: int) -> tuple[Any, ...]:
    return (torch.ones(2, 4) * i,)


#: name -> what makes the program, its arguments in a call, and the most entries
PROGRAMS: dict[str, tuple[Callable[[], Any], Callable[[int], tuple[Any, ...]], int]] = {
    "recurrent": (Recurrent, lambda i: (sequence(i),), 8),
    "rows": (OverRows, lambda i: (sequence(i),), 8),
    "numbered rows": (OverNumberedRows, lambda i: (sequence(i),), 8),
    "counter of a module": (Counting, rows, 3),
    "counter of a closure": (counting_in_a_cell, rows, 1),
    "layers": (Layers, rows, 4),
    "numbered layers": (NumberedLayers, rows, 4),
    "average": (Average, rows, 3),  # call by call, the graph ends in front of the division
    "loop with a break": (lambda: loop_with_break, rows, 3),
    "growing cache": (Caching, lambda i: (torch.ones(2, 3) * i,), 2),
    "growing pairs": (CachingPairs, lambda i: (torch.ones(2, 3) * i,), 3),
    "growing in a loop": (lambda: growing_in_a_loop, lambda i: (torch.ones(2 + i % 3, 2),), 3),
    "chosen rows": (lambda: chosen_rows, chosen, 2),
    "counted in a loop": (lambda: counted_in_a_loop, rows, 3),
    "names": (lambda: named, lambda i: (torch.ones(3), f"name {i}"), 3),
    "modes": (lambda: mode, lambda i: (torch.ones(3), ("train", "val", "test")[i % 3]), 3),
    "sum in a loop": (lambda: sum_and_print, lambda i: (torch.ones(4, 2) * i, i), 8),
    "batches": (lambda: smaller_batch, lambda i: (torch.ones(2 + i, 3),), 6),
    "tensors of numbers": (lambda: of_numbers, lambda i: ([0.5 * i, 1.0, -i * 0.25], torch.ones(3)), 2),
    "period": (lambda: periodic, lambda i: (torch.ones(3), i), 3),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_entries_stay_few(name: str) -> None:
    make, arguments, most = PROGRAMS[name]
    capture.reset()
    torch.manual_seed(0)
    program = make()
    torch.manual_seed(0)
    captured = capture.compile(make(), backend="eager")
    before = counters["frames"]["captured"]
    with config.patch(raise_on_error=True), torch.no_grad():
        for i in range(CALLS):
            expected, got = program(*arguments(i)), captured(*arguments(i))
            assert same(got, expected), (got, expected)
    assert 0 < counters["frames"]["captured"] - before <= most


@pytest.mark.parametrize("function", [sum_of_list, discounted])
def test_lists_of_changing_length(function: Any) -> None:
    """After some lengths Python reads the list, the rest is captured, and nothing is captured anew."""
    capture.reset()
    fast = capture.compile(function, backend="eager")
    mine: list[Any] = []
    theirs: list[Any] = []
    captured = []
    for i in range(2 * CALLS):
        if function is discounted:
            mine, theirs = [0.5 * k for k in range(i)], [0.5 * k for k in range(i)]
        x = torch.ones(1) * i
        assert torch.equal(fast(mine, x), function(theirs, x))
        captured.append(counters["frames"]["captured"])
    assert captured[-1] == captured[-CALLS]


@pytest.mark.parametrize(("turns", "unrolled"), [(5, 3), (80, 1)])
def test_long_loops_are_unrolled_once(turns: int, unrolled: int) -> None:
    """To unroll one takes as long as its turns. A short loop may have a few lengths."""
    capture.reset()
    model = Recurrent()
    fast = capture.compile(model, backend="eager")
    with torch.no_grad():
        for i in range(4):
            x = torch.randn(turns + i, 2, 4)
            assert torch.equal(fast(x), model(x))
            assert bool(counters["graph_breaks"]["iterate"]) == (i >= unrolled)


def test_fullgraph_unrolls_loops_of_any_length() -> None:
    model = Recurrent()
    fast = capture.compile(model, backend="eager", fullgraph=True)
    with torch.no_grad():
        for i in range(5):
            assert torch.equal(fast(sequence(i)), model(sequence(i)))
