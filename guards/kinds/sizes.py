"""Guards of numbers: conditions over sizes, strides, ints and floats.

In:  an expression of `guards.conditions`, or a tensor with free sizes.
Out: `ShapeGuard`, and `dynamic_stride_guards` for the strides that a `TensorGuard` leaves free.

    ShapeGuard.of(conditions.apply("le", size(x, 0), constant(8)))   ->   x.size(0) <= 8
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import _capture
import torch

from guards import conditions
from guards.conditions import INT64, ShapeExpression, ShapeOverflow, float_bits
from guards.encoder import Encoder
from guards.guard import Guard
from guards.properties.tensor import extent_inside, free_strides
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


def open_stride_guard(source: Source, tensor: torch.Tensor, dim: int) -> ShapeGuard:
    """The condition for an open stride: the parts of the tensor along the dim do not overlap."""
    extent = extent_inside(tensor, dim)
    assert extent is not None
    return ShapeGuard.of(conditions.apply("le", conditions.constant(extent), conditions.stride(source, dim)))


def dynamic_stride_guards(
    source: Source, tensor: torch.Tensor, dynamic_dims: Iterable[int]
) -> list[ShapeGuard]:
    """Conditions for the strides that a `TensorGuard` leaves free, as `free_strides` says."""
    guards = []
    for dim, inner in free_strides(tensor, dynamic_dims).items():
        if inner is None:
            expected = conditions.constant(tensor.stride(dim))
        else:
            expected = conditions.apply(
                "mul", conditions.size(source, inner), conditions.stride(source, inner)
            )
        guards.append(ShapeGuard.of(conditions.apply("eq", conditions.stride(source, dim), expected)))
    return guards
