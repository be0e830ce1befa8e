"""Binary operators on tensors: the most frequent case, which needs no other family of values.

In:  the symbol of an operator, and its operands.
Out: the variable of the result. All other operands go to `operators.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.operations.symbols import BINARY
from capture.variables.tensors.tensor import TensorVariable

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter

NUMBERS = frozenset((int, float, bool, complex))


def binary_operator(tx: Interpreter, symbol: str, left: Variable, right: Variable) -> Variable:
    if (_is_tensor(left) and _is_operand(right)) or (_is_tensor(right) and _is_operand(left)):
        return tx.output.call_function(tx, BINARY[symbol][0], [left, right], {})
    from capture.variables.operations import operators  # lazy: import time

    return operators.binary_operator(tx, symbol, left, right)


def _is_tensor(value: Variable) -> bool:
    """Whether it is a tensor of no subclass, which could have its own operators."""
    return type(value) is TensorVariable and value.cls is torch.Tensor


def _is_operand(value: Variable) -> bool:
    return _is_tensor(value) or (type(value) is ConstantVariable and type(value.value) in NUMBERS)
