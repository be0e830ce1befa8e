"""Ranges as indices of tensors: `x[range(n), columns]`.

In:  the key of `tensor[key]`.
Out: the key, with a tensor in the place of a range up to a symbol. As a constant the range would fix the
     number, and each other one would be captured again.

    x[range(s0), columns]    ->    x[torch.arange(s0), columns]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from capture.variables.containers.ranges import RangeVariable
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import Variable, realize
from capture.variables.core.constant import ConstantVariable
from capture.variables.numbers.symbolic import is_symbolic, is_unbacked

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter
    from capture.variables.tensors.tensor import TensorVariable


def ranges_as_tensors(tx: Interpreter, tensor: TensorVariable, key: Variable) -> Variable:
    if type(key) is not TupleVariable:
        return _as_tensor(tx, tensor, key)
    items = [_as_tensor(tx, tensor, item) for item in key.items]
    return key if items == key.items else TupleVariable(items)


def _as_tensor(tx: Interpreter, tensor: TensorVariable, key: Variable) -> Variable:
    key = realize(key)
    if not isinstance(key, RangeVariable) or key.parts is None:
        return key
    start, stop, step = key.parts
    counts = _is(start, 0) and _is(step, 1) and is_symbolic(stop) and not is_unbacked(stop)
    if not counts or not tx.compare("<=", ConstantVariable(0), stop).truth(tx):
        return key
    device = tensor.get_attr(tx, "device")
    return tx.output.call_function(
        tx, torch.arange, [stop], {"dtype": ConstantVariable(torch.int64), "device": device}
    )


def _is(part: Variable, number: int) -> bool:
    return type(part) is ConstantVariable and part.value == number
