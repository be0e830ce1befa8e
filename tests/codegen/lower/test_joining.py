"""Operators that write parts of a buffer, against eager."""

from __future__ import annotations

import pytest
import torch

import capture
from codegen.kernel.printer import print_kernel
from tests.codegen.lowering_check import check, kernels

ROLLS = [
    (1, 0),
    (-3, -1),
    (0, 0),
    (100, 1),
    (7, ()),
    ((1, 2), (0, -1)),
    ((1, 1), (0, 0)),
    ((1, 2, 3), (0, 1, 2)),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("shifts", "dims"), ROLLS, ids=str)
def test_roll(shifts, dims, dtype):
    x = torch.arange(4 * 5 * 6).reshape(4, 5, 6).remainder(7).to(dtype)
    check(lambda x: torch.roll(x, shifts, dims), x)
    check(lambda x: torch.roll(x, shifts, dims), x.permute(2, 0, 1))


def test_roll_copies_blocks():
    """It looks up no element at a computed place."""
    found = kernels(check(lambda x: torch.roll(x, (2, 3), (1, 2)), torch.zeros(4, 50, 60)))
    assert 1 <= len(found) <= 4
    assert not any(word in print_kernel(kernel) for kernel in found for word in ("//", "mod"))


def test_roll_of_nothing_and_of_one():
    check(lambda x: torch.roll(x, 1, 0), torch.zeros(0, 3))
    check(lambda x: torch.roll(x, 1, 0), torch.zeros(1, 1))


def test_roll_of_symbolic_sizes_and_its_gradient():
    compiled = capture.compile(lambda x: (torch.roll(x, 2, 0) * x).sum(), dynamic=True)
    for size in (3, 5, 8):
        x = torch.randn(size, 2, requires_grad=True)
        y = x.detach().clone().requires_grad_()
        compiled(x).backward()
        (torch.roll(y, 2, 0) * y).sum().backward()
        torch.testing.assert_close(x.grad, y.grad)
