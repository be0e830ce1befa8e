"""Rules of the functions of the `operator` module, and of `bool`.

In:  the operands of a call such as `operator.add(a, b)`.
Out: the result of the operator.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from capture.variables.core.base import Variable
from capture.variables.core.constant import NONE, ConstantVariable
from capture.variables.core.rules import CALLS, rule
from capture.variables.numbers import late_values, tensor_reads
from capture.variables.numbers.symbolic import is_unbacked
from capture.variables.operations.equality import same_object
from capture.variables.operations.operators import (
    BINARY,
    UNARY,
    binary_operator,
    del_item,
    get_item,
    in_place_operator,
    set_item,
    unary_operator,
)
from capture.variables.operations.rich_comparison import compare, contains
from capture.variables.tensors.tensor import TensorVariable

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.variables.core.protocols import Interpreter


def _binary(symbol: str) -> Callable[..., Variable]:
    return lambda tx, left, right: binary_operator(tx, symbol, left, right)


def _in_place(symbol: str) -> Callable[..., Variable]:
    return lambda tx, left, right: in_place_operator(tx, symbol, left, right)


def _comparison(symbol: str) -> Callable[..., Variable]:
    return lambda tx, left, right: compare(tx, symbol, left, right)


def _unary(symbol: str) -> Callable[..., Variable]:
    return lambda tx, value: unary_operator(tx, symbol, value)


for _symbol, (_function, _changing, _) in BINARY.items():
    CALLS[_function] = _binary(_symbol)
    CALLS[_changing] = _in_place(_symbol)


for _symbol, (_function, _) in UNARY.items():
    CALLS[_function] = _unary(_symbol)


for _symbol, _function in {
    "<": operator.lt, "<=": operator.le, "==": operator.eq,
    "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}.items():  # fmt: skip
    CALLS[_function] = _comparison(_symbol)


@rule(operator.getitem)
def _operator_getitem(tx: Interpreter, container: Variable, key: Variable) -> Variable:
    return get_item(tx, container, key)


@rule(operator.setitem)
def _operator_setitem(tx: Interpreter, container: Variable, key: Variable, value: Variable) -> Variable:
    set_item(tx, container, key, value)
    return NONE


@rule(operator.delitem)
def _operator_delitem(tx: Interpreter, container: Variable, key: Variable) -> Variable:
    del_item(tx, container, key)
    return NONE


@rule(operator.contains)
def _operator_contains(tx: Interpreter, container: Variable, item: Variable) -> Variable:
    return contains(tx, container, item)


@rule(operator.is_)
def _operator_is(tx: Interpreter, left: Variable, right: Variable) -> Variable:
    return ConstantVariable(same_object(tx, left, right))


@rule(operator.is_not)
def _operator_is_not(tx: Interpreter, left: Variable, right: Variable) -> Variable:
    return ConstantVariable(not same_object(tx, left, right))


@rule(operator.not_)
def opposite(tx: Interpreter, value: Variable) -> Variable:
    """`not value`"""
    read = tensor_reads.read(tx, "__bool__", value, []) if isinstance(value, TensorVariable) else value
    late = None if read is None else late_values.compute(operator.not_, [read])
    return late or ConstantVariable(not value.truth(tx))


@rule(operator.truth, bool)
def _bool(tx: Interpreter, value: Variable = ConstantVariable(False)) -> Variable:
    number = tensor_reads.read(tx, "__bool__", value, []) if isinstance(value, TensorVariable) else None
    if number is None and is_unbacked(value):
        number = tensor_reads.is_not_zero(value)
    return number or late_values.compute(bool, [value]) or ConstantVariable(value.truth(tx))
