"""Which graphs Python runs: graphs without kernels that Python calls as fast. Their backend is called too."""

from __future__ import annotations

from typing import Any

import _capture
import numpy as np
import pytest
import torch

import capture


def entry_of(function: Any, *args: Any) -> Any:
    captured = capture.compile(function)
    for _ in range(2):
        expected, got = function(*args), captured(*args)
        for one, other in zip(expected, got) if isinstance(expected, tuple) else [(expected, got)]:
            assert torch.equal(one, other) and one.requires_grad == other.requires_grad
    [entry] = _capture.entries(function.__code__)
    return entry


@pytest.fixture(autouse=True)
def fresh() -> Any:
    capture.reset()
    yield
    capture.reset()


def helper(x: torch.Tensor) -> torch.Tensor:
    return x.t()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.view(4, 3),
        lambda x: x.detach(),
        lambda x: helper(x),
        lambda x: x.unbind(0),
    ],
)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_left_to_python_with_all_that_it_calls(function: Any, requires_grad: bool) -> None:
    x = torch.randn(3, 4).requires_grad_(requires_grad)
    with torch.set_grad_enabled(requires_grad):
        entry = entry_of(function, x)
    assert entry.graph is None and entry.code is None and entry.unhooked
    assert capture.counters["graphs"]["compiled"] == 1 and not _capture.entries(helper.__code__)


@pytest.mark.parametrize("function", [lambda x: torch.linalg.qr(x), lambda x: torch.linalg.svd(x)])
def test_operators_alone_are_left_to_python(function: Any) -> None:
    assert entry_of(function, torch.randn(3, 4)).unhooked


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.relu(),
        lambda x: x @ x.t(),
        lambda x: x.t().contiguous(),
        lambda x: x[1:].t()[2:].t()[0],
        lambda x: x.sort().values + 1,
        lambda x: x.logcumsumexp(0),  # called by its entry point
    ],
)
def test_run_as_a_graph(function: Any) -> None:
    assert entry_of(function, torch.randn(2, 4)).graph is not None


def test_much_python_for_one_view_is_run_as_a_graph() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        total = 0
        for i in range(100):
            total += i
        return x.view(4, 3) if total > 10 else x

    assert entry_of(function, torch.randn(3, 4)).graph is not None


def test_other_backends_are_run() -> None:
    calls = []

    def backend(module: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        return lambda *args: calls.append(1) or module.forward(*args)

    captured = capture.compile(lambda x: x.view(4, 3), backend=backend)
    for _ in range(3):
        captured(torch.ones(3, 4))
    assert len(calls) == 3


def test_a_frame_without_operations_is_pythons_with_all_that_it_calls() -> None:
    def rows(x: torch.Tensor) -> int:
        return x.shape[0]

    def outer(x: torch.Tensor, limit: int) -> int | torch.Tensor:
        return sum(rows(x) for _ in range(3)) if limit else rows(x) + x

    captured = capture.compile(outer)
    x = torch.ones(3, 4)
    assert captured(x, 1) == 9
    below = [entry.hits for entry in _capture.entries(rows.__code__)]
    for _ in range(3):
        assert captured(x, 1) == 9
    assert [entry.unhooked for entry in _capture.entries(outer.__code__)] == [True]
    assert [entry.hits for entry in _capture.entries(rows.__code__)] == below
    assert torch.equal(captured(x, 0), 3 + x)  # other arguments: other guards


@pytest.mark.parametrize(
    ("function", "count", "left"),
    [
        (lambda a: np.sin(a) * a + 1, 4, True),
        (lambda a: np.sin(a) * a + 1, 5000, False),
        (lambda a: a.sum(), 4, True),
        (lambda a: a.reshape(-1, 2), 5000, True),
        (lambda a: a + 1 + a * 2 + a * 3 - 4 + a * 5 + 6, 4, False),
        (lambda a: torch.from_numpy(a).sin().numpy(), 4, False),
    ],
)
def test_few_operations_on_small_arrays_are_numpys(function: Any, count: int, left: bool) -> None:
    a = np.linspace(-1, 1, count)
    captured = capture.compile(function)
    for _ in range(2):
        got = captured(a)
        assert type(got) is type(function(a)) and np.allclose(got, function(a))
    assert [entry.unhooked for entry in _capture.entries(function.__code__)] == [left]
    assert capture.counters["graphs"]["compiled"] == 1


@pytest.mark.parametrize("function", [lambda x: x.tolist(), lambda x: torch.equal(x, x)])
def test_a_break_with_no_graph_on_either_side_is_pythons(function: Any) -> None:
    captured = capture.compile(function)
    x = torch.ones(3, 4)
    for _ in range(3):
        assert captured(x) == function(x)
    [entry] = _capture.entries(function.__code__)
    assert entry.graph is None and entry.code is None and entry.hits == 2
    assert sum(capture.counters["graph_breaks"].values()) == 1 and not capture.counters["graphs"]


def test_what_a_frame_with_nothing_else_calls_is_captured() -> None:
    def below(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        capture.graph_break()
        return y * 2

    def above(x: torch.Tensor) -> torch.Tensor:
        return below(x)

    captured = capture.compile(above)
    for _ in range(2):
        assert torch.equal(captured(torch.ones(3)), torch.full((3,), 4.0))
    assert capture.counters["graphs"]["compiled"] == 2


def with_a_branch(x: torch.Tensor) -> torch.Tensor:
    return x.t() if x.dim() == 2 else x.sin().cos()


@pytest.mark.parametrize(
    ("function", "fullgraph", "sampled"),
    [
        (lambda x: x.t(), False, True),
        (lambda x: x.shape[0], False, True),
        (lambda x: x.tolist(), False, True),
        (lambda x: x.t(), True, False),  # it has to raise if another argument breaks the graph
        (with_a_branch, False, False),  # the other branch may be worth a graph
        (lambda x: helper(x), False, False),  # the other functions that it calls may be worth one too
        (lambda x: [row for row in x], False, False),
    ],
)
def test_guards_are_asked_now_and_then_where_each_call_does_the_same(
    function: Any, fullgraph: bool, sampled: bool
) -> None:
    capture.compile(function, fullgraph=fullgraph)(torch.ones(3, 4))
    assert [entry.sampled for entry in _capture.entries(function.__code__)] == [sampled]


def test_larger_arrays_are_noticed_behind_many_small_ones() -> None:
    def function(a: Any) -> Any:
        return np.sin(a) * a + 1

    captured = capture.compile(function)
    small, large = np.linspace(-1, 1, 4), np.linspace(-1, 1, 50_000)
    for a in [small] * 200 + [large] * 64 + [small] * 2:
        assert np.allclose(captured(a), function(a))
    assert capture.counters["graphs"]["compiled"] == 2
