"""Guards of numbers: conditions over sizes, strides, ints and floats.

In:  an expression of `guards.conditions`, or a tensor with free sizes.
Out: `ShapeGuard`, and `free_stride_guards` for the strides that a `TensorGuard` leaves free.

    ShapeGuard.of(conditions.apply("le", size(x, 0), constant(8)))   ->   x.size(0) <= 8
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from typing import Any

import _capture
import torch

from guards import conditions
from guards.conditions import INT64, ShapeExpression, ShapeOverflow, float_bits
from guards.encoder import Encoder
from guards.guard import Guard
from guards.properties.tensor import dims_inside, free_strides
from guards.sources import FloatSource, Source


class ShapeGuard(Guard):
    """An expression over sizes, strides and numbers is true."""

    cost = 110
    payload: ShapeExpression

    @classmethod
    def of(cls, expression: ShapeExpression) -> ShapeGuard:
        return cls(expression.sources, expression)

    def holds(self, values: tuple[Any, ...]) -> bool:
        if not all(map(_is_number_of, self.payload.sources, values)):
            return False
        try:
            return self.payload.evaluate(values) != 0
        except ShapeOverflow:
            return False

    def encode(self, encoder: Encoder) -> None:
        registers = [encoder.int_register_of(source) for source in self.payload.sources]
        operands: list[int] = []
        for name, *argument in self.payload.code:
            word: Any = argument[0] if argument else 0
            word = registers[word] if name == "load" else float_bits(word) if type(word) is float else word
            operands += [_operator_numbers()[name], word]
        encoder.emit("CHECK_SHAPE", operands=operands)

    @property
    def text(self) -> str:
        return self.payload.text


def _is_number_of(source: Source, value: Any) -> bool:
    return isinstance(source, FloatSource) or (type(value) is int and value in INT64)


@cache
def _operator_numbers() -> dict[str, int]:
    """The number of each operator in a guard program, as the extension tells it."""
    return {name.lower(): number for number, (name, _) in enumerate(_capture.shape_operators)}


def free_stride_guards(
    source: Source,
    tensor: torch.Tensor,
    dynamic_dims: Iterable[int],
    open_strides: Collection[int] = (),
) -> list[ShapeGuard]:
    """Conditions for the strides that a `TensorGuard` leaves free, as `free_strides` says.

    With open strides, the parts of the tensor along each of these dims and those outside do not overlap.
    """
    free = free_strides(tensor, dynamic_dims, open_strides)
    guards = [_no_overlap(source, tensor, dim) for dim in free] if open_strides else []
    for dim, inner in free.items():
        if dim in open_strides:
            continue
        if inner is None:
            expected = conditions.constant(tensor.stride(dim))
        else:
            expected = conditions.apply(
                "mul", conditions.size(source, inner), conditions.stride(source, inner)
            )
        guards.append(ShapeGuard.of(conditions.apply("eq", conditions.stride(source, dim), expected)))
    return guards


def _no_overlap(source: Source, tensor: torch.Tensor, dim: int) -> ShapeGuard:
    """What lies inside of the dim fits into its stride: 1 + the sum of (size - 1) * stride."""
    extent = conditions.constant(1)
    for inside in dims_inside(tensor.stride(), dim):
        last = conditions.apply("sub", conditions.size(source, inside), conditions.constant(1))
        extent = conditions.apply(
            "add", extent, conditions.apply("mul", last, conditions.stride(source, inside))
        )
    return ShapeGuard.of(conditions.apply("le", extent, conditions.stride(source, dim)))
