"""Sums down wide columns, a few rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import fx

from codegen.compile_fx import compile_fx
from codegen.kernel.grain import may_pay
from codegen.launch import assembly
from codegen.passes import pipeline

SHAPES = [(512, 1024), (4096, 256), (1000, 1000), (63, 2000), (429, 1023), (16384, 260)]


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(assembly, "strict", True)
    monkeypatch.setattr(pipeline, "VERIFY", True)
    yield


def compiled_kernels(function: Callable[..., Any], *args: torch.Tensor) -> list[Any]:
    """The kernels; their results agree with float64."""
    with torch.no_grad():
        graph = compile_fx(fx.symbolic_trace(function), args)
        for actual, exact in zip(graph(*args), function(*(arg.double() for arg in args)), strict=True):
            torch.testing.assert_close(
                actual.double(), exact, rtol=2e-6, atol=1e-6 * exact.abs().max().item()
            )
    return graph.kernels  # type: ignore[union-attr]


def scratch(kernel: Any) -> list[str]:
    return [buffer.name for buffer in kernel.buffers if buffer.name.startswith(f"{kernel.name}_a")]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_column_sums(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    (kernel,) = compiled_kernels(lambda x: (x.sum(0),), torch.randn(shape) + 1)
    assert scratch(kernel) and (kernel.split is not None) == may_pay(kernel)


def test_long_column_sums_can_be_divided_between_threads() -> None:
    (kernel,) = compiled_kernels(lambda x: (x.sum(0),), torch.rand(4096, 1024))
    assert scratch(kernel) and kernel.split is not None


def test_several_sums_with_values_of_rows_and_columns() -> None:
    torch.manual_seed(0)
    x, mean, weight = torch.randn(600, 700), torch.randn(600, 1), torch.randn(700)
    kernels = compiled_kernels(
        lambda x, m, w: (((x - m) * w).sum(0) * w, (x * w).mean(0).relu()), x, mean, weight
    )
    assert any(len(scratch(kernel)) >= 2 for kernel in kernels)


def test_other_axes_around_the_columns_and_among_the_rows() -> None:
    torch.manual_seed(0)
    x = torch.randn(6, 512, 700)
    assert all(scratch(kernel) for kernel in compiled_kernels(lambda x: (x.sum(1),), x))
    assert all(scratch(kernel) for kernel in compiled_kernels(lambda x: (x.sum((0, 1)),), x))


@pytest.mark.parametrize(
    "shape", [(16, 4096), (64, 64), (97, 4099)], ids=["few rows", "small", "a prime number of rows"]
)
def test_where_strips_of_columns_serve_better(shape: tuple[int, int]) -> None:
    (kernel,) = compiled_kernels(lambda x: (x.sum(0),), torch.randn(shape))
    assert not scratch(kernel)


def test_maxima_stay_in_registers() -> None:
    (kernel,) = compiled_kernels(lambda x: (x.amax(0),), torch.randn(512, 1024))
    assert not scratch(kernel)
