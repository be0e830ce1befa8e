"""Kernels for short sizes: their results, when they exist, how many there are."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

import capture
from capture.report.config import config
from codegen.dynamic.symbolic_graph import SymbolicGraph
from codegen.launch import assembly, kernel_versions
from codegen.passes import pipeline
from tests.codegen.dynamic.test_symbolic_graph import for_all_sizes, symbolic

ROWS = 17_000  # two columns are enough work


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(pipeline, "VERIFY", True)
    monkeypatch.setattr(assembly, "strict", True)
    capture.reset()
    yield
    capture.reset()


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


PROGRAMS: dict[str, tuple[Any, Any]] = {
    "pairs": (lambda x, y: x[:, None] * y[None] + 1, lambda k: (numbers(90, k), numbers(70, k))),
    "row": (lambda x, y: F.gelu(x + y), lambda k: (numbers(ROWS, k), numbers(k))),
    "column": (lambda x, y: x * y, lambda k: (numbers(ROWS, k), numbers(ROWS, 1))),
    "sums": (lambda x: (x.sum(-1), x.sum(0), x.mean(-1)), lambda k: (numbers(ROWS, k),)),
    "argmax": (lambda x: (x.argmax(-1), x.amax(-1), x.argmin(0)), lambda k: (numbers(ROWS, k),)),
    "softmax": (lambda x: (x.softmax(-1), x.log_softmax(-1)), lambda k: (numbers(ROWS, k),)),
    "norm": (lambda x: F.layer_norm(x, x.shape[1:]), lambda k: (numbers(ROWS, k),)),
    "cumsum": (lambda x: x.cumsum(-1), lambda k: (numbers(ROWS, k),)),
    "middle": (lambda x: x.sum(1), lambda k: (numbers(300, k, k),)),
    "transposed": (lambda x: x.transpose(1, 2).contiguous() + 1, lambda k: (numbers(50, 90, k),)),
    "joined": (lambda x, y: torch.cat([x, y], -1) * 2, lambda k: (numbers(ROWS, k), numbers(ROWS, k))),
    "slices": (lambda x: (x[:, 1:] * 2, x[:, : x.shape[1] // 2] + 1), lambda k: (numbers(ROWS, k),)),
    "positions": (lambda x: x + torch.arange(x.shape[1]) * x.shape[1], lambda k: (numbers(ROWS, k),)),
    "reshaped": (lambda x: x.reshape(-1, 2).sum(-1), lambda k: (numbers(ROWS, k),)),
    "masked": (lambda x: x.triu(1).sum(-1), lambda k: (numbers(300, k, k),)),
    "heads": (
        lambda x: x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1) + 1,
        lambda k: (numbers(4, 12, 90, k),),
    ),
    "columns": (
        lambda x: ((x * 2).sum(0), x.amax(0), x.prod(0)),
        lambda k: (numbers(ROWS + k, k).abs().add(0.9).clamp(0, 1),),
    ),
    "far_slices": (lambda x: (x[:, -5:] * 2, x[3:, :-1] + 1, x[:, 30:].exp()), lambda k: (numbers(ROWS, k),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    function, make = PROGRAMS[name]
    fast = for_all_sizes(function)
    with config.patch(raise_on_error=True):
        for k in (10, 3, 2, 37, 8, 300, 10, 64, 3):
            args = make(k)
            expected, got = function(*args), fast(*args)
            parts = zip(expected, got, strict=True) if isinstance(expected, tuple) else [(expected, got)]
            for one, other in parts:
                torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-3)
                assert one.stride() == other.stride()


def graph_of(function: Any, *args: torch.Tensor) -> SymbolicGraph:
    graph = symbolic(function, *args).symbolic
    assert isinstance(graph, SymbolicGraph)
    return graph


def versions_of(graph: SymbolicGraph) -> list[dict[str, int]]:
    return [dict(key) for key in graph.versions.compiled]


def test_short_rows_are_numbers_in_the_kernel() -> None:
    graph = graph_of(lambda x: x.sum(-1), numbers(ROWS, 3))
    [fixed] = versions_of(graph)
    assert list(fixed.values()) == [3]
    template = graph.plan([ROWS, 3])
    assert template is not None
    assert "3" in template.graph(ROWS, 3).loops and template.graph(ROWS, 3).loops.count("s1") == 0
    assert template.graph(2 * ROWS, 3) is not None  # for any number of rows
    assert template.graph(ROWS, 4) is None


def test_long_rows_and_little_work_are_not() -> None:
    for rows, length in ((10, 3), (ROWS, 300)):
        graph = graph_of(lambda x: x.sum(-1), numbers(rows, length))
        assert versions_of(graph) == [{}]


def test_a_long_walk_has_no_short_sizes() -> None:
    """Contiguous rows are one loop over both sizes."""
    assert versions_of(graph_of(lambda x: x * 2, numbers(ROWS, 3))) == [{}]


def test_there_are_few_versions() -> None:
    graph = graph_of(lambda x: x.sum(-1), numbers(ROWS, 300))
    for length in range(2, 12):
        template = graph.plan([ROWS, length])
        assert template is not None
        [result] = template.graph(ROWS, length)(ROWS, length, torch.ones(ROWS, length))
        assert torch.equal(result, torch.full((ROWS,), float(length)))
    assert len(graph.versions.compiled) == 1 + kernel_versions.VERSIONS


def test_other_kernels_are_those_for_all_sizes() -> None:
    graph = graph_of(lambda x, y: (x.softmax(-1), y.exp()), numbers(ROWS, 5), numbers(400))
    template = graph.plan([ROWS, 5, 400])
    assert template is not None
    assert template.graph(ROWS, 5, 800) is not None


def test_a_refusal_of_the_compiler_leaves_the_sizes_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(lambda x: x.sum(-1), numbers(ROWS, 300))

    def refuse(*_: Any) -> Any:
        raise RuntimeError("no")

    monkeypatch.setattr(kernel_versions, "machine_code", refuse)
    with pytest.raises(RuntimeError, match="no"):
        graph.plan([ROWS, 3])
    monkeypatch.setattr(assembly, "strict", False)
    assert graph.plan([ROWS, 3]) is None and graph.plan([ROWS, 400]) is not None


def test_training() -> None:
    def step(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return ((x * w).softmax(-1) * x).sum(-1).mean()

    fast = capture.compile(step, dynamic=True)
    with config.patch(raise_on_error=True):
        for k in (10, 3, 37, 2, 10):
            leaves = [numbers(ROWS, k).requires_grad_(), numbers(k).requires_grad_()]
            others = [leaf.detach().clone().requires_grad_() for leaf in leaves]
            step(*leaves).backward()
            fast(*others).backward()
            for one, other in zip(leaves, others, strict=True):
                torch.testing.assert_close(other.grad, one.grad, rtol=1e-3, atol=1e-5)


def test_joined_dims_are_walked_without_divisions() -> None:
    """This holds also if no size is short."""
    graph = graph_of(
        lambda x: x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1) + 1, numbers(3, 5, 7, 300)
    )
    template = graph.plan([3, 5, 7, 300])
    assert template is not None and "//" not in template.graph(3, 5, 7, 300).loops


def test_a_slice_is_an_index() -> None:
    graph = graph_of(lambda x: x[1:, :-1] * 2, numbers(7, 300))
    template = graph.plan([7, 300])
    assert template is not None and not template.graph(7, 300).extern_calls


def test_a_slice_beyond_the_end_is_a_condition() -> None:
    graph = graph_of(lambda x: x[20:] * 2, numbers(300))
    template = graph.plan([300])
    assert template is not None and template.graph(25) is not None
    assert template.graph(10) is None
    fast = capture.compile(lambda x: x[20:] * 2, dynamic=True)
    for n in (300, 25, 10, 20, 21):
        x = numbers(n)
        assert torch.equal(fast(x), x[20:] * 2)


@pytest.mark.parametrize("shape", [(70, 90), (64, 64), (17, 1000), (300, 20)], ids=str)
def test_transposed(shape: tuple[int, int]) -> None:
    """Whole tiles and the rest of a row."""
    function = lambda x: x.t().contiguous() + 1  # noqa: E731
    fast = for_all_sizes(function)
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool):
        x = (numbers(*shape) * 4).to(dtype)
        assert torch.equal(fast(x), function(x))
