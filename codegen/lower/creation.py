"""Tensors that are made from numbers and positions alone.

In:  the numbers of the ATen call.
Out: the definition of the result.

    aten.arange.start_step(0, 8, 2)  ->  Map("mul", (Position(0), Fill(2)))
    aten.full([4], 1.5)              ->  Fill(1.5)
"""

from __future__ import annotations

import functools
import math
from typing import Any

import torch

from codegen.kernel.index_algebra import Poly
from codegen.lower.promotion import as_operand, is_float
from codegen.lower.registry import lowering
from codegen.lower.scalar_math import add, compare, mul, sub, where
from codegen.lower.tensor_expr import Position, TensorExpr, cast, copy_of, fill

aten = torch.ops.aten


@lowering(aten.full.default, aten.full_like.default, aten.new_full.default)
def full(ctx: Any, like: Any, *arguments: Any, **options: Any) -> TensorExpr:
    return as_operand(arguments[-1] if arguments else options["fill_value"], ctx.dtype, ctx.shape)


@lowering(
    aten.zeros.default,
    aten.zeros_like.default,
    aten.new_zeros.default,
    aten.empty.memory_format,
    aten.empty_like.default,
    aten.new_empty.default,
    aten.empty_strided.default,
    aten.new_empty_strided.default,
    aten._efficientzerotensor.default,
)
def zeros(ctx: Any, *arguments: Any, **options: Any) -> TensorExpr:
    """Zeros. Memory that eager leaves undefined is zero here too."""
    return fill(ctx.shape, ctx.dtype, 0)


@lowering(aten.ones.default, aten.ones_like.default, aten.new_ones.default)
def ones(ctx: Any, *arguments: Any, **options: Any) -> TensorExpr:
    return fill(ctx.shape, ctx.dtype, 1)


@lowering(aten.scalar_tensor.default)
def scalar_tensor(ctx: Any, value: Any, **options: Any) -> TensorExpr:
    return as_operand(value, ctx.dtype, ())


@lowering(aten.fill.Scalar, aten.fill.Tensor)
def fill_lowering(ctx: Any, like: TensorExpr, value: Any) -> TensorExpr:
    return as_operand(value, ctx.dtype, ctx.shape)


def _sequence(ctx: Any, start: Any, step: Any) -> TensorExpr:
    """start + step * i, if every element is exact; for other steps only eager knows how to round."""
    if isinstance(step, Poly) or (isinstance(start, Poly) and not _whole(step)):
        return NotImplemented
    if not (_whole(step) and (isinstance(start, Poly) or _whole(start))):
        return _fractions(ctx, start, step)
    position = mul(Position(ctx.shape, 0), int(step)) if step != 1 else Position(ctx.shape, 0)
    if isinstance(start, Poly) or start:
        position = add(position, start if isinstance(start, Poly) else int(start))
    return cast(position, ctx.dtype)


def _fractions(ctx: Any, start: Any, step: Any) -> TensorExpr:
    (size,) = ctx.shape
    exact = all(float(value * FINEST).is_integer() and abs(value) < COARSEST for value in (start, step))
    if not exact or ctx.dtype not in ("f32", "f64") or not isinstance(size, int) or size > COARSEST:
        return NotImplemented
    return add(mul(cast(Position(ctx.shape, 0), ctx.dtype), step), start)


FINEST, COARSEST = 64, 2**8  # parts of 1, and numbers up to which their products are exact


def _whole(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < 2**24)


@lowering(aten.arange.default)
def arange(ctx: Any, end: Any, **options: Any) -> TensorExpr:
    found = _sequence(ctx, 0, 1)
    return table(ctx, aten.arange.default, end, **options) if found is NotImplemented else found


@lowering(aten.arange.start)
def arange_start(ctx: Any, start: Any, end: Any, **options: Any) -> TensorExpr:
    found = _sequence(ctx, start, 1)
    return table(ctx, aten.arange.start, start, end, **options) if found is NotImplemented else found


@lowering(aten.arange.start_step)
def arange_step(ctx: Any, start: Any, end: Any, step: Any = 1, **options: Any) -> TensorExpr:
    found = _sequence(ctx, start, step)
    return (
        table(ctx, aten.arange.start_step, start, end, step, **options) if found is NotImplemented else found
    )


@lowering(torch.ops.prims.iota.default)
def iota(ctx: Any, length: Any, *, start: Any, step: Any, **options: Any) -> TensorExpr:
    return _sequence(ctx, start, step)


@lowering(aten.eye.default, aten.eye.m)
def eye(ctx: Any, *sizes: Any, **options: Any) -> TensorExpr:
    diagonal = compare("eq", Position(ctx.shape, 0), Position(ctx.shape, 1))
    return cast(diagonal, ctx.dtype)


def _triangle(ctx: Any, value: TensorExpr, op: str, diagonal: int) -> TensorExpr:
    rank = len(ctx.shape)
    distance = sub(Position(ctx.shape, rank - 1), Position(ctx.shape, rank - 2))
    return where(compare(op, distance, diagonal), value, 0 if not is_float(ctx.dtype) else 0.0)


@lowering(aten.tril.default)
def tril(ctx: Any, value: TensorExpr, diagonal: int = 0) -> TensorExpr:
    return _triangle(ctx, value, "le", diagonal)


@lowering(aten.triu.default)
def triu(ctx: Any, value: TensorExpr, diagonal: int = 0) -> TensorExpr:
    return _triangle(ctx, value, "ge", diagonal)


# --- computed once, by eager ------------------------------------------------------------------------------

TABLE = 1 << 14  # the graph holds tables of up to this many elements


def table(ctx: Any, op: Any, *numbers: Any, **options: Any) -> TensorExpr:
    """Constant numbers, rounded as only eager knows. The result is a copy: the caller may write to it."""
    count = math.prod(ctx.val.shape)
    if any(isinstance(value, (Poly, TensorExpr)) for value in numbers) or count > TABLE:
        return NotImplemented
    if not count:
        return fill(ctx.shape, ctx.dtype, 0)
    with torch._C._DisableTorchDispatch(), torch._C._InferenceMode(False):
        value = op(*numbers, **{**options, "device": "cpu"})
    return copy_of(ctx.constant(value, f"{ctx.name}_table"))


for _op in (
    aten.linspace.default,
    aten.logspace.default,
    aten.tril_indices.default,
    aten.triu_indices.default,
):
    lowering(_op)(
        functools.partial(lambda op, ctx, *numbers, **options: table(ctx, op, *numbers, **options), _op)
    )
