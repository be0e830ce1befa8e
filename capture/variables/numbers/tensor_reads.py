"""Numbers that the program reads from tensors, kept in the graph.

In:  `x.item()`, `x.tolist()`, `int(x)`, `float(x)`, `bool(x)`, `operator.index(x)`, if the settings allow it.
Out: an unbacked `SymbolicVariable`, or a list of such. Where the settings do not allow it, a `LateVariable`.
     A constant is its number. None if Python has to read the number.

    n = x.item(); y * n   ->   item = x.item(); y * item
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.lists import ListVariable
from capture.variables.containers.ranges import SliceVariable
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import Variable, realize
from capture.variables.core.constant import ConstantVariable
from capture.variables.numbers import constant_tensors, late_values
from capture.variables.numbers.arithmetic import compute
from capture.variables.tensors.numpy_whole import as_index, is_bool
from capture.variables.tensors.tensor import TENSOR_METHODS, TensorVariable
from codegen.fake.kernel_warnings import conversion_of_gradients

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from capture.variables.core.protocols import Interpreter
    from capture.variables.tensors.tensor import TensorVariable


def read(tx: Interpreter, name: str, tensor: TensorVariable, args: list[Variable]) -> Variable | None:
    """Captures a method of a tensor that reads its values. None if Python has to read them."""
    rule = RULES.get(name)
    plain = tensor.cls is torch.Tensor and not tx.output.modes.function_modes
    if rule is None or args or not plain:
        return None
    if name in FLOATS and tensor.fake.requires_grad:
        tx.output.heard.from_kernels([conversion_of_gradients()])
    known = constant_tensors.number_of(tensor.fake, name)
    if known is not None:
        return known
    if not tx.output.unbacked.allowed.scalars:
        return late_values.read_number(tx, name, tensor) if name in late_values.CONVERSIONS else None
    if tensor.fake.device.type != "cpu" or tensor.fake.dtype not in DTYPES:
        return None
    return rule(tx, tensor)


FLOATS = ("__float__", "__complex__")

#: Dtypes whose elements are Python numbers. An unsigned integer of 64 bits can't be a symbol.
DTYPES = frozenset(
    (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    + (torch.float16, torch.bfloat16, torch.float32, torch.float64)
)


def _item(tx: Interpreter, tensor: TensorVariable) -> Variable | None:
    sizes = tensor.fake.shape
    if any(type(size) is not int or size != 1 for size in sizes):
        return None  # Python raises, or values decide whether it does
    return tx.output.call_method(tx, "item", [tensor], {})


def _to_list(tx: Interpreter, tensor: TensorVariable) -> Variable | None:
    """`x.tolist()`. It fixes sizes that are symbols, because a list has a fixed length."""
    return None if tx.output.unbacked.is_among(tensor.fake.shape) else _nested(tx, tensor)


def _nested(tx: Interpreter, tensor: Variable) -> Variable:
    fake = tensor.fake  # type: ignore[attr-defined]
    if not fake.ndim:
        return tx.output.call_method(tx, "item", [tensor], {})
    rows = [
        tx.output.call_function(tx, operator.getitem, [tensor, ConstantVariable(row)], {})
        for row in range(int(fake.shape[0]))
    ]
    return ListVariable([_nested(tx, row) for row in rows])


def _converted(kind: type) -> Callable[[Interpreter, TensorVariable], Variable | None]:
    """The rule for `int(x)` or `float(x)`. A bool is no symbol from which a number can be made."""

    def rule(tx: Interpreter, tensor: TensorVariable) -> Variable | None:
        if tensor.fake.dtype == torch.bool:
            return None
        number = _item(tx, tensor)
        if number is None or number.python_type() is kind:
            return number
        return compute(kind, [number])

    return rule


def _index(tx: Interpreter, tensor: TensorVariable) -> Variable | None:
    return _item(tx, tensor) if tensor.fake.dtype in INTEGERS else None


def _truth(tx: Interpreter, tensor: TensorVariable) -> Variable | None:
    number = _item(tx, tensor)
    return None if number is None else is_not_zero(number)


def indices(tx: Interpreter, tensor: TensorVariable, key: Variable) -> Variable:
    """The key of `tensor[key]`, with the numbers that torch reads from 0-d integer tensors in it, and from
    numbers of NumPy.
    """
    if tensor.cls is not torch.Tensor:
        return key
    key = realize(key)
    if any(map(is_bool, map(realize, _parts_of(key)))):
        raise GraphBreak("not_a_graph_argument", value=key)  # torch refuses it in most places
    if type(key) is TupleVariable:
        items = [indices(tx, tensor, item) for item in key.items]
        return key if items == key.items else TupleVariable(items)
    if isinstance(key, SliceVariable):
        bounds = [indices(tx, tensor, bound) for bound in key.parts]
        return key if bounds == key.parts else SliceVariable(bounds)
    return _as_index(tx, key)


def _parts_of(key: Variable) -> Sequence[Variable]:
    if isinstance(key, SliceVariable):
        return key.parts
    return key.items if type(key) is TupleVariable else ()


def _as_index(tx: Interpreter, value: Variable) -> Variable:
    if not isinstance(value, TensorVariable):
        return as_index(value)
    if not tx.output.unbacked.allowed.scalars or value.fake.ndim or value.fake.dtype not in INDEX_DTYPES:
        return value
    number = read(tx, "item", value, [])
    return value if number is None else number


#: A 0-d tensor of these dtypes stands for its number. Booleans and bytes are masks.
INDEX_DTYPES = (torch.int8, torch.int16, torch.int32, torch.int64)
INTEGERS = (*INDEX_DTYPES, torch.uint8)


def is_not_zero(number: Variable) -> Variable | None:
    """`bool(number)`"""
    if number.python_type() is bool:
        return number
    return compute(operator.ne, [number, ConstantVariable(number.python_type()(0))])


RULES: dict[str, Callable[[Interpreter, TensorVariable], Variable | None]] = {
    "item": _item,
    "tolist": _to_list,
    "__int__": _converted(int),
    "__float__": _converted(float),
    "__index__": _index,
    "__bool__": _truth,
}


def _narrow(
    self: TensorVariable, tx: Interpreter, dim: Variable, start: Variable, length: Variable
) -> Variable:
    return tx.output.call_method(tx, "narrow", [self, dim, indices(tx, self, start), length], {})


TENSOR_METHODS["narrow"] = _narrow
