"""Running sums, products and extremes along a dimension.

In:  a definition, the dimension.
Out: the definition of the scan.

    aten.cumsum(x, 1)   ->   Scan("sum", cast x to f64, 1) as f32

Sums and products accumulate in eager's type: float64 for float32, float32 for the narrower types. Every
result is rounded.
"""

from __future__ import annotations

from typing import Any

import torch

from codegen.lower.promotion import compute_dtype, is_float
from codegen.lower.registry import lowering
from codegen.lower.scalar_math import apply, compare, where
from codegen.lower.tensor_expr import Gather, Position, Scan, TensorExpr, cast, copy_of, fill

aten = torch.ops.aten
SHORT = 32  # elements of a row; up to this length our two scans are faster than eager's one loop
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
    if combine == "sum" and value.shape[dim] == 1 and is_float(ctx.dtype):
        return cast(apply("add", wide, 0.0), ctx.dtype)  # eager begins with 0.0: no sum is -0.0
    return Scan(combine, wide, dim % len(value.shape), ctx.dtype)


@lowering(aten.cummax.default)
def cummax(ctx: Any, value: TensorExpr, dim: int) -> Any:
    return record_and_place("max", "ge", value, dim)


@lowering(aten.cummin.default)
def cummin(ctx: Any, value: TensorExpr, dim: int) -> Any:
    return record_and_place("min", "le", value, dim)


def record_and_place(combine: str, reaches: str, value: TensorExpr, dim: int) -> Any:
    """The best element so far, and the place of the last element that is as good.

    Here -0.0 equals 0.0, and NaN equals NaN.
    """
    if not value.shape:
        return copy_of(value), fill((), "i64", 0)
    dim %= len(value.shape)
    length = value.shape[dim]
    if dim == len(value.shape) - 1 and not (isinstance(length, int) and length <= SHORT):
        return NotImplemented
    source = cast(value, "u8" if value.dtype == "b8" else compute_dtype(value.dtype))
    best = Scan(combine, source, dim, source.dtype)
    is_record = compare(reaches, source, best)
    if is_float(source.dtype):
        is_record = apply("or", is_record, compare("ne", source, source))
    narrow = "i32" if isinstance(length, int) and length < 2**31 else "i64"  # i32 has twice the lanes
    place = Scan("max", where(is_record, cast(Position(value.shape, dim), narrow), 0), dim, "i64")
    record = Gather(
        value, value.shape, tuple(place if d == dim else d for d in range(len(value.shape))), wraps=False
    )
    record.trusted = True
    return record, place
