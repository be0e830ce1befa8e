"""Operators with a NumPy array, number or dtype among their operands.

In:  the symbol and function of the operator, and its operands.
Out: an operation of the graph, or a constant.

    array * 2    ->    numpy_mul
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import NotConstant, Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.numbers import graph_float
from capture.variables.numbers.graph_float import GraphFloatVariable
from capture.variables.tensors.numpy_array import NumpyVariable
from capture.variables.tensors.numpy_operations import operation, with_floats
from capture.variables.tensors.tensor import TensorVariable

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.variables.core.protocols import Interpreter


def operator_on_arrays(
    tx: Interpreter, symbol: str, function: Callable[..., Any], operands: list[Variable]
) -> Variable:
    """A unary, binary, in-place or comparison operator with an array among its operands."""
    if any(type(v) is TensorVariable for v in operands):
        return _operator_on_tensor(tx, symbol, function, operands)
    operands = with_floats(tx, function.__name__, operands)
    if not all(isinstance(v, NumpyVariable) or v.is_constant() for v in operands):
        raise GraphBreak("operator", name=symbol, value=operands[-1])
    signed_zeros = "mod" in function.__name__ and not all(map(_is_integer, operands))
    if signed_zeros or ("pow" in function.__name__ and _may_refuse(operands)):
        raise GraphBreak("operator", name=symbol, value=operands[-1])
    return operation(tx, "operator", function.__name__, operands, {})


def _operator_on_tensor(
    tx: Interpreter, symbol: str, function: Callable[..., Any], operands: list[Variable]
) -> Variable:
    """An operator on a tensor and a NumPy number.

    torch takes the number for a plain Python number, so the type decides less than the type of a 0-d tensor,
    and a float is rounded less.
    """
    tensor, number = sorted(operands, key=lambda v: isinstance(v, NumpyVariable))
    assert isinstance(tensor, TensorVariable)
    assert isinstance(number, NumpyVariable)
    is_number = not isinstance(number.example, np.ndarray) and number.example.dtype.kind in ("i", "f")
    if not is_number or "pow" in function.__name__:
        raise GraphBreak("operator", name=symbol, value=number)
    if number.example.dtype == np.float64:
        as_float = GraphFloatVariable(number.tensor.node, kind=np.float64)
        given = [tensor, as_float] if operands[0] is tensor else [as_float, tensor]
        result = graph_float.known_tensor_operation(tx, function, given, {})
        if result is not None:
            return result
    dtype = torch.result_type(tensor.fake, number.example.item())
    operand: Variable = number.tensor
    if torch.result_type(tensor.fake, number.tensor.fake) != dtype:
        operand = tx.output.call_method(tx, "to", [operand, ConstantVariable(dtype)], {})
    given = [tensor, operand] if operands[0] is tensor else [operand, tensor]
    return tx.output.call_function(tx, function, given, {})


def compare_dtypes(function: Callable[..., Any], left: Variable, right: Variable) -> Variable:
    """`a.dtype == np.float32`: a dtype equals any value that stands for it."""
    try:
        return ConstantVariable(function(left.real_value(), right.real_value()))
    except NotConstant as error:
        raise GraphBreak("compare", name=function.__name__, value=error.args[0]) from None


def _may_refuse(operands: list[Variable]) -> bool:
    """Whether NumPy may raise: it does for a negative power of an integer."""
    exponent = operands[-1]
    value = exponent.as_constant() if exponent.is_constant() else None
    known = isinstance(value, (int, float)) and value >= 0
    return not known and all(map(_is_integer, operands))


def _is_integer(value: Variable) -> bool:
    kind = value.example.dtype.kind if isinstance(value, NumpyVariable) else type(value.as_constant())
    return kind in ("i", "u", "b", int, bool)
