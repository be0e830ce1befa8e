"""Random programs, captured and compiled, give eager's values, strides, written inputs, gradients, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture
from tests.random_programs import Program

FAST, SLOW, BATCH = 4, 24, 25  # batches of programs


def run(program: Program, function: Callable[..., Any], double: bool = False) -> tuple[Any, list[Any]]:
    """The properties of the results that must be equal, and the values: results, inputs afterwards,
    gradients. Or the error.
    """
    inputs = program.inputs(double)
    try:
        with torch.set_grad_enabled(program.needs_grad):
            results = function(*inputs)
            if program.needs_grad:
                differentiable = [result for result in results if result.requires_grad]
                loss = sum((result * weights_like(result)).sum() for result in differentiable)
                if differentiable:
                    loss.backward()
    except RuntimeError as error:
        return (type(error), str(error)), []
    # The strides of dims of size 1, and of empty tensors, may differ from eager's.
    strides = [strides_of(result) for result in results]
    layouts = [(result.shape, result.dtype, result.requires_grad) for result in results]
    gradients = [value.grad for value in inputs]
    return (layouts, strides, [g is None for g in gradients]), [*results, *inputs, *gradients]


def strides_of(result: torch.Tensor) -> list[int]:
    pairs = zip(result.shape, result.stride())
    return [stride for size, stride in pairs if size != 1] if result.numel() else []


def weights_like(result: torch.Tensor) -> torch.Tensor:
    return torch.arange(result.numel(), dtype=result.dtype).reshape(result.shape).cos() + 0.5


def differences(expected: list[Any], found: list[Any], exact: list[Any]) -> list[str]:
    """Values that differ by more than rounding: the float64 run agrees with eager on more digits there."""
    texts = []
    for i, (left, right, precise) in enumerate(zip(expected, found, exact, strict=True)):
        if left is None or torch.allclose(left, right, rtol=2e-4, atol=2e-5, equal_nan=True):
            continue
        noise = (left.double() - precise).abs().max()
        if noise < 1e-4:
            texts.append(f"value {i}: {left} became {right}")
    return texts


@pytest.mark.parametrize(
    "batch", [*range(FAST), *(pytest.param(n, marks=pytest.mark.sweep) for n in range(FAST, SLOW))]
)
def test_same_as_eager(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        program = Program(seed)
        function = program.function()
        outcome, expected = run(program, function)
        _, exact = run(program, function, double=True)
        captured = capture.compile(function, dynamic=True if seed % 4 == 0 else None)
        for _ in range(2):  # the second call finds the state that the first one left
            again, found = run(program, captured)
            assert again == outcome, f"seed {seed}:\n{program.source}"
            comparable = len(exact) == len(expected)  # parts in float32 may not fit those in float64
            wrong = differences(expected, found, exact if comparable else expected)
            assert not wrong, f"seed {seed}:\n{program.source}\n" + "\n".join(wrong)
        capture.reset()
