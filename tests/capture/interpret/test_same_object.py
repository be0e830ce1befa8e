"""One object in two places at capture, two objects later: conclusions from the first must not stay."""

from __future__ import annotations

import pytest
import torch

import capture


def breaks_and_keeps(x, t):
    """The break only carries x on; it needs t before."""
    t.mean().item()
    return x, t


def loop(x, y):
    for t in [x, y]:
        for _ in range(1):
            t.mean().item()
    return y, x


def is_same(x, t):
    doubled = t * 2
    return doubled, x is t


def carried_by_lists(x, t):
    first, second = [x], [t]
    t.mean().item()
    return first[0], second[0]


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("function", [breaks_and_keeps, loop, is_same, carried_by_lists])
def test_then_two_objects(function, backend):
    compiled = capture.compile(function, backend=backend)
    x, y = torch.tensor([1.0, -2.0]), torch.tensor([0.5, 0.25])
    for arguments in ((x, x), (x, y), (y, x), (x, x), (y, y)):
        for found, expected in zip(compiled(*arguments), function(*arguments), strict=True):
            if any(expected is argument for argument in arguments):
                assert found is expected
            else:
                assert torch.equal(torch.as_tensor(found), torch.as_tensor(expected))
