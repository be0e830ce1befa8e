"""Writes to computed places, against eager; eager runs the call if an index is out of range."""

from __future__ import annotations

import pytest
import torch

import capture
from tests.codegen.lowering_check import check, check_fails

aten = torch.ops.aten

SCATTERING = {
    "index_add": lambda x, y, i: x.index_add(0, i, y),
    "index_add columns": lambda x, y, i: x.index_add(1, i, y, alpha=2),
    "index_add of computed": lambda x, y, i: torch.exp(x).index_add(0, i, y * 2) + 1,
    "index_copy": lambda x, y, i: x.index_copy(0, i[1:4], y[:3]),
    "index_fill": lambda x, y, i: x.index_fill(1, i - 5, 3.5),
    "scatter_add": lambda x, y, i: x.scatter_add(1, i.expand(5, 5), y),
    "scatter_add corner": lambda x, y, i: x.scatter_add(0, i[:3].expand(2, 3), y),
    "scatter": lambda x, y, i: x.scatter(0, i.expand(5, 5).t(), y),
    "scatter one a line": lambda x, y, i: x.scatter(1, i.view(5, 1), y[:, :1]),
    "scatter value": lambda x, y, i: x.scatter(0, i.expand(2, 5), 1.5),
    "index_put": lambda x, y, i: x.index_put((i[:2], i[2:4]), y[0, :2]),
    "index_put adds": lambda x, y, i: x.index_put((i - 4,), y, accumulate=True),
    "index_put second": lambda x, y, i: aten.index_put(x, [None, i], y[0], True),
    "index_put mask": lambda x, y, i: x.index_put((y > 0,), y.sum()),
    "put": lambda x, y, i: x.put(i, y[0], accumulate=True),
    "take": lambda x, y, i: x.take(i - 3) * 2,
    "embedding backward": lambda x, y, i: aten.embedding_dense_backward(y, i, 7, 1, False),
    "two of them": lambda x, y, i: x.index_add(0, i, y).index_add(0, i, x),
    "transposed": lambda x, y, i: x.t().index_add(0, i, y.t()),
    "a base that is read again": lambda x, y, i: (b := x.exp(), z := b.index_add(0, i, y), b / z, b.sum(0))[
        1:
    ],
    "a base that two write to": lambda x, y, i: (
        b := x.exp(),
        b.index_copy(0, i, y),
        b.index_add(0, i, x),
        b * 2,
    )[1:],
    "scatter multiply": lambda x, y, i: x.scatter(0, i.expand(5, 5).t(), y, reduce="multiply"),
    "scatter_reduce prod": lambda x, y, i: x.scatter_reduce(0, i.expand(3, 5), y, "prod"),
    "scatter_reduce amax": lambda x, y, i: x.scatter_reduce(1, i.expand(5, 5), y, "amax"),
    "scatter_reduce amin of none": lambda x, y, i: x.scatter_reduce(
        0, i[:4].expand(4, 4), y, "amin", include_self=False
    ),
    "index_reduce prod": lambda x, y, i: x.index_reduce(0, i[:3], y[:3], "prod"),
    "index_reduce amax of none": lambda x, y, i: x.index_reduce(
        1, i[:3], y[:, :3], "amax", include_self=False
    ),
    "index_reduce amin": lambda x, y, i: x.index_reduce(0, i, y, "amin"),
    "then summed": lambda x, y, i: torch.softmax(x.scatter_add(1, i.expand(5, 5), y), 1),
}


@pytest.mark.parametrize("name", SCATTERING)
def test_scattering(name):
    check(SCATTERING[name], torch.randn(5, 5), torch.randn(5, 5), torch.tensor([1, 0, 3, 2, 1]))


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.int32])
def test_dtypes(dtype):
    x, y = torch.arange(12).view(4, 3).to(dtype), torch.arange(9).view(3, 3).to(dtype)
    check(lambda x, y, i: x.index_add(0, i, y), x, y, torch.tensor([3, 3, 0]))


@pytest.mark.parametrize("reduce", ["prod", "amax", "amin"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.int16])
def test_reductions_of_dtypes(dtype, reduce):
    x, y = torch.arange(-6, 6).view(4, 3).to(dtype), torch.arange(-4, 5).view(3, 3).to(dtype)
    for include in (True, False):
        check(
            lambda x, y, i, include=include: x.index_reduce(0, i, y, reduce, include_self=include),
            x,
            y,
            torch.tensor([3, 3, 0]),
        )


def test_reductions_with_nan():
    x, y = torch.zeros(4), torch.tensor([1.0, torch.nan, -1.0, torch.nan])
    check(lambda x, y, i: x.scatter_reduce(0, i, y, "amax"), x, y, torch.tensor([0, 0, 1, 2]))


def test_zero_dims():
    index = torch.tensor(0)
    check(lambda x, y, i: x.scatter_add(0, i, y), torch.tensor(1.5), torch.tensor(2.5), index)
    check(lambda x, i: x.gather(0, i) + x.index_select(0, i), torch.tensor(1.5), index)


def test_wide_rows():
    check(
        lambda x, y, i: x.index_add(0, i, y),
        torch.randn(9, 100),
        torch.randn(40, 100),
        torch.randint(0, 9, (40,)),
    )


@pytest.mark.parametrize(
    "write", [lambda x, y, i: x.index_add(0, i, y), lambda x, y, i: x.index_put((i,), y)]
)
@pytest.mark.parametrize("bad", [5, -6, 1 << 40])
def test_out_of_range_fails(write, bad):
    x, y = torch.randn(5, 4), torch.randn(3, 4)
    check_fails(write, [x, y, torch.tensor([0, 1, 2])], x, y, torch.tensor([0, bad, 2]))


@pytest.mark.parametrize("reduce", ["prod", "amax"])
def test_too_few_indices_for_a_number(reduce):
    """The shape rule accepts it, though there is no index to read."""

    def reduced(x, i, y):
        return x.index_reduce(0, i, y, reduce)

    args = torch.tensor(1.0), torch.zeros(0, dtype=torch.int64), torch.tensor(2.0)
    for function in (reduced, capture.compile(reduced)):
        with pytest.raises(IndexError, match="tensor has no dimensions"):
            function(*args)
