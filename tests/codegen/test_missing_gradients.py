"""Results that no gradient comes from: inputs that only lead to them get none, as in eager, not zeros."""

from __future__ import annotations

import torch

import capture


def two(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return a.exp(), b.sin(), a * b


def test_gradients_of_one_result() -> None:
    compiled = capture.compile(two)
    for used in ((0,), (1,), (2,), (0, 1), (1, 2)):
        grads = []
        for fn in (two, compiled):
            inputs = [torch.full((3,), 0.5, requires_grad=True) for _ in range(2)]
            results = fn(*inputs)
            sum(results[i].sum() for i in used).backward()
            grads.append([item.grad for item in inputs])
        for expected, found in zip(*grads):
            assert (expected is None) == (found is None)
            if expected is not None:
                torch.testing.assert_close(found, expected)


def test_gradients_before_a_break() -> None:
    """What is computed before the break and not used behind it."""

    def program(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        unused, y = a.exp(), b * 2
        if y.sum() > 0:
            y = y + 1
        return y.sin() if a is not None else unused

    compiled = capture.compile(program)
    for _ in range(2):
        a, b = (torch.ones(3, requires_grad=True) for _ in range(2))
        compiled(a, b).sum().backward()
        assert a.grad is None and b.grad is not None
