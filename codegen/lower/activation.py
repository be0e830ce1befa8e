"""Activations that are computed as one operation: eager rounds their result once, in every dtype.

In:  the operands of the ATen call, as `TensorExpr`.
Out: the definition of its result.

    aten.gelu(x)   ->   Map("mul", (x, Map("normal_cdf", (x,))))
"""

from __future__ import annotations

import math
from typing import Any

import torch

from codegen.lower.pointwise import operands, rounded
from codegen.lower.registry import lowering
from codegen.lower.scalar_math import add, apply, mul, sub
from codegen.lower.tensor_expr import TensorExpr

aten = torch.ops.aten
TANH_SCALE = math.sqrt(2 / math.pi)
TANH_CUBE = 0.044715


def _gelu_tanh(x: TensorExpr) -> TensorExpr:
    return apply("tanh", mul(add(x, mul(mul(mul(x, x), x), TANH_CUBE)), TANH_SCALE))


@lowering(aten.gelu.default)
def gelu(ctx: Any, value: TensorExpr, approximate: str = "none") -> TensorExpr:
    (x,) = operands(ctx, value)
    if approximate == "tanh":
        return rounded(ctx, mul(mul(x, 0.5), add(_gelu_tanh(x), 1.0)))
    return rounded(ctx, mul(x, apply("normal_cdf", x)))


@lowering(aten.gelu_backward.default)
def gelu_backward(ctx: Any, gradient: TensorExpr, value: TensorExpr, approximate: str = "none") -> TensorExpr:
    grad, x = operands(ctx, gradient, value)
    square = mul(x, x)
    if approximate == "tanh":
        inner = _gelu_tanh(x)
        slope = mul(add(mul(square, 3 * TANH_CUBE), 1.0), TANH_SCALE)
        right = mul(mul(mul(x, 0.5), sub(1.0, mul(inner, inner))), slope)
        return rounded(ctx, mul(grad, add(mul(add(inner, 1.0), 0.5), right)))
    density = mul(apply("exp", mul(square, -0.5)), 1 / math.sqrt(2 * math.pi))
    return rounded(ctx, mul(grad, add(apply("normal_cdf", x), mul(x, density))))
