"""Frames that are one graph: their results, also if nobody reads parts of the graph."""

from __future__ import annotations

import pytest
import torch

import capture


def unread(x, y, z):
    _ = x + y * z
    return z, x


def unread_pieces(x, y, z):
    first, *_ = (x, y, z * 2)
    return y, first, z


def partly_unread(x, y, z):
    _ = y * 2
    return z, x + 1, y


def read_and_returned(x, y, z):
    _ = z.exp()
    return [y, {"sum": x + y}, x]


def unread_pieces_of_a_loop(x, y, z):
    sum_ = x + y
    if x.mean().item() > 5:
        z = z + 1
    for _ in x:
        _, *_ = (y + z, sum_ * 2)
    return y, z, x


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize(
    "function", [unread, unread_pieces, partly_unread, read_and_returned, unread_pieces_of_a_loop]
)
def test_each_value_in_its_place(function, backend):
    x, y, z = torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([3.0])
    compiled = capture.compile(function, backend=backend)
    for _ in range(2):
        torch.testing.assert_close(compiled(x, y, z), function(x, y, z))
