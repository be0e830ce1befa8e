"""Pairs of elements and masked writes: like eager's, and without a call of the operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture
from capture.report.config import config
from tests.opinfo.runner import run_operator

PS = (0.0, 1.0, 1.5, 2.0, 3.0, torch.inf)


def same(program: Callable[..., Any], *args: torch.Tensor) -> None:
    """Compares values and gradients."""
    results = []
    for function in (program, capture.compile(program)):
        given = [arg.detach().clone().requires_grad_(arg.requires_grad) for arg in args]
        with config.patch(raise_on_error=True):
            value = function(*given)
        wanted = [arg for arg in given if arg.requires_grad]
        grads = (
            torch.autograd.grad(value, wanted, torch.linspace(-1, 1, value.numel()).view(value.shape))
            if wanted
            else ()
        )
        results.append((value, *grads))
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, equal_nan=True)
        assert found.stride() == expected.stride()


@pytest.mark.parametrize("p", PS)
@pytest.mark.parametrize(
    "shapes", [((4, 3), (5, 3)), ((2, 4, 3), (2, 5, 3)), ((2, 4, 3), (5, 3)), ((30, 4), (28, 4))], ids=str
)
def test_distances(p: float, shapes: tuple[tuple[int, ...], ...]) -> None:
    torch.manual_seed(0)
    left, right = (torch.randn(shape) for shape in shapes)
    # no distance: no gradient
    right[..., :2, :] = left[..., :2, :] if left.dim() == right.dim() else left[0, :2]
    same(
        lambda x, y: torch.cdist(x, y, p=p, compute_mode="donot_use_mm_for_euclid_dist"),
        left.requires_grad_(),
        right.requires_grad_(),
    )


def test_distances_by_products() -> None:
    torch.manual_seed(0)
    same(
        lambda x, y: torch.cdist(x, y),
        torch.randn(40, 8, requires_grad=True),
        torch.randn(30, 8, requires_grad=True),
    )
    same(lambda x, y: torch.cdist(x, y), torch.randn(3, 40, 8), torch.randn(30, 8))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8])
@pytest.mark.parametrize("invert", [False, True])
def test_membership(dtype: torch.dtype, invert: bool) -> None:
    elements = torch.randint(0, 9, (4, 7)).to(dtype)
    for wanted in (torch.tensor([1, 5, 8]).to(dtype), torch.tensor(3).to(dtype), torch.arange(40).to(dtype)):
        same(lambda x, y: torch.isin(x, y, invert=invert), elements, wanted)
    same(lambda x: torch.isin(x, x[:2, 0]), torch.full((3, 3), torch.nan))


MASKS = {
    "elements": lambda x: x > 0,
    "rows": lambda x: (x[:, :1] > 0).expand_as(x),
    "one row": lambda x: x[0] > 0,
    "none": lambda x: x > 9,
    "all": lambda x: x > -9,
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("grad", [False, True])
def test_masked_scatter(name: str, grad: bool) -> None:
    torch.manual_seed(0)
    tensor, source = torch.randn(6, 5, requires_grad=grad), torch.randn(7, 6, requires_grad=grad)
    same(lambda x, s: (x * 2).masked_scatter(MASKS[name](x), s * 3), tensor, source)


def test_masked_scatter_of_too_few() -> None:
    fast = capture.compile(lambda x, s: x.masked_scatter(x > 0, s))
    fast(torch.ones(3), torch.ones(3))
    with pytest.raises(RuntimeError, match="Number of elements of source"):
        fast(torch.ones(3), torch.ones(2))


@pytest.mark.parametrize(
    ("name", "extern"),
    [("cdist", "aten._euclidean_dist.default"), ("masked_scatter", "aten.masked_scatter.default")],
)
def test_no_operator_is_called(name: str, extern: str) -> None:
    result = run_operator(name, "float32", 4)
    assert result.wrong == []
    assert extern not in result.externs
