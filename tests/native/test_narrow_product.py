"""Products of which one factor is narrow: as exact as BLAS, for all layouts, in each width of vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import _capture
import pytest
import torch
from torch import Tensor

from codegen.compile_fx import compile_fx

#: rows, columns, inner: tiles, edges of tiles, one and several blocks of inner
SIZES = [
    (600, 7, 600),
    (96, 4, 128),
    (97, 2, 129),
    (13, 11, 33),
    (5, 5, 64),
    (2, 2, 16),
    (300, 8, 1030),
    (3, 200, 513),
    (11, 100, 31),
    (2, 37, 77),
    (6, 6, 6),
    (40, 1, 50),
]


@pytest.fixture(params=[32, 64])
def width(request: pytest.FixtureRequest) -> Iterator[None]:
    torch.manual_seed(0)
    before = _capture.limit_narrow_products(request.param)
    yield
    _capture.limit_narrow_products(before)


def between_nans(*shape: int, turned: bool) -> Tensor:
    """Random numbers, with NaN in front of each row (turned: of each column) and behind it."""
    *batch, rows, columns = shape
    if turned:
        rows, columns = columns, rows
    inside = torch.full((*batch, rows + 2, columns + 7), float("nan"))[..., 1:-1, 3:-4]
    inside.copy_(torch.randn(*batch, rows, columns))
    return inside.transpose(-1, -2) if turned else inside


def compiled(function: Any, *inputs: Tensor) -> Any:
    return compile_fx(torch.fx.symbolic_trace(function), list(inputs))


def assert_as_exact(found: Tensor, by_blas: Tensor, exact: Tensor) -> None:
    assert found.dtype is by_blas.dtype and found.stride() == by_blas.stride()
    allowed = 2 * (by_blas - exact).abs().max() + 1e-7 * exact.abs().max()
    assert (found - exact).abs().max() <= allowed


@pytest.mark.parametrize("left_turned", [False, True])
@pytest.mark.parametrize("right_turned", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_all_layouts(width: None, sizes: tuple[int, int, int], left_turned: bool, right_turned: bool) -> None:
    rows, columns, inner = sizes
    left = between_nans(rows, inner, turned=left_turned)
    right = between_nans(inner, columns, turned=right_turned)
    graph = compiled(lambda x, y: (x @ y,), left, right)
    assert_as_exact(graph(left, right)[0], left @ right, left.double() @ right.double())


@pytest.mark.parametrize("bias_shape", [(9,), (1, 9), (70, 1), (70, 9), ()], ids=str)
def test_bias(width: None, bias_shape: tuple[int, ...]) -> None:
    bias, left, right = torch.randn(bias_shape), torch.randn(70, 600), torch.randn(9, 600).t()
    graph = compiled(lambda b, x, y: (torch.addmm(b, x, y), torch.addmm(b, x, y, alpha=2)), bias, left, right)
    exact = left.double() @ right.double()
    for found, alpha in zip(graph(bias, left, right), (1, 2), strict=True):
        assert_as_exact(found, torch.addmm(bias, left, right, alpha=alpha), alpha * exact + bias)


@pytest.mark.parametrize("shape", [(4, 600, 8, 600), (130, 16, 5, 40), (3, 2, 90, 70)], ids=str)
@pytest.mark.parametrize("turned", [False, True])
def test_batches(width: None, shape: tuple[int, ...], turned: bool) -> None:
    batch, rows, columns, inner = shape
    left = between_nans(batch, rows, inner, turned=turned)
    right = between_nans(batch, inner, columns, turned=not turned)
    graph = compiled(lambda x, y: (torch.bmm(x, y),), left, right)
    assert_as_exact(graph(left, right)[0], torch.bmm(left, right), torch.bmm(left.double(), right.double()))


@pytest.mark.parametrize("turned", [False, True])
def test_numbers_that_are_none(width: None, turned: bool) -> None:
    """They come to the rows that have them, and to no others."""
    left, right = torch.randn(100, 70), torch.randn(70, 3)
    left[3, 69], left[50, 0], right[7, 2] = float("nan"), float("inf"), float("-inf")
    left = left.t().contiguous().t() if turned else left
    found = compiled(lambda x, y: (x @ y,), left, right)(left, right)[0]
    torch.testing.assert_close(found, left @ right, equal_nan=True)


@pytest.mark.parametrize("turned", [False, True])
def test_threads_change_nothing(width: None, turned: bool) -> None:
    left, right = torch.randn(3000, 700), torch.randn(700, 5)
    left = left.t().contiguous().t() if turned else left
    graph = compiled(lambda x, y: (x @ y,), left, right)
    threads, found = torch.get_num_threads(), []
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        found.append(graph(left, right)[0])
    torch.set_num_threads(threads)
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])


def test_blas_without_vectors() -> None:
    left, right = torch.randn(60, 40), torch.randn(40, 7)
    graph = compiled(lambda x, y: (x @ y,), left, right)
    before = _capture.limit_narrow_products(0)
    try:
        assert torch.equal(graph(left, right)[0], left @ right)
    finally:
        _capture.limit_narrow_products(before)
