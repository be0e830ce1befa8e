"""A break in `no_grad`: the resume function starts in one mode and ends in the other.

This holds also when its sizes become symbols.
"""

from __future__ import annotations

import pytest
import torch

import capture


def f(x, y, k):
    with torch.no_grad():
        t = y * k if y.sum() > 0 else y + k
    return x + y + k, t


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "llvm"])
def test_results_behind_the_block_require_grad(backend):
    x, y = torch.ones(3), torch.ones(3).requires_grad_()
    compiled = capture.compile(f, backend=backend)
    for k in (2, 3, 4, 5):
        behind, inside = compiled(x, y, k)
        assert behind.requires_grad and not inside.requires_grad
        assert torch.is_grad_enabled()
        assert torch.equal(torch.autograd.grad(behind.sum(), y)[0], torch.ones(3))
