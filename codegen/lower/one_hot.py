"""Sums of rows with at most one element that is not zero, without a loop over the rows.

In:  a definition whose rows are zero but at one index.
Out: the definition of the sum along a row.

    sum over j of where(j == c, a, 0), with c and a the same for all j of n   ->   where(0 <= c < n, a, 0)

The gradient of a cross entropy has such rows, with the nonzero element at the row's class; the backward of
the softmax needs its sum.
"""

from __future__ import annotations

from functools import reduce

from codegen.lower.scalar_math import both, compare, where
from codegen.lower.tensor_expr import (
    Affine,
    Coordinate,
    Fill,
    Map,
    Position,
    SizeValue,
    TensorExpr,
    View,
    affine_view,
    along,
    expand,
    fill,
)


def one_hot_sum(value: TensorExpr, dim: int) -> TensorExpr | None:
    """The sum over `dim`, if `value` has that form."""
    if not isinstance(value, Map) or value.op != "where":
        return None
    hit, element, other = value.args
    if not isinstance(other, Fill) or other.value != 0:
        return None
    conditions = _conjuncts(hit)
    place = next((c for c in (_place(condition, dim) for condition in conditions) if c is not None), None)
    rest = [without(c, dim) for c in conditions if _place(c, dim) is None]
    element_of_row = without(element, dim)
    if place is None or element_of_row is None or len(rest) != len(conditions) - 1:
        return None
    size = expand(SizeValue(value.shape[dim]), place.shape)
    inside = both(compare("ge", place, 0), compare("lt", place, size))
    known = [condition for condition in rest if condition is not None]
    return where(reduce(both, known, inside), element_of_row, 0) if len(known) == len(rest) else None


def _conjuncts(condition: TensorExpr) -> list[TensorExpr]:
    if isinstance(condition, Map) and condition.op == "and":
        return [part for arg in condition.args for part in _conjuncts(arg)]
    return [condition]


def _place(condition: TensorExpr, dim: int) -> TensorExpr | None:
    """c, if the condition says that the index along `dim` is c."""
    if not isinstance(condition, Map) or condition.op != "eq":
        return None
    left, right = condition.args
    for index, place in ((left, right), (right, left)):
        if _is_index(index, dim):
            return without(place, dim)
    return None


def _is_index(value: TensorExpr, dim: int) -> bool:
    if isinstance(value, View) and isinstance(value.transform, Affine) and isinstance(value.base, Position):
        return value.transform.coordinates[value.base.dim] == along(dim)
    return isinstance(value, Position) and value.dim == dim


def without(value: TensorExpr, dim: int) -> TensorExpr | None:
    """`value` without `dim`, if it is the same all along that dim; None if that can't be seen."""
    shape = value.shape[:dim] + value.shape[dim + 1 :]
    if isinstance(value, Fill):
        return fill(shape, value.dtype, value.value)
    if isinstance(value, Map):
        args = [without(arg, dim) for arg in value.args]
        known = tuple(arg for arg in args if arg is not None)
        return Map(value.op, known, value.dtype) if len(known) == len(args) else None
    if not isinstance(value, View) or not isinstance(value.transform, Affine):
        return None
    coordinates = value.transform.coordinates
    if any(other == dim for coordinate in coordinates for other, _ in coordinate.terms):
        return None
    moved = tuple(
        Coordinate(tuple((other - (other > dim), step) for other, step in coordinate.terms), coordinate.start)
        for coordinate in coordinates
    )
    return affine_view(value.base, shape, moved, value.aliases)
