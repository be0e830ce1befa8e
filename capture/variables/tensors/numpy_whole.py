"""Whole numbers of NumPy as ints that are symbols.

In:  a number from outside that changes from call to call, and sums and products of such and ints.
Out: `as_int`: the symbol, for what asks for the value: `x[i]`, `x[i : i + 3]`, `int(i)`, `torch.ones(i)`.

    i is np.int64(7), np.int64(9), ...     x[i + 1]   ->   x.select(0, s0 + 1), s0 is int(i)

As a constant the value would fix the number, and each other one would be captured again. Other operations
have the number as a tensor without dims (`numpy_array`).
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.numbers.arithmetic import compute
from capture.variables.numbers.symbolic import SymbolicVariable, is_symbolic
from guards.sources import NumpyIntSource
from guards.values import numpy_int_kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.variables.core.protocols import Interpreter
    from capture.variables.tensors.numpy_array import NumpyVariable

#: What gives the same number for ints, where it does not overflow. (Quotients by zero differ.)
OF_INTS: dict[str, Callable[..., Any]] = {
    name: getattr(operator, name) for name in ("add", "sub", "mul", "neg", "pos")
}
FEW = 2**62  # no int of 64 bits overflows below


def as_int(number: NumpyVariable) -> Variable | None:
    """None for a number that is not known to change, and for one that is computed in other ways."""
    kind = numpy_int_kind(number.present)
    if number.output is None or number.present is None or kind is None:
        return None
    if number.source is not None:
        source = NumpyIntSource(number.source, kind)
        return number.output.symbols.number_variable(int(number.present), source)
    if number.computed is None:
        return None
    tx, name, operands = number.computed
    known = [_operand(operand) for operand in operands]
    if not any(map(is_symbolic, known)):
        return None
    result = compute(OF_INTS[name], known)
    return result if result is not None and _is_small(tx, result) else None


def as_index(value: Variable) -> Variable:
    """The int that a whole number of NumPy is as an index: a constant, as long as it has not changed."""
    if not value.of_numpy or numpy_int_kind(getattr(value, "present", None)) is None:
        return value
    return value.as_int() or ConstantVariable(int(value.as_constant()))


def is_bool(value: Variable) -> bool:
    """Whether it is a bool of NumPy, which is a mask without dims as an index."""
    example = getattr(value, "example", None) if value.of_numpy else None
    return example is not None and example.dtype == np.bool_ and not example.shape


def computed(
    tx: Interpreter, kind: str, name: str, operands: list[Variable]
) -> tuple[Interpreter, str, list[Variable]] | None:
    """What `as_int` needs to compute the result of an operation on numbers; None where it can't."""
    is_known = kind == "operator" and name in OF_INTS and all(map(_is_int, operands))
    return (tx, name, operands) if is_known else None


def _is_int(operand: Variable) -> bool:
    if operand.of_numpy:
        present = getattr(operand, "present", None)
        return type(present) is np.int64
    if isinstance(operand, ConstantVariable):
        return type(operand.value) in (int, np.int64)
    return isinstance(operand, SymbolicVariable) and operand.python_type() is int


def _operand(operand: Variable) -> Variable:
    if not operand.of_numpy:
        return ConstantVariable(int(operand.value)) if isinstance(operand, ConstantVariable) else operand
    symbol = operand.as_int()
    return ConstantVariable(int(operand.as_constant())) if symbol is None else symbol


def _is_small(tx: Interpreter, result: Variable) -> bool:
    """Adds the guards that NumPy's number, which has 64 bits, is the same."""
    return all(tx.compare("<=", low, high).truth(tx) for low, high in ((LOWEST, result), (result, HIGHEST)))


LOWEST, HIGHEST = ConstantVariable(-FEW), ConstantVariable(FEW)
