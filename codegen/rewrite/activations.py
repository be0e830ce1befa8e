"""Activations of float32 and float64 tensors.

In:  a call of an activation function, or of its backward.
Out: elementwise operators, as in torch's rules.

    silu(x)   ->   x * sigmoid(x)

torch's own rules (`torch._decomp`) are for every dtype: each call promotes and converts.
"""

from __future__ import annotations

from typing import Any

import torch

from codegen.rewrite.rows import HALF, WIDE, rewriting, row_major

aten = torch.ops.aten


@rewriting(aten.sgn.default)
def sgn(tensor: torch.Tensor) -> torch.Tensor:
    return aten.sign(tensor)


@rewriting(aten.silu.default)
def silu(tensor: torch.Tensor) -> torch.Tensor:
    return aten.mul(tensor, aten.sigmoid(tensor))


@rewriting(aten.silu_backward.default)
def silu_backward(grad: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    sigmoid = aten.sigmoid(tensor)
    return aten.mul(grad, aten.mul(sigmoid, aten.add(aten.mul(tensor, aten.rsub(sigmoid, 1)), 1)))


@rewriting(aten.leaky_relu.default)
def leaky_relu(tensor: torch.Tensor, negative_slope: float = 0.01) -> torch.Tensor:
    return aten.where(aten.gt(tensor, 0), tensor, aten.mul(tensor, negative_slope))


@rewriting(aten.leaky_relu_backward.default)
def leaky_relu_backward(
    grad: torch.Tensor, tensor: torch.Tensor, negative_slope: float, is_result: bool
) -> torch.Tensor:
    return aten.where(aten.gt(tensor, 0), grad, aten.mul(grad, negative_slope))


@rewriting(aten.rrelu_with_noise.default, dtypes=WIDE + HALF, any_size=True)
def rrelu_with_noise(
    tensor: torch.Tensor,
    noise: torch.Tensor,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Any:
    """Declines in training, where random noise is drawn."""
    return NotImplemented if training else row_major(aten.leaky_relu(tensor, (lower + upper) / 2))
