"""Python floats that are computed in the graph: a node that holds a 0-d float64 tensor.

They come from an optimizer's step counters. Arithmetic on them, and their use as a number in tensor operations, stay in the graph; a decision on
one breaks it.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch

from capture.break_reasons import GraphBreak
from capture.number_operations import FLOAT_PLACES, PYTHON_OPERATIONS, float_of, float_operation, method_with_floats
from capture.variables.base import Variable
from capture.variables.constant import ConstantVariable
from capture.variables.sequence import TupleVariable
from capture.variables.tensor import TensorVariable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from capture.reconstruct import PythonCode
    from capture.translator import Translator
    from guards.source import Source

OPERATION_NAMES = {getattr(operator, name): name for name in PYTHON_OPERATIONS}
IN_PLACE_NAMES = {getattr(operator, f"i{name}"): f"i{name}" for name in ("add", "sub", "mul", "truediv")}


class GraphFloatVariable(Variable):
    def __init__(self, node: torch.fx.Node, source: Source | None = None) -> None:
        super().__init__(source)
        self.node = node

    def python_type(self) -> type:
        return float

    def describe(self) -> str:
        return f"float {self.source.text if self.source else self.node.name}"

    def truth(self, tx: Translator) -> bool:
        raise GraphBreak("data_dependent_value", what=f"bool({self.describe()})")

    def as_tensor(self) -> TensorVariable:
        return TensorVariable(self.node, self.node.meta["example_value"])

    def reconstruct(self, code: PythonCode) -> None:
        code.call_object(torch.Tensor.item, [self.as_tensor()])


def float_from(tx: Translator, tensor: TensorVariable) -> Variable:
    """`tensor.item()`, kept in the graph. Breaks for anything but a float on the CPU."""
    fake = tensor.fake
    if fake.dtype not in (torch.float32, torch.float64) or fake.numel() != 1 or fake.device.type != "cpu":
        raise GraphBreak("data_dependent_value", what="Tensor.item()")
    return as_float(tx.output.call_function(tx, float_of, [tensor], {}))


def as_float(result: Variable) -> Variable:
    assert isinstance(result, TensorVariable)
    return GraphFloatVariable(result.node)


def is_among(values: Iterable[Variable]) -> bool:
    return any(isinstance(value, GraphFloatVariable) for value in values)


def operate(tx: Translator, function: Any, operands: list[Variable]) -> Variable:
    """An operator on floats, at least one of them a GraphFloatVariable."""
    name = OPERATION_NAMES.get(function)
    if name is None or not all(map(_is_number, operands)):
        raise GraphBreak("operator", name=getattr(function, "__name__", str(function)), value=operands[-1])
    return as_float(tx.output.call_function(tx, float_operation, [ConstantVariable(name), *map(_argument, operands)], {}))


def _is_number(value: Variable) -> bool:
    return isinstance(value, GraphFloatVariable) or (value.is_constant() and type(value.as_constant()) in (int, float))


def _argument(value: Variable) -> Variable:
    return value.as_tensor() if isinstance(value, GraphFloatVariable) else value


def tensor_operation(
    tx: Translator, target: Any, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """An operation on tensors (a method's name, or a function) with GraphFloatVariables among its arguments."""
    name, args = _as_method(target, args)
    given: dict[Any, Variable] = {**dict(enumerate(args)), **kwargs}
    places = tuple(place for place, value in given.items() if isinstance(value, GraphFloatVariable))
    if not set(places) <= set(FLOAT_PLACES.get(name, ())) or not all(map(_keeps_type, given.values())):
        raise GraphBreak("not_a_graph_argument", value=given[places[0]])
    held = TupleVariable([ConstantVariable(place) for place in places])
    keywords = {k: _argument(v) for k, v in kwargs.items()}
    return tx.output.call_function(tx, method_with_floats, [ConstantVariable(name), held, *map(_argument, args)], keywords)


def _as_method(target: Any, args: list[Variable]) -> tuple[str, list[Variable]]:
    """A function of torch, or an operator, as the tensor method that does the same."""
    if isinstance(target, str):
        return target, args
    name = getattr(target, "__name__", "")
    operator_name = OPERATION_NAMES.get(target) or IN_PLACE_NAMES.get(target)
    if operator_name is not None and len(args) == 2:
        if isinstance(args[0], TensorVariable):
            return f"__{operator_name}__", args
        return f"__r{operator_name}__", args[::-1]
    return (name if getattr(torch, name, None) is target else ""), args


def _keeps_type(value: Variable) -> bool:
    """Whether a 0-d tensor beside it, in place of a number, leaves the type of the result as it is."""
    if not isinstance(value, TensorVariable):
        return True
    fake = value.fake
    return fake.dtype in (torch.float32, torch.float64) or (fake.is_floating_point() and fake.ndim > 0)
