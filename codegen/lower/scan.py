"""Running sums, products and extremes along a dimension.

    aten.cumsum(x, 1)   ->   Scan("sum", cast x to f64, 1) as f32

Sums and products are accumulated in the type that eager takes: float64 for float32, float32 for the narrower
ones, and every result rounded.
"""

from __future__ import annotations

from typing import Any

import torch

from codegen.lower.promotion import compute_dtype, is_float
from codegen.lower.registry import lowering
from codegen.lower.scalar_math import apply, compare, where
from codegen.lower.tensor_expr import Gather, Position, Scan, TensorExpr, cast, copy_of, fill

aten = torch.ops.aten
SHORT = 32  # elements of a row up to which our two scans take less time than eager's one loop
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


@lowering(aten.cummax.default)
def cummax(ctx: Any, value: TensorExpr, dim: int) -> Any:
    return record_and_place("max", "ge", value, dim)


@lowering(aten.cummin.default)
def cummin(ctx: Any, value: TensorExpr, dim: int) -> Any:
    return record_and_place("min", "le", value, dim)


def record_and_place(combine: str, reaches: str, value: TensorExpr, dim: int) -> Any:
    """The best so far, and where the last element stands that is as good: of -0.0 and 0.0 the later, of NaNs
    the last.
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
    narrow = "i32" if isinstance(length, int) and length < 2**31 else "i64"  # twice the lanes
    place = Scan("max", where(is_record, cast(Position(value.shape, dim), narrow), 0), dim, "i64")
    record = Gather(
        value, value.shape, tuple(place if d == dim else d for d in range(len(value.shape))), wraps=False
    )
    record.trusted = True
    return record, place
