"""Ints that are computed in front of the graph.

In:  a symbolic int that an operation of the graph takes.
Out: `is_computed_in_front`: whether the guard program computes it, and the graph has an input for it. Kernels
     compute other ints from sizes themselves. There are rules for the arithmetic of sizes, none of which is
     negative; a graph with another int would have to be compiled for each of its values.

    x * int(step * 0.3), x[max(0, n - 8):], x + 2**level   ->   inputs of the graph
    x[: n // 2 + 1]                                        ->   computed from n where it is needed
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from capture.variables.core.constant import ConstantVariable
from capture.variables.numbers.conditions import expression_of
from capture.variables.numbers.symbolic import SymbolicVariable

if TYPE_CHECKING:
    from capture.variables.core.base import Variable


def is_computed_in_front(variable: SymbolicVariable) -> bool:
    if not isinstance(variable.value, torch.SymInt) or variable.is_unbacked or _is_for_kernels(variable):
        return False
    try:
        return not expression_of(variable).is_float
    except ValueError:
        return False


def _is_for_kernels(variable: Variable) -> bool:
    if not isinstance(variable, SymbolicVariable) or variable.function is None:
        return True
    rule = RULES.get(variable.function)
    return rule is not None and rule(*variable.operands) and all(map(_is_for_kernels, variable.operands))


def _is_never_negative(variable: Variable) -> bool:
    """Whether that follows from the terms, of which those of the program are not negative now."""
    if isinstance(variable, ConstantVariable):
        return bool(variable.value >= 0)
    assert isinstance(variable, SymbolicVariable)
    if variable.function is None:
        return bool(variable.value.node.hint >= 0)
    if variable.function in (operator.add, operator.mul, operator.floordiv, operator.mod):
        return all(map(_is_never_negative, variable.operands))
    number = variable.value.node
    return bool(number.shape_env.bound_sympy(number.expr).lower >= 0)


def _always(*operands: Variable) -> bool:
    return True


def _divides(dividend: Variable, divisor: Variable) -> bool:
    return _is_never_negative(dividend) and _is_never_negative(divisor)


def _to_constant_power(base: Variable, exponent: Variable) -> bool:
    return isinstance(exponent, ConstantVariable)


#: function -> whether kernels have a rule for it with these operands, which are ints
RULES: dict[Any, Callable[..., bool]] = {
    **dict.fromkeys((operator.add, operator.sub, operator.mul, operator.neg, operator.pos), _always),
    **dict.fromkeys((operator.floordiv, operator.mod), _divides),
    operator.pow: _to_constant_power,
}
