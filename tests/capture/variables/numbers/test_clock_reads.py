"""Clocks that captured code reads: in the order of the program, around the graph, without a break."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import capture
from capture.report.config import config
from capture.report.counters import counters

X = torch.arange(6.0).reshape(2, 3) + 1
CLOCKS = [
    clock + unit
    for clock in ("time", "perf_counter", "monotonic", "process_time", "thread_time")
    for unit in ("", "_ns")
]


@pytest.fixture(autouse=True)
def fresh():
    capture.reset()
    with config.patch(raise_on_error=True):
        yield


def breaks() -> int:
    return sum(counters["graph_breaks"].values())


@pytest.mark.parametrize("name", CLOCKS)
def test_each_clock_is_read_in_each_call_without_a_break(name):
    clock = getattr(time, name)

    def f(x):
        start = clock()
        y = (x * 2).sin()
        return y, start, clock(), clock() - start

    fast = capture.compile(f)
    times = []
    for _ in range(3):
        before = clock()
        y, start, end, spent = fast(X)
        after = clock()
        torch.testing.assert_close(y, (X * 2).sin())
        assert type(start) is type(end) is type(spent) is type(before)
        assert before <= start <= end <= after and 0 <= spent <= after - before
        times += [start, end]
    assert times == sorted(times)
    assert counters["graphs"]["compiled"] == 1 and not breaks() and not counters["recompiles"]


def test_the_time_between_two_reads_has_the_graph():
    """An operation that takes 2 ms is between the reads."""

    @torch.library.custom_op("clock_reads::wait", mutates_args=())
    def wait(x: torch.Tensor) -> torch.Tensor:
        time.sleep(0.002)
        return x.clone()

    wait.register_fake(torch.empty_like)

    def f(x):
        start = time.perf_counter()
        y = wait(x) + 1
        return y, time.perf_counter() - start

    fast = capture.compile(f)
    for _ in range(3):
        assert fast(X)[1] >= 0.002
    assert counters["graphs"]["compiled"] == 1 and not breaks()


def test_meters_and_texts():
    class Meter:
        def __init__(self):
            self.value = self.sum = self.average = 0.0
            self.count = 0

        def update(self, value, count):
            self.value = value
            self.sum += value * count
            self.count += count
            self.average = self.sum / self.count

    losses, spent, rows = Meter(), Meter(), []

    def step(x, number):
        start = time.time()
        loss = (x * 2).mean()
        losses.update(loss.item(), x.size(0))
        spent.update(time.time() - start, 1)
        rows.append(f"{number} {losses.average:.2f} {spent.average < 1e6}")
        return loss

    fast = capture.compile(step)
    for number in range(5):
        fast(X, number)
    assert rows == [f"{number} 7.00 True" for number in range(5)]
    assert losses.count == 10 and losses.sum == 70.0 and spent.count == 5 and spent.sum >= spent.value > 0
    assert not breaks() and counters["recompiles"]["test_meters_and_texts.<locals>.step"] <= 1


def test_a_time_is_open_behind_a_break():
    def f(x):
        start = time.time()
        y = x * 2
        capture.graph_break()
        return y.sin(), time.time() - start

    fast = capture.compile(f)
    for _ in range(3):
        y, spent = fast(X)
        torch.testing.assert_close(y, (X * 2).sin())
        assert spent >= 0
    assert not counters["recompiles"]


@pytest.mark.parametrize("decision", ["branch", "division", "tensor"])
def test_what_needs_the_number_breaks_the_graph(decision):
    def f(x):
        start = time.time()
        y = x * 2
        if decision == "branch":
            return y + 1 if time.time() - start < 1e6 else y
        if decision == "division":
            return y + (6 / start < 1)
        return y + (time.time() > torch.zeros(1))

    fast = capture.compile(f)
    for _ in range(3):
        torch.testing.assert_close(fast(X), X * 2 + 1)
    assert breaks() >= 1


def test_a_replaced_clock_is_called(monkeypatch):
    def f(x):
        return x * 2, time.time()

    fast = capture.compile(f)
    assert fast(X)[1] > 1e6
    monkeypatch.setattr(time, "time", lambda: 5.0)
    assert fast(X)[1] == 5.0


def test_wrong_arguments():
    def f(x):
        return x * 2 + time.time(1)

    with pytest.raises(TypeError, match="takes no arguments"):
        capture.compile(f)(X)


class Timed(torch.autograd.Function):
    times: list[float] = []

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        Timed.times.append(time.time())
        return grad * 2


def in_a_checkpoint(x: torch.Tensor) -> Any:
    times = []

    def body(y):
        times.append(time.time())
        return y.sin()

    return checkpoint(body, x, use_reentrant=False), times


def in_a_backward(x: torch.Tensor) -> Any:
    return Timed.apply(x), Timed.times


def in_a_hook(x: torch.Tensor) -> Any:
    times: list[float] = []

    def hook(grad):
        times.append(time.time())
        return grad

    y = x * 2
    y.register_hook(hook)
    return y, times


@pytest.mark.parametrize("function", [in_a_checkpoint, in_a_backward, in_a_hook])
def test_bodies_read_clocks_when_they_run(function):
    """A body runs when its operation runs: in the backward, or a second time."""

    def reads(compiled):
        Timed.times.clear()
        counts = []
        for _ in range(3):
            x = X.clone().requires_grad_()
            y, times = compiled(x)
            before = time.time()
            y.sum().backward()
            counts.append((len(times), sum(read >= before for read in times), round(x.grad.sum().item(), 4)))
        return counts

    assert reads(capture.compile(function)) == reads(function)
