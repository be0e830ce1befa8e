"""Guards of numbers: conditions over sizes, strides, ints and floats.

In:  an expression of `guards.conditions`, or a tensor with free sizes.
Out: `ShapeGuard`, and `free_stride_guards` for the strides that a `TensorGuard` leaves free.

    ShapeGuard.of(conditions.apply("le", size(x, 0), constant(8)))   ->   x.size(0) <= 8
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import torch

from guards import conditions
from guards.conditions import ShapeExpression, ShapeOverflow, is_number_of
from guards.encoder import Encoder
from guards.guard import Guard
from guards.properties.tensor import dims_inside, free_strides
from guards.sources import Source


class ShapeGuard(Guard):
    """An expression over sizes, strides and numbers is true."""

    cost = 110
    payload: ShapeExpression

    @classmethod
    def of(cls, expression: ShapeExpression) -> ShapeGuard:
        return cls(expression.sources, expression)

    def holds(self, values: tuple[Any, ...]) -> bool:
        if not all(map(is_number_of, self.payload.sources, values)):
            return False
        try:
            return self.payload.evaluate(values) != 0
        except ShapeOverflow:
            return False

    def encode(self, encoder: Encoder) -> None:
        encoder.emit("CHECK_SHAPE", operands=encoder.postfix(self.payload))

    @property
    def text(self) -> str:
        return self.payload.text


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
