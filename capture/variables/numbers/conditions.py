"""Symbolic numbers as expressions that the guard program computes.

In:  a `SymbolicVariable`: a function of other variables, down to sizes, ints and constants.
Out: its `ShapeExpression`. ValueError if the guard program can't compute it.

    int(math.sqrt(x.shape[0]) * 2)   ->   trunc(sqrt(float(x.size(0))) * 2.0)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from capture.graph.number_operations import bit_length
from capture.variables.core.constant import ConstantVariable
from capture.variables.numbers.symbolic import SymbolicVariable
from guards import conditions
from guards.conditions import ShapeExpression
from guards.sources import FloatSource

if TYPE_CHECKING:
    from capture.variables.core.base import Variable


def expression_of(variable: Variable) -> ShapeExpression:
    """The expression of a number. Raises ValueError if there is none."""
    if isinstance(variable, ConstantVariable):
        return conditions.constant(variable.value)
    assert isinstance(variable, SymbolicVariable)
    if variable.function is None:
        assert variable.source is not None
        is_float = issubclass(variable.python_type(), float)
        return conditions.load(FloatSource(variable.source) if is_float else variable.source)
    rule = RULES.get(variable.function)
    if rule is None:
        raise ValueError(f"no form for {variable.function}")
    return rule(*map(expression_of, variable.operands))


def _apply(name: str) -> Callable[..., ShapeExpression]:
    return lambda *operands: conditions.apply(name, *operands)


def _swapped(name: str) -> Callable[..., ShapeExpression]:
    return lambda left, right: conditions.apply(name, right, left)


def _to_int(name: str) -> Callable[..., ShapeExpression]:
    def form(operand: ShapeExpression, *digits: ShapeExpression) -> ShapeExpression:
        if digits:
            raise ValueError(f"no form for {name} to some digits")
        return conditions.apply(name, operand) if operand.is_float else operand

    return form


def _to_float(operand: ShapeExpression) -> ShapeExpression:
    return operand if operand.is_float else conditions.apply("float", operand)


def _absolute(operand: ShapeExpression) -> ShapeExpression:
    return (
        conditions.apply("fabs", operand)
        if operand.is_float
        else conditions.apply("max", operand, conditions.apply("neg", operand))
    )


def _power(base: ShapeExpression, exponent: ShapeExpression) -> ShapeExpression:
    is_constant = len(exponent.code) == 1 and not exponent.sources
    natural = exponent.code[0][1] if is_constant else None  # type: ignore[misc]
    if base.is_float or exponent.is_float or (type(natural) is int and natural < 0):
        return conditions.apply("fpow", base, exponent)
    if type(natural) is not int:
        return conditions.apply("pow", base, exponent)
    return (
        conditions.apply("mul", *[base] * natural)
        if natural > 1
        else base
        if natural
        else conditions.constant(1)
    )


RULES: dict[Any, Callable[..., ShapeExpression]] = {
    operator.add: _apply("add"),
    operator.sub: _apply("sub"),
    operator.mul: _apply("mul"),
    operator.floordiv: _apply("floordiv"),
    operator.mod: _apply("mod"),
    operator.truediv: _apply("fdiv"),
    operator.neg: _apply("neg"),
    operator.pos: lambda operand: operand,
    operator.invert: lambda operand: conditions.apply("sub", conditions.constant(-1), operand),
    operator.lt: _apply("lt"),
    operator.le: _apply("le"),
    operator.eq: _apply("eq"),
    operator.ne: _apply("ne"),
    operator.gt: _swapped("lt"),
    operator.ge: _swapped("le"),
    operator.and_: _apply("bit_and"),
    operator.or_: _apply("bit_or"),
    operator.xor: _apply("bit_xor"),
    operator.lshift: _apply("lshift"),
    operator.rshift: _apply("rshift"),
    operator.pow: _power,
    abs: _absolute,
    round: _to_int("round"),
    bit_length: _apply("bit_length"),
    torch.sym_max: _apply("max"),
    torch.sym_min: _apply("min"),
    torch.sym_int: _to_int("trunc"),
    torch.sym_float: _to_float,
    torch._sym_sqrt: _apply("sqrt"),  # type: ignore[attr-defined]
    math.trunc: _to_int("trunc"),
    math.floor: _to_int("floor"),
    math.ceil: _to_int("ceil"),
    math.isqrt: _apply("isqrt"),
    math.fabs: lambda operand: conditions.apply("fabs", operand),
    math.pow: lambda base, exponent: conditions.apply("fpow", base, exponent),
    **{getattr(math, name): _apply(name) for name in ("exp", "log", "log2", "log10", "sin", "cos", "tanh")},
}
