"""Reading at computed places, joins, padding, creation, against eager."""

from __future__ import annotations

import pytest
import torch

from codegen.kernel.printer import print_kernel
from tests.codegen.lowering_check import check, check_fails, kernels

INDEXING = {
    "embedding": lambda x, i, j: torch.nn.functional.embedding(i, x),
    "embedding and scale": lambda x, i, j: torch.nn.functional.embedding(j, x) * 2 + 1,
    "index_select": lambda x, i, j: torch.index_select(x, 1, i),
    "index_select rows": lambda x, i, j: torch.index_select(x, 0, i),
    "index": lambda x, i, j: x[i],
    "index negative": lambda x, i, j: x[i - 4],
    "index second": lambda x, i, j: x[:, j],
    "index both": lambda x, i, j: x[i, i + 1],
    "index broadcast": lambda x, i, j: x[i[:, None], j[0]],
    "index int32": lambda x, i, j: x[i.int()],
    "gather": lambda x, i, j: torch.gather(x, 1, i.view(-1, 1)),
    "gather rows": lambda x, i, j: torch.gather(x, 0, j),
    "gather of computed": lambda x, i, j: torch.gather(torch.log_softmax(x, 1), 1, i.view(-1, 1)),
    "index of computed": lambda x, i, j: torch.exp(x)[i] + 1,
}


@pytest.mark.parametrize("name", INDEXING)
def test_indexing(name):
    check(INDEXING[name], torch.randn(5, 5), torch.tensor([1, 0, 3, 2, 1]), torch.tensor([[1, 0], [3, 2]]))


@pytest.mark.parametrize(
    "read",
    [
        lambda x, i: x[i],
        lambda x, i: torch.index_select(x, 0, i),
        lambda x, i: torch.nn.functional.embedding(i, x),
    ],
)
@pytest.mark.parametrize("bad", [5, -6, 1 << 40])
def test_out_of_range_fails(read, bad):
    fine = torch.tensor([0, 1, 2])
    x = torch.randn(5, 4)
    check_fails(read, [x, fine], x, torch.tensor([0, bad, 2]))


JOINING = {
    "cat": lambda x, y: torch.cat([x, y * 2, x], 0),
    "cat columns": lambda x, y: torch.cat([x, y[:, :2]], 1),
    "cat then add": lambda x, y: torch.cat([x, y], 1) + 1,
    "cat then sum": lambda x, y: torch.cat([torch.exp(x), y], 1).sum(1),
    "cat with empty": lambda x, y: torch.cat([x, torch.zeros(0), y], 0),
    "cat promotes": lambda x, y: torch.cat([x, y.int()], 0),
    "stack": lambda x, y: torch.stack([x, y + 1], 1),
    "rotary": lambda x, y: x * 2 + torch.cat([-x[:, 2:], x[:, :2]], 1) * y,
    "pad": lambda x, y: torch.nn.functional.pad(x, (1, 2, 0, 3), value=1.5),
    "pad crops": lambda x, y: torch.nn.functional.pad(x, (-1, 1)),
    "pad computed": lambda x, y: torch.nn.functional.pad(torch.exp(x), (2, 0)) + 1,
    "slice_scatter": lambda x, y: torch.slice_scatter(x, y[:2], 0, 1, 3),
    "select_scatter": lambda x, y: torch.select_scatter(x, y[0], 1, 2),
    "scatter one": lambda x, y: torch.scatter(x, 1, torch.tensor([[1], [3], [0], [2]]), -1.0),
    "tril": lambda x, y: torch.tril(x, 1) + torch.triu(y, -1),
}


@pytest.mark.parametrize("name", JOINING)
def test_joining(name):
    check(JOINING[name], torch.randn(4, 4), torch.randn(4, 4))


CREATION = {
    "arange": lambda: torch.arange(7),
    "linspace": lambda: torch.linspace(-1, 0.3, 23),
    "linspace used": lambda: torch.linspace(0, 1, 9).double() * torch.linspace(2, 20, 9, dtype=torch.int64),
    "logspace": lambda: torch.logspace(0, 2, 7, base=3.0) + 1,
    "indices of a triangle": lambda: torch.tril_indices(4, 5, 1)[0] * 2,
    "arange step": lambda: torch.arange(3, 20, 4),
    "arange float": lambda: torch.arange(0, 9, dtype=torch.float32) * 2,
    "full": lambda: torch.full((2, 3), 1.5),
    "full bool": lambda: torch.full((2,), True),
    "zeros and ones": lambda: torch.zeros(3) + torch.ones(2, 3),
    "eye": lambda: torch.eye(4, 5) * 3,
    "causal mask": lambda: torch.arange(5)[:, None] >= torch.arange(5)[None, :],
    "full_like half": lambda: torch.full_like(torch.zeros(3, dtype=torch.bfloat16), 0.1) * 3,
}


@pytest.mark.parametrize("name", CREATION)
def test_creation(name):
    check(CREATION[name])


def test_fractional_arange_is_a_table():
    check(lambda: torch.arange(0, 1, 0.1) + 1, exact=True)


def test_join_is_written_by_parts():
    program = check(lambda x, y: torch.cat([torch.exp(x), y + 1], 0), torch.randn(3, 4), torch.randn(3, 4))
    assert len(kernels(program)) == 1


def test_sums_of_rows_that_are_looked_up_read_along_the_rows():
    """An index that the kernel computes depends on the axes after it: the rows take the memory."""
    program = check(lambda i, w: w[i].sum(1), torch.randint(50, (20, 10)), torch.randn(50, 64))
    assert "i2 in 64 parallel vector" in print_kernel(kernels(program)[0])
