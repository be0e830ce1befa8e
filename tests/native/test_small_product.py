"""Batches of small products: as exact as BLAS, for all layouts, in each width of vectors."""

from __future__ import annotations

from collections.abc import Iterator

import _capture
import pytest
import torch

from tests.native.test_narrow_product import assert_as_exact, between_nans, compiled

#: rows, columns, inner: parts of vectors, edges of tiles, the largest ones, and some that are left to others
SIZES = [
    (11, 11, 16),
    (11, 16, 11),
    (5, 5, 16),
    (16, 5, 5),
    (2, 2, 2),
    (3, 17, 9),
    (25, 33, 20),
    (13, 70, 4),
    (70, 13, 4),
    (32, 32, 64),
    (14, 31, 64),
    (7, 31, 65),
    (1, 9, 9),
    (9, 1, 9),
    (6, 6, 1),
]


@pytest.fixture(params=[32, 64], ids="{} bytes".format)
def width(request: pytest.FixtureRequest) -> Iterator[None]:
    torch.manual_seed(0)
    before = _capture.limit_convolutions(request.param)
    yield
    _capture.limit_convolutions(before)


@pytest.mark.parametrize("left_turned", [False, True])
@pytest.mark.parametrize("right_turned", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_all_layouts(width: None, sizes: tuple[int, int, int], left_turned: bool, right_turned: bool) -> None:
    rows, columns, inner = sizes
    left = between_nans(6, rows, inner, turned=left_turned)
    right = between_nans(6, inner, columns, turned=right_turned)
    graph = compiled(lambda x, y: (torch.bmm(x, y),), left, right)
    assert_as_exact(graph(left, right)[0], torch.bmm(left, right), torch.bmm(left.double(), right.double()))


def test_many_very_small_ones_and_a_matrix_for_all(width: None) -> None:
    left, right = torch.randn(300, 3, 4), torch.randn(4, 5).expand(300, 4, 5)
    graph = compiled(lambda x, y: (torch.bmm(x, y),), left, right)
    assert_as_exact(graph(left, right)[0], torch.bmm(left, right), torch.bmm(left.double(), right.double()))


def test_infinities_stay_in_their_elements(width: None) -> None:
    left, right = torch.ones(4, 6, 9), torch.ones(4, 9, 10)
    left[1, 2, 3], right[2, 4, 5] = float("inf"), float("nan")
    graph = compiled(lambda x, y: (torch.bmm(x, y),), left, right)
    torch.testing.assert_close(graph(left, right)[0], torch.bmm(left, right), equal_nan=True)


def test_several_threads_give_the_same(width: None) -> None:
    left, right = torch.randn(3000, 12, 16), torch.randn(3000, 16, 12)
    graph = compiled(lambda x, y: (torch.bmm(x, y),), left, right)
    threads, (alone,) = torch.get_num_threads(), graph(left, right)
    torch.set_num_threads(4)
    try:
        assert torch.equal(graph(left, right)[0], alone)
    finally:
        torch.set_num_threads(threads)
