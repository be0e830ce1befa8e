"""Python floats that are computed in the graph: a node that holds a 0-d float64 tensor.

They come from an optimizer's step counters, and from floats that changed between calls (a learning rate). Arithmetic on them, and their use as a number in tensor operations, stay in the graph; a decision on
one breaks it.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch

from capture.break_reasons import GraphBreak
from capture.number_operations import (
    FLOAT_PLACES,
    PYTHON_OPERATIONS,
    float_of,
    float_operation,
    method_with_floats,
)
from capture.variables.base import NotConstant, Variable
from capture.variables.constant import ConstantVariable
from capture.variables.sequence import TupleVariable
from capture.variables.tensor import TensorVariable
from guards import guard as make_guard

if TYPE_CHECKING:
    from collections.abc import Iterable

    from capture.output_graph import OutputGraph
    from capture.reconstruct import PythonCode
    from capture.translator import Translator
    from guards.source import Source

OPERATION_NAMES = {getattr(operator, name): name for name in PYTHON_OPERATIONS}
IN_PLACE_NAMES = {getattr(operator, f"i{name}"): f"i{name}" for name in ("add", "sub", "mul", "truediv")}


class GraphFloatVariable(Variable):
    """`tame`: a value as optimizers compute them from step counts, by which dividing and raising to a power does not make Python raise."""

    def __init__(self, node: torch.fx.Node, tame: bool, source: Source | None = None) -> None:
        super().__init__(source)
        self.node = node
        self.tame = tame

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


class InputFloatVariable(GraphFloatVariable):
    """A float that the frame is given, and that changes from call to call. Where the graph can't do with a tensor in its place, it becomes a
    constant after all, with a guard."""

    def __init__(self, output: OutputGraph, node: torch.fx.Node, value: float, source: Source) -> None:
        super().__init__(node, False, source)
        self.output = output
        self.value = value

    def as_constant(self) -> float:
        assert self.source is not None
        self.output.guards.add(make_guard.constant_match(self.source, self.value))
        return self.value

    def real_value(self) -> Any:
        raise NotConstant(self)  # its type is known, that is all

    def as_proxy(self) -> Any:
        return self.as_constant()

    def truth(self, tx: Translator) -> bool:
        return bool(self.as_constant())

    def get_attr(self, tx: Translator, name: str) -> Variable:
        return ConstantVariable(self.as_constant()).get_attr(tx, name)

    def call_method(
        self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        return ConstantVariable(self.as_constant()).call_method(tx, name, args, kwargs)


def as_constants(values: Iterable[Variable]) -> list[Variable]:
    """With floats that the frame is given as constants."""
    return [ConstantVariable(v.as_constant()) if isinstance(v, InputFloatVariable) else v for v in values]


def float_from(tx: Translator, tensor: TensorVariable) -> Variable:
    """`tensor.item()` of an optimizer's counter, kept in the graph. Breaks for anything but a float on the CPU."""
    fake = tensor.fake
    if fake.dtype not in (torch.float32, torch.float64) or fake.numel() != 1 or fake.device.type != "cpu":
        raise GraphBreak("data_dependent_value", what="Tensor.item()")
    return _as_float(tx.output.call_function(tx, float_of, [tensor], {}), tame=True)


def _as_float(result: Variable, tame: bool) -> Variable:
    assert isinstance(result, TensorVariable)
    return GraphFloatVariable(result.node, tame)


def is_among(values: Iterable[Variable]) -> bool:
    return any(isinstance(value, GraphFloatVariable) for value in values)


def operate(tx: Translator, symbol: str, function: Any, operands: list[Variable]) -> Variable:
    """An operator on floats, at least one of them a GraphFloatVariable."""
    from capture.variables.operators import binary_operator, unary_operator

    name = OPERATION_NAMES.get(function)
    if name is None or not _stays_in_graph(name, operands):
        plain = as_constants(operands)
        if any(old is not new for old, new in zip(operands, plain)):
            return (
                binary_operator(tx, symbol, *plain) if len(plain) == 2 else unary_operator(tx, symbol, *plain)
            )
        raise GraphBreak("operator", name=symbol, value=operands[-1])
    tame = all(not isinstance(v, GraphFloatVariable) or v.tame for v in operands)
    arguments = [ConstantVariable(name), *map(_argument, operands)]
    return _as_float(tx.output.call_function(tx, float_operation, arguments, {}), tame)


def _stays_in_graph(name: str, operands: list[Variable]) -> bool:
    """Numbers, and no ZeroDivisionError or the like, which a graph does not raise."""
    risky = [operands[1]] if name == "truediv" else operands if name == "pow" else []
    return all(map(_is_number, operands)) and all(v.tame for v in risky if isinstance(v, GraphFloatVariable))


def _is_number(value: Variable) -> bool:
    return isinstance(value, GraphFloatVariable) or (
        value.is_constant() and type(value.as_constant()) in (int, float)
    )


def _argument(value: Variable) -> Variable:
    return value.as_tensor() if isinstance(value, GraphFloatVariable) else value


def tensor_operation(
    tx: Translator, target: Any, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """An operation on tensors (a method's name, or a function) with GraphFloatVariables among its arguments."""
    args_given = args
    name, args = _as_method(target, args)
    given: dict[Any, Variable] = {**dict(enumerate(args)), **kwargs}
    places = tuple(place for place, value in given.items() if isinstance(value, GraphFloatVariable))
    if not set(places) <= set(FLOAT_PLACES.get(name, ())) or not all(map(_keeps_type, given.values())):
        if any(isinstance(given[place], InputFloatVariable) for place in places):
            return _with_constants(tx, target, args_given, kwargs)
        raise GraphBreak("not_a_graph_argument", value=given[places[0]])
    held = TupleVariable([ConstantVariable(place) for place in places])
    keywords = {k: _argument(v) for k, v in kwargs.items()}
    return tx.output.call_function(
        tx, method_with_floats, [ConstantVariable(name), held, *map(_argument, args)], keywords
    )


def _with_constants(
    tx: Translator, target: Any, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    call = tx.output.call_method if isinstance(target, str) else tx.output.call_function
    return call(tx, target, as_constants(args), dict(zip(kwargs, as_constants(kwargs.values()))))


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
