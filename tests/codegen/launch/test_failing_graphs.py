"""A graph that fails has written nothing: eager runs it again on unchanged inputs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture

Program = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def write_first(x: torch.Tensor, w: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return w[i]


def write_last(x: torch.Tensor, w: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    y = w[i]
    x.add_(1)
    return y


def write_what_was_found(x: torch.Tensor, w: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    x.copy_(w[i])
    return x * 2


def index_that_is_computed(x: torch.Tensor, w: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return w[i + x.sum().long() * 0]


def index_out_of_what_was_written(x: torch.Tensor, w: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    x.mul_(2).add_(1)
    return w[i * x.amax().long()]


def two_lookups(x: torch.Tensor, w: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    x.add_(w[i * 0])
    return w.gather(0, i)


def operator_that_raises(x: torch.Tensor, w: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return torch.bernoulli(w + i)


def statistics(x: torch.Tensor, w: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    """Like a norm layer in training before a loss."""
    mean = w.mean()
    x.mul_(0.9).add_(mean, alpha=0.1)
    return ((w - mean) * w.std())[i]


def scattered(x: torch.Tensor, w: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    x.index_add_(0, i, w[: i.numel()])
    return x + 1


PROGRAMS: list[Program] = [
    write_first, write_last, write_what_was_found, index_that_is_computed, index_out_of_what_was_written,
    two_lookups, operator_that_raises,
    statistics, scattered,
]  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_nothing_is_written_by_a_graph_that_fails(program: Program, dynamic: bool) -> None:
    compiled = capture.compile(program, dynamic=dynamic)
    outcomes: list[list[Any]] = []
    for fn in (program, compiled):
        torch.manual_seed(0)
        x, w, rows = torch.zeros(5), torch.linspace(0.0, 1.0, 5), []
        for number in (0, 9, 0, 9):
            try:
                result = fn(x, w, torch.full((5,), number))
            except (IndexError, RuntimeError) as error:
                result = (type(error), str(error))
            rows.append((result, x.clone()))
        outcomes.append(rows)
    for (expected, x), (found, own) in zip(*outcomes):
        torch.testing.assert_close(own, x)
        if isinstance(expected, tuple):
            assert found == expected
        else:
            torch.testing.assert_close(found, expected)


def test_an_index_that_is_an_input_is_checked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the update of the statistics is no copy at the end."""
    graphs: list[Any] = []
    compiler = sys.modules["capture.backends.llvm"]
    compile_graph = compiler.compile_graph

    def kept(*args: Any, **settings: Any) -> Any:
        graphs.append(compile_graph(*args, **settings))
        return graphs[-1]

    monkeypatch.setattr(compiler, "compile_graph", kept)
    capture.compile(statistics)(torch.zeros(5), torch.ones(5), torch.zeros(5, dtype=torch.int64))
    (graph,) = graphs
    checks = [kernel for kernel in graph.loops.split("kernel ") if "check" in kernel]
    assert len(checks) == 1 and "f32" not in checks[0]
    assert "_new" not in graph.loops
