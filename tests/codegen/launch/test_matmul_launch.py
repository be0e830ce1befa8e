"""The products that BLAS runs directly."""

from __future__ import annotations

import pytest
import torch

from codegen.launch.matmul_launch import native_matmul
from tests.codegen.lowering_check import check, lowered


@pytest.mark.parametrize(
    ("shape", "direct"),
    [((1000, 3, 3), False), ((1000, 8, 8), True), ((100, 3, 3), True), ((130, 7, 7), False)],
    ids=str,
)
def test_many_small_products_are_left_to_torchs_loop(shape, direct):
    x = torch.randn(shape, dtype=torch.float64)
    program, _ = lowered(torch.bmm, x, x)
    (step,) = program.steps
    layouts = {name: _Layout(x) for name in program.buffers}
    assert (native_matmul(step, layouts) is not None) is direct
    check(torch.bmm, x, x, no_calls=False)


def test_small_products_in_float32_are_not():
    x = torch.randn(1000, 3, 3)
    program, _ = lowered(torch.bmm, x, x)
    layouts = {name: _Layout(x) for name in program.buffers}
    assert native_matmul(program.steps[0], layouts) is not None
    check(torch.bmm, x, x, no_calls=False)


class _Layout:
    def __init__(self, tensor: torch.Tensor) -> None:
        self.dtype, self.shape, self.strides = tensor.dtype, tuple(tensor.shape), tensor.stride()
