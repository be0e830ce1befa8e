"""Padded results are computed in pieces if most of one would be thrown away: values, and the loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import capture
from codegen.kernel import ir
from codegen.kernel.program import KernelStep
from tests.codegen.lowering_check import check


def randn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def has_masks(function: Callable[..., Any], *inputs: Tensor) -> bool:
    found: list[bool] = []

    def walk(body: list[ir.Stmt]) -> None:
        for statement in body:
            if isinstance(statement, ir.Loop):
                walk(statement.body)
            elif isinstance(statement, ir.Load):
                found.append(statement.mask is not None)

    for step in check(function, *inputs).steps:
        if isinstance(step, KernelStep):
            walk(step.kernel.body)
    return any(found)


def two_sides(x: Tensor) -> Tensor:
    return F.pad(x.exp(), (5, 0)) + F.pad(x.sin(), (0, 5))


def scattered(x: Tensor) -> Tensor:
    return torch.slice_scatter(torch.zeros(300, 64), x.exp(), 1, 10, 20)


def selected(x: Tensor) -> Tensor:
    return torch.select_scatter(torch.full((300, 64), 2.0), x[:, 0].exp(), 1, -1)


DIVIDED: list[tuple[str, Callable[..., Any], tuple[Tensor, ...]]] = [
    ("behind", lambda x: F.pad(x.exp(), (0, 90)), (randn(300, 10),)),
    ("before", lambda x: F.pad(x.exp(), (90, 0), value=1.5), (randn(300, 10),)),
    ("rows", lambda x: F.pad(x.exp(), (0, 0, 700, 0)), (randn(300, 10),)),
    ("cropped", lambda x: F.pad(x.exp(), (-3, 90)), (randn(300, 10),)),
    ("slice_scatter", scattered, (randn(300, 10),)),
    ("select_scatter", selected, (randn(300, 10),)),
    ("and arithmetic", lambda x: F.pad(x.exp(), (0, 90)) * 2 + 1, (randn(300, 10),)),
    ("in a row", lambda x: F.pad(x, (0, 90)) + F.pad(x.exp(), (80, 10)), (randn(300, 10),)),
]


@pytest.mark.parametrize(("function", "inputs"), [case[1:] for case in DIVIDED], ids=[c[0] for c in DIVIDED])
def test_pieces_have_no_masks(function: Callable[..., Any], inputs: tuple[Tensor, ...]) -> None:
    assert not has_masks(function, *inputs)


def test_both_dims_leave_a_mask_for_the_other() -> None:
    assert has_masks(lambda x: F.pad(x.exp(), (3, 90, 1, 1)), randn(300, 10))


WHOLE: list[tuple[str, Callable[..., Any], tuple[Tensor, ...]]] = [
    ("thin borders", lambda x: F.pad(x.exp(), (1, 1)), (randn(300, 100),)),
    ("little to do", lambda x: F.pad(x, (0, 9)), (randn(3, 8),)),
    ("many borders", lambda x: sum(F.pad(x.exp(), (i, 90 - i)) for i in range(0, 90, 15)), (randn(300, 10),)),
    ("a reduction", lambda x: F.pad(x.exp(), (0, 90)).sum(0), (randn(300, 10),)),
]


@pytest.mark.parametrize(("function", "inputs"), [case[1:] for case in WHOLE], ids=[c[0] for c in WHOLE])
def test_one_loop_stays(function: Callable[..., Any], inputs: tuple[Tensor, ...]) -> None:
    assert has_masks(function, *inputs)


def test_another_reader_of_the_whole() -> None:
    def function(x: Tensor) -> Any:
        wide = F.pad(x.exp(), (0, 90))
        return wide, wide.sum(0)

    check(function, randn(300, 10))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.cross(x[..., :3], x[..., 3:6].exp(), dim=-1),
        lambda x: x[:, 0].exp(),
        lambda x: x[:, -1].sin() * x[:, 3],
        lambda x: x[:, 5:9].exp() + x[:, 1:5],
        lambda x: x[2:30].tanh() * x[40:68].t().contiguous().t(),
    ],
)
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_gradients_of_slices(function: Callable[..., Any], layout: str) -> None:
    x = randn(500, 64) if layout == "rows" else randn(64, 500).t()
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    capture.compile(function, fullgraph=True)(ours).square().sum().backward()
    function(theirs).square().sum().backward()
    assert ours.grad is not None and theirs.grad is not None
    torch.testing.assert_close(ours.grad, theirs.grad)
    assert ours.grad.stride() == theirs.grad.stride()
