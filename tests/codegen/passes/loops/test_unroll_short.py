"""Rows of two to four elements: a whole row in one iteration, values and layouts as in eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import capture
from codegen.kernel import ir
from tests.codegen.lowering_check import check, kernels


def data(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))) * 5


def loops_of(function: Callable[..., Any], *inputs: Tensor) -> list[tuple[int, int]]:
    """The extents of the loops of its one kernel, and the number of stores in each."""
    (kernel,) = kernels(check(function, *inputs))
    found: list[tuple[int, int]] = []
    pending: list[ir.Stmt] = list(kernel.body)
    while pending:
        statement = pending.pop(0)
        if isinstance(statement, ir.Loop):
            assert isinstance(statement.extent, ir.Const)
            stores = sum(isinstance(inner, ir.Store) for inner in statement.body)
            found.append((statement.extent.value, stores))
            pending += statement.body
    return found


@pytest.mark.parametrize("width", [2, 3, 4])
def test_lanes_run_across_the_rows(width: int) -> None:
    assert loops_of(lambda x, s: x * s, data(40, width), data(40, 1)) == [(40, width)]
    assert loops_of(lambda x, m: x * m, data(40, width), data(width)) == [(40, width)]


def test_longer_rows_few_rows_and_whole_memory_are_as_they_were() -> None:
    assert loops_of(lambda x, s: x * s, data(40, 5), data(40, 1)) == [(40, 0), (5, 1)]
    assert loops_of(lambda x, s: x * s, data(7, 3), data(7, 1)) == [(3, 0), (7, 1)]
    assert loops_of(lambda x: x * 2, data(40, 3)) == [(120, 1)]


def boxes(b: Tensor) -> Tensor:
    x, y, w, h = b.unbind(-1)
    return torch.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], -1)


def overlaps(a: Tensor, b: Tensor) -> Tensor:
    low, high = torch.max(a[:, None, :2], b[None, :, :2]), torch.min(a[:, None, 2:], b[None, :, 2:])
    sides = (high - low).clamp(min=0)
    return sides[..., 0] * sides[..., 1]


FUNCTIONS: list[Callable[..., Any]] = [
    lambda x, s: x * s,
    lambda x, s: torch.where(torch.arange(x.shape[1]) > 0, x, s),
    lambda x, s: x.flip(-1),
    lambda x, s: x[:, [*range(1, x.shape[1]), 0]] + s,
    lambda x, s: F.pad(x[:, :-1], (1, 0)) + s,
    lambda x, s: x.t().contiguous() + 1,
    lambda x, s: (x + s, x - s),
    lambda x, s: torch.cat([x, x * s], 0),
    lambda x, s: x.unfold(0, 3, 1).contiguous(),
    lambda x, s: x[:: 2] * s[:: 2],
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8])
@pytest.mark.parametrize("shape", [(8, 3), (37, 2), (100, 4)])
def test_values(function: Callable[..., Any], dtype: torch.dtype, shape: tuple[int, int]) -> None:
    capture.reset()
    x, s = data(*shape).abs().to(dtype), data(shape[0], 1).abs().to(dtype)
    ours, theirs = capture.compile(function, fullgraph=True, dynamic=False)(x, s), function(x, s)
    for got, expected in zip(*(r if isinstance(r, tuple) else (r,) for r in (ours, theirs)), strict=True):
        assert torch.equal(got, expected) and got.stride() == expected.stride()


def test_boxes() -> None:
    check(boxes, data(100, 4))
    check(overlaps, data(20, 4), data(30, 4))


def test_places_that_the_data_choose() -> None:
    ids = torch.tensor([0, 5, -1] * 5)
    check(lambda x, i, s: x[i] * s, data(10, 3), ids, data(15, 1))
    with pytest.raises(IndexError):
        capture.compile(lambda x, i, s: x[i] * s)(data(10, 3), ids + 7, data(15, 1))
