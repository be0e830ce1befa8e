"""Group norm of tensors with contiguous channels: like eager's, and each kernel follows the memory."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import capture
from capture.report.config import config
from codegen.kernel.ir import Const, Loop
from codegen.llvm.loops import statements_in
from tests.codegen.lowering_check import check, kernels

SHAPES = [
    ((2, 6, 5, 7), 3),
    ((3, 8, 4), 4),
    ((2, 12, 3, 4, 5), 2),
    ((2, 4, 9, 9), 1),
    ((1, 6, 3, 3), 6),
    ((2, 4, 1, 1), 2),
]


def by_positions(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A tensor with the channels innermost."""
    return torch.randn(shape[0], *shape[2:], shape[1]).movedim(-1, 1).to(dtype)


def same(program: Any, *args: Any, gradients: bool = True, **tolerance: float) -> None:
    """Compares values, strides, gradients."""
    results = []
    for function in (program, capture.compile(program, dynamic=False)):
        given = [None if arg is None else arg.detach().clone().requires_grad_() for arg in args]
        with config.patch(raise_on_error=True):
            value = function(*given)
        grad = torch.linspace(-1, 2, value.numel(), dtype=value.dtype).view(value.shape)
        wanted = [arg for arg in given if arg is not None and gradients]
        results.append((value, *(torch.autograd.grad(value, wanted, grad) if gradients else ())))
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, equal_nan=True, **tolerance)
        assert found.stride() == expected.stride()


@pytest.mark.parametrize("affine", ["both", "weight", "bias", "neither"])
@pytest.mark.parametrize(("shape", "groups"), SHAPES, ids=str)
def test_values_and_gradients(shape: tuple[int, ...], groups: int, affine: str) -> None:
    torch.manual_seed(0)
    weight = torch.randn(shape[1]) if affine in ("both", "weight") else None
    bias = torch.randn(shape[1]) if affine in ("both", "bias") else None
    same(
        lambda x, w, b: F.group_norm(x, groups, w, b),
        by_positions(*shape),
        weight,
        bias,
        gradients=affine != "bias",  # eager has none
        rtol=1e-4,
        atol=1e-4,
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("wide_parameters", [False, True])
def test_dtypes(dtype: torch.dtype, wide_parameters: bool) -> None:
    torch.manual_seed(0)
    kept = torch.float32 if wide_parameters and dtype is not torch.float64 else dtype
    weight, bias = torch.randn(6, dtype=kept), torch.randn(6, dtype=kept)
    tolerance = {} if dtype is torch.float64 else {"rtol": 3e-2, "atol": 3e-2}
    same(
        lambda x, w, b: F.group_norm(x, 2, w, b),
        by_positions(3, 6, 5, 5, dtype=dtype),
        weight,
        bias,
        **tolerance,
    )


def test_not_numbers_stay_in_their_group() -> None:
    x = by_positions(2, 6, 4, 4)
    x[0, 1, 2, 2], x[1, 5, 0, 0] = torch.nan, torch.inf
    found, expected = capture.compile(lambda x: F.group_norm(x, 3))(x), F.group_norm(x, 3)
    torch.testing.assert_close(found, expected, equal_nan=True, rtol=1e-4, atol=1e-4)
    assert not found[0, 2:].isnan().any()


@pytest.mark.parametrize("shape", [(0, 6, 4, 4), (2, 6, 0, 4)], ids=str)
def test_without_elements(shape: tuple[int, ...]) -> None:
    x = torch.empty(shape).to(memory_format=torch.channels_last)
    found, expected = capture.compile(lambda x: F.group_norm(x, 3))(x), F.group_norm(x, 3)
    assert found.shape == expected.shape and found.stride() == expected.stride()


def test_sizes_that_change() -> None:
    torch.manual_seed(0)
    program = capture.compile(lambda x: F.group_norm(x, 2) * 2, dynamic=True)
    for batch, size in ((2, 5), (3, 8), (4, 6)):
        x = by_positions(batch, 6, size, size)
        torch.testing.assert_close(program(x), F.group_norm(x, 2) * 2, rtol=1e-4, atol=1e-4)


def test_gradients_of_gradients() -> None:
    torch.manual_seed(0)
    x = by_positions(2, 4, 3, 3, dtype=torch.float64).requires_grad_()

    def second(function: Any) -> torch.Tensor:
        (grad,) = torch.autograd.grad(function(x).pow(3).sum(), x, create_graph=True)
        return torch.autograd.grad(grad.pow(2).sum(), x)[0]

    layer = nn.GroupNorm(2, 4).double()
    torch.testing.assert_close(second(capture.compile(layer)), second(layer))


def test_every_loop_over_the_tensor_runs_along_memory() -> None:
    program = check(
        lambda x, w, b: F.group_norm(x, 8, w, b), by_positions(2, 32, 16, 16), torch.ones(32), torch.ones(32)
    )
    walks = [
        [loop for loop in statements_in(kernel.body) if isinstance(loop, Loop) and loop.vector]
        for kernel in kernels(program)
        if any(buffer.name == program.inputs[0] for buffer in kernel.buffers)
    ]
    assert walks and all(loop.extent == Const(32) for loops in walks for loop in loops)
