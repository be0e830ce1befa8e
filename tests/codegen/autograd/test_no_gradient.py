"""Results that require grad in eager, although no input has a gradient of theirs."""

from __future__ import annotations

import pytest
import torch

import capture


class Counted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).float().sum()

    @staticmethod
    def backward(ctx, grad):
        return None


PROGRAMS = {
    "norm of order 0": lambda x: torch.linalg.vector_norm(x, 0) * 2,
    "by rows": lambda x: x.norm(p=0, dim=1),
    "a function of the program": lambda x: Counted.apply(x) + 1,
    "beside one with a gradient": lambda x: (x.norm(p=0), (x * 2).sum()),
    "in a sum with one": lambda x: x.norm(p=0) + (x * 2).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_requires_grad_and_its_backward_gives_none(name):
    def outcome(function):
        x = torch.tensor([[1.0, 0.0, -2.0], [0.0, 0.5, 0.0]], requires_grad=True)
        results = function(x)
        found = []
        for result in results if isinstance(results, tuple) else (results,):
            x.grad = None
            result.sum().backward(retain_graph=True)
            found.append((result.requires_grad, result.tolist(), None if x.grad is None else x.grad.tolist()))
        return found

    capture.reset()
    assert outcome(capture.compile(PROGRAMS[name])) == outcome(PROGRAMS[name])
