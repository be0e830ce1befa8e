"""Results that no gradient comes from: inputs that only lead to them get none, as in eager, not zeros."""

from __future__ import annotations

import sys
import types

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


def layouts(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Results of several layouts and types."""
    return a.exp().t(), (a * b).sum(), b.double().sin(), b[:1].expand(3, 4) * 2, a.new_zeros(0, 4) + a[:0]


def test_all_choices_of_results_again_and_again() -> None:
    compiled = capture.compile(layouts)
    for _ in range(2):
        for used in ([i for i in range(5) if choice >> i & 1] for choice in range(1, 32)):
            grads = []
            for fn in (layouts, compiled):
                inputs = [torch.full((3, 4), 0.5, requires_grad=True) for _ in range(2)]
                results = fn(*inputs)
                torch.autograd.backward(
                    [results[i] for i in used], [torch.ones_like(results[i]) for i in used]
                )
                grads.append([item.grad for item in inputs])
            for expected, found in zip(*grads):
                assert (expected is None) == (found is None), used
                if expected is not None:
                    torch.testing.assert_close(found, expected)


def test_python_is_asked_once() -> None:
    compiled = capture.compile(two)
    a, b = (torch.ones(3, requires_grad=True) for _ in range(2))
    calls: list[str] = []

    def note(frame: types.FrameType, event: str, argument: object) -> None:
        if event == "call":
            calls.append(frame.f_code.co_name)

    for _ in range(3):
        calls.clear()
        loss = compiled(a, b)[2].sum()
        sys.setprofile(note)
        try:
            loss.backward()
        finally:
            sys.setprofile(None)
    assert calls and "run_backward" not in calls


def test_more_results_than_are_counted() -> None:
    def many(a: torch.Tensor, b: torch.Tensor) -> list[torch.Tensor]:
        return [a * i if i % 2 else b * i for i in range(70)]

    compiled = capture.compile(many)
    for _ in range(3):
        a, b = (torch.ones(3, requires_grad=True) for _ in range(2))
        results = compiled(a, b)
        (results[69] + results[3]).sum().backward()
        assert b.grad is None and torch.equal(a.grad, torch.full((3,), 72.0))


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
