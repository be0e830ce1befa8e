"""Pooling over small windows as kernels, against eager: values, places, NaN, infinities, padding, layouts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import fx

from codegen.compile_fx import compile_fx
from codegen.launch import assembly
from codegen.passes import pipeline
from tests.codegen.lowering_check import kernels, lowered
from tests.codegen.native_programs import run_native

WINDOWS = [
    (2, None, 0, 1), (3, 2, 1, 1), (3, 1, 1, 1), ((2, 3), (1, 2), (1, 1), 1), (2, 1, 0, 2), (3, 3, 1, 2),
    ((1, 2), (2, 1), 0, 1),
]  # fmt: skip
SHAPES = [(2, 3, 8, 9), (3, 7, 7), (1, 2, 17, 33)]


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(assembly, "strict", True)
    monkeypatch.setattr(pipeline, "VERIFY", True)
    yield


def check(function: Callable[..., Any], x: torch.Tensor, rtol: float = 0.0) -> None:
    with torch.no_grad():
        graph = compile_fx(fx.symbolic_trace(function), [x])
        actual, expected = graph(x), function(x)
    assert graph.extern_calls == []  # type: ignore[union-attr]
    for mine, theirs in zip(actual, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=rtol, atol=0, equal_nan=True)
        assert mine.stride() == theirs.stride()


def special(shape: tuple[int, ...], kind: str, dtype: torch.dtype) -> torch.Tensor:
    torch.manual_seed(0)
    x = torch.randn(shape).to(dtype)
    if kind == "ties":
        x = x.round()
    if kind == "infinite":
        x[..., :4, :5] = -math.inf
    if kind == "nan":
        x[..., 2:4, 1::3] = math.nan
    return x


@pytest.mark.parametrize("kind", ["random", "ties", "infinite", "nan"])
@pytest.mark.parametrize(("shape", "window"), list(itertools.product(SHAPES, WINDOWS)), ids=str)
def test_max_pool(shape: tuple[int, ...], window: tuple[Any, ...], kind: str) -> None:
    check(lambda x: F.max_pool2d(x, *window, return_indices=True), special(shape, kind, torch.float32))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_max_pool_of_other_types_and_layouts(dtype: torch.dtype) -> None:
    x = special((2, 3, 8, 9), "ties", dtype)
    check(lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), x)
    check(lambda x: F.max_pool2d(x, 2, return_indices=True), x.to(memory_format=torch.channels_last))


@pytest.mark.parametrize("window", [(2,), (3, 2), (3, 2, 1), ((2, 3), (1, 2))])
def test_avg_pool(window: tuple[Any, ...]) -> None:
    x = special((2, 3, 8, 9), "random", torch.float32)
    check(lambda x: (F.avg_pool2d(x, *window),), x, 1e-6)
    check(lambda x: (F.avg_pool2d(x, *window, divisor_override=3),), x, 1e-6)


def test_what_comes_before_is_computed_once() -> None:
    x = special((2, 3, 8, 8), "random", torch.float32)
    with torch.no_grad():
        graph = compile_fx(fx.symbolic_trace(lambda x: (F.max_pool2d(x.exp(), 2).relu(),)), [x])
        torch.testing.assert_close(graph(x)[0], F.max_pool2d(x.exp(), 2).relu())
    assert graph.loops.count("= exp ") == 1  # type: ignore[union-attr]


def test_gradients() -> None:
    x = special((2, 3, 8, 9), "random", torch.float32).requires_grad_()
    for function in (lambda x: (F.max_pool2d(x, 3, 2, 1),), lambda x: (F.avg_pool2d(x, 2),)):
        graph = compile_fx(fx.symbolic_trace(function), [x])
        (ours,) = torch.autograd.grad(graph(x)[0].square().sum(), x)
        (theirs,) = torch.autograd.grad(function(x)[0].square().sum(), x)
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("options", [{"ceil_mode": True}, {"count_include_pad": False, "padding": 1}])
def test_other_windows(options: dict[str, Any]) -> None:
    x = special((2, 3, 8, 9), "random", torch.float32)
    with torch.no_grad():
        graph = compile_fx(fx.symbolic_trace(lambda x: (F.avg_pool2d(x, 3, 2, **options),)), [x])
        torch.testing.assert_close(graph(x)[0], F.avg_pool2d(x, 3, 2, **options))


def test_a_view_of_memory_is_pooled_as_it_lies() -> None:
    """Pooling over one dim is pooling over two dims of a view: no copy is made."""

    def pool(x: torch.Tensor) -> torch.Tensor:
        return F.max_pool1d(x, 3)

    program, _ = lowered(pool, torch.randn(2, 3, 12))
    assert len(kernels(program)) == 1
    torch.testing.assert_close(run_native(program, [x := torch.randn(2, 3, 12)])[0], pool(x))
