"""Reductions down the columns of narrow matrices: several rows at a time as one long row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture
from codegen.kernel.ir import Const, Loop
from codegen.kernel.printer import print_kernel
from tests.codegen.lowering_check import check, kernels

FUNCTIONS: dict[str, Callable[[torch.Tensor], Any]] = {
    "sum": lambda x: x.sum(-2),
    "mean of squares": lambda x: (x * x + 1).mean(-2) * 2,
    "extremes": lambda x: (x.amax(-2), x.amin(-2)),
    "product": lambda x: (x.double() * 0.01 + 1).prod(-2),
}


def in_blocks(function: Callable[..., Any], *inputs: torch.Tensor) -> bool:
    program = check(function, *inputs)
    return any("_part" in print_kernel(kernel) for kernel in kernels(program))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    "shape", [(1000, 3), (64, 7), (129, 2), (3, 333, 10), (200, 33), (403, 8), (1000, 16)], ids=str
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_blocks_of_rows(name, shape, dtype):
    assert in_blocks(
        FUNCTIONS[name], torch.linspace(-1, 2, torch.Size(shape).numel()).reshape(shape).to(dtype)
    )


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8], ids=str)
def test_integers(dtype):
    x = torch.arange(1003 * 5).reshape(1003, 5).remainder(200).to(dtype)
    assert in_blocks(lambda x: x.sum(0), x)
    check(lambda x: x.amax(0), x)


@pytest.mark.parametrize(
    ("dtype", "width", "elements"),
    [("float32", 8, 64), ("float32", 16, 64), ("int64", 8, 32), ("int64", 3, 48)],
)
def test_several_vectors_are_added_up_side_by_side(dtype, width, elements):
    x = torch.arange(1000 * width).reshape(1000, width).remainder(7).to(getattr(torch, dtype))
    (kernel,) = kernels(check(lambda x: x.sum(0), x))
    first = kernel.body[0]
    lanes = 64 // x.element_size()
    assert isinstance(first, Loop) and (first.extent, first.unroll) == (Const(elements), elements // lanes)


def test_nan_and_infinity_come_through():
    x = torch.zeros(1000, 3)
    x[997, 1], x[3, 2] = torch.nan, torch.inf
    assert in_blocks(lambda x: (x.amax(0), x.sum(0)), x)


def test_other_walks_are_left_alone():
    def numbers(*shape: int) -> torch.Tensor:
        """Numbers whose sums are exact."""
        return torch.arange(torch.Size(shape).numel()).remainder(7).reshape(shape).float()

    assert not in_blocks(lambda x: x.sum(0), numbers(1000, 64))  # wide
    assert not in_blocks(lambda x: x.sum(0), numbers(1000, 48))  # rows of several whole vectors
    assert not in_blocks(lambda x: x.sum(0), numbers(20, 3))  # few rows
    assert not in_blocks(lambda x: x[:, :3].sum(0), numbers(1000, 5))  # gaps
    assert not in_blocks(lambda x, w: (x * w).sum(0), numbers(1000, 3), numbers(1000, 1))
    assert not in_blocks(lambda x: x.sum(0), numbers(3, 1000).t())


def test_a_million_rows_are_as_exact_as_in_eager():
    torch.manual_seed(0)
    x = torch.rand(1_000_003, 3)
    exact = x.double().sum(0)
    error = (capture.compile(lambda x: x.sum(0))(x) - exact).abs().max()
    assert error < 0.05  # an ulp and a half
    check(lambda x: (x.sum(0), x.amax(0)), torch.arange(5003 * 3).remainder(9).reshape(5003, 3).float())
