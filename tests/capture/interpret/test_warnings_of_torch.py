"""Warnings that torch's functions give: at the program's line, once for it, in each process."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

import capture

X, TARGET = torch.arange(6.0).reshape(2, 3), torch.ones(2, 1)


def loss(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    shifted = x + 1
    return F.mse_loss(shifted, target)


def losses(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    first = F.mse_loss(x * 2, target)
    second = F.l1_loss(x, target)
    return first + F.smooth_l1_loss(x, target[:1]) * second


def inner(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return loss(x * 3, target) + loss(x, target)


def divergence(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.kl_div(x.log_softmax(1), target.expand(2, 3)).exp()


def silent(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.mse_loss(x, target.expand(2, 3))


class Criterion(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mse = nn.MSELoss()

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> Any:
        return self.mse(x * 2, target)


FUNCTIONS = (loss, losses, inner, divergence, silent, Criterion())


def given(function: Callable[..., Any], action: str, calls: int = 3) -> list[tuple[str, str, str, int]]:
    """The warnings of some calls that find nothing captured, each with its place."""
    capture.reset()
    for namespace in (globals(), vars(F), vars(torch.nn.modules.loss)):
        namespace.pop("__warningregistry__", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)  # type: ignore[arg-type]
        for _ in range(calls):
            function(X, TARGET)
    return [(w.category.__name__, str(w.message), w.filename, w.lineno) for w in caught]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: getattr(f, "__name__", type(f).__name__))
def test_they_are_at_the_line_of_the_program_and_once(function: Callable[..., Any]) -> None:
    expected = given(function, "default")
    assert bool(expected) == (function is not silent)
    assert given(capture.compile(function), "default") == expected
    with capture.enable():
        assert given(function, "default") == expected


@pytest.mark.parametrize("action", ["ignore", "once", "module"])
def test_the_filters_of_the_program_hold(action: str) -> None:
    assert given(capture.compile(losses), action) == given(losses, action)


def test_where_they_are_errors_the_program_gets_the_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function in (loss, capture.compile(loss)):
            capture.reset()
            with pytest.raises(UserWarning, match="Using a target size"):
                function(X, TARGET)


def deprecated(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Lines of torch's own modules."""
    return F.mse_loss(x, target, size_average=True) + nn.Softmax()(x)


def checkpointed(x: torch.Tensor, target: torch.Tensor) -> Any:
    return checkpoint(lambda x: F.mse_loss(x, target), x, use_reentrant=False)


def batched(x: torch.Tensor, target: torch.Tensor) -> Any:
    return torch.vmap(loss, (0, None))(x.expand(2, 2, 3), target)


def derived(x: torch.Tensor, target: torch.Tensor) -> Any:
    return torch.vmap(torch.func.grad(loss), (0, None))(x.expand(2, 2, 3), target)


BODIES = (checkpointed, batched, derived)


@pytest.mark.parametrize("function", BODIES, ids=lambda f: f.__name__)
def test_a_warning_in_a_body_breaks_no_graph(function: Callable[..., Any]) -> None:
    given(capture.compile(function), "always")
    assert not capture.counters["graph_breaks"]


def test_a_compilation_of_a_body_gives_no_warning() -> None:
    expected, found = (
        given(lambda *args: run(*args).sum().backward(), "always", calls=1)
        for run in (of_a_leaf(batched), of_a_leaf(capture.compile(batched)))
    )
    assert found == expected


def of_a_leaf(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, target: function(x.clone().requires_grad_(), target)


@pytest.mark.parametrize(
    "function", [*FUNCTIONS, deprecated, *BODIES], ids=lambda f: getattr(f, "__name__", "module")
)
def test_they_come_at_each_call_if_the_filter_says_so(function: Callable[..., Any]) -> None:
    expected = given(function, "always")
    assert len(expected) % 3 == 0
    assert given(capture.compile(function), "always") == expected


def stored(function: Callable[..., Any], action: str) -> tuple[Any, int, int]:
    found = given(capture.compile(function), action)
    counts = capture.counters["entries"]
    return found, counts.get("stored", 0), counts.get("loaded", 0)


@pytest.mark.parametrize("action", ["default", "always"])
def test_a_stored_entry_gives_them(action: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codegen.stored.compile_graph.enabled", True)
    expected = given(losses, action)
    with capture.config.patch(cache_dir=str(tmp_path), store_entries=True):
        assert stored(losses, action) == (expected, 1, 0)
        assert stored(losses, action) == (expected, 0, 1)


def test_the_results_are_those_of_eager() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for function in FUNCTIONS:
            torch.testing.assert_close(capture.compile(function)(X, TARGET), function(X, TARGET))


def spread(x: torch.Tensor) -> torch.Tensor:
    return x[:1, :1].std() + x.var(0, correction=3).sum()


def spread_of_rows(x: torch.Tensor) -> torch.Tensor:
    variance, mean = torch.var_mean(x[:, :1], 1)
    return variance * mean


def real_part(x: torch.Tensor) -> torch.Tensor:
    return torch.fft.fft(x).to(torch.float32)


def copied(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros(2, 3).copy_(torch.fft.fft(x))


def products(x: torch.Tensor) -> torch.Tensor:
    rows = torch.tensor([0, 0])
    return x.index_reduce(0, rows, x, "prod") + x.scatter(0, rows[:, None], x, reduce="add")


def places(x: torch.Tensor) -> torch.Tensor:
    sorter = torch.arange(4)[::2] // 2
    in_columns = torch.searchsorted(x[0, ::2], x.t(), sorter=sorter)
    return in_columns.sum() + torch.searchsorted(x[:, 0], 1.5)


def places_of_buckets(x: torch.Tensor) -> torch.Tensor:
    return torch.bucketize(x.t(), x[0]) + torch.bucketize(x[:, 0], x[0, ::2]).sum()


def places_in_rows(x: torch.Tensor) -> torch.Tensor:
    return torch.searchsorted(x, x) + torch.bucketize(x.t()[:0], x[0, ::2]).sum() + torch.bucketize(1.5, x[0])


def number(x: torch.Tensor) -> float:
    return float((x * 2).sum())


def enough(x: torch.Tensor) -> torch.Tensor:
    return x.std() + x[:, :1].var(1, correction=0)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    "function",
    [
        spread,
        spread_of_rows,
        real_part,
        copied,
        products,
        places,
        places_of_buckets,
        places_in_rows,
        number,
        enough,
    ],
    ids=lambda f: f.__name__,
)
def test_warnings_of_kernels(function: Callable[..., Any], dynamic: bool | None) -> None:
    """Some come once in a process: here, as often as they are given. Called operators give them, too, at the
    place of the graph: the first line.
    """
    lines = [line for _, _, line in function.__code__.co_lines()][1:]

    def warnings_of(program: Callable[..., Any]) -> list[Any]:
        x = X.clone().requires_grad_(function is number)
        return sorted({one for one in given(lambda *_: program(x), "default") if one[3] in lines})

    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        expected = warnings_of(function)
        assert bool(expected) == (function not in (enough, places_in_rows))
        assert warnings_of(capture.compile(function, dynamic=dynamic)) == expected
    finally:
        torch.set_warn_always(before)
