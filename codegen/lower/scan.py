"""Running sums and products along a dimension.

    aten.cumsum(x, 1)   ->   Scan("sum", cast x to f64, 1) as f32

Accumulated in the type that eager takes: float64 for float32, float32 for the narrower ones, and every result rounded.
"""

from __future__ import annotations

from typing import Any

import torch

from codegen.lower.registry import lowering
from codegen.lower.tensor_expr import Scan, TensorExpr, cast, copy_of

aten = torch.ops.aten
ACCUMULATED = {"f32": "f64", "bf16": "f32", "f16": "f32"}


@lowering(aten.cumsum.default)
def cumsum(ctx: Any, value: TensorExpr, dim: int, dtype: Any = None) -> TensorExpr:
    return scanned(ctx, "sum", value, dim)


@lowering(aten.cumprod.default)
def cumprod(ctx: Any, value: TensorExpr, dim: int, dtype: Any = None) -> TensorExpr:
    return scanned(ctx, "prod", value, dim)


def scanned(ctx: Any, combine: str, value: TensorExpr, dim: int) -> TensorExpr:
    source = cast(value, ctx.dtype)
    if not value.shape:
        return copy_of(source)
    wide = cast(source, ACCUMULATED.get(ctx.dtype, ctx.dtype))
    return Scan(combine, wide, dim % len(value.shape), ctx.dtype)
