"""Operators of a tensor with an object of the program: `x + obj`, `obj == x`.

In:  a tensor, the method of the operator, and the other operand.
Out: the variable of the result. It is NotImplemented where the tensor's method does not know the object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.variables.core.constant import ConstantVariable
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.tensors.tensor import TensorVariable

if TYPE_CHECKING:
    from capture.variables.core.base import Variable
    from capture.variables.core.protocols import Interpreter


def answer_of_tensor(tx: Interpreter, owner: TensorVariable, method: str, other: Variable) -> Variable:
    """torch's methods know an object that is a number, and one that defines `__torch_function__`."""
    if isinstance(other, ObjectVariable) and not other.is_overriding():
        own = owner.dunder(tx, method, [other])
        if own is not None:
            return own
        number = other.base_value
        if number is None or number.python_type() not in (int, float, complex):
            return ConstantVariable(NotImplemented)
        other = number
    return owner.call_method(tx, method, [other], {})
