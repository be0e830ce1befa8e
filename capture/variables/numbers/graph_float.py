"""Python floats that the graph computes: a node that holds a 0-d float64 tensor.

They come from the step counters of optimizers, from draws, and from numbers that the frame reads from tensors
and hands to an operation on tensors.

In:  `tensor.item()` of such a counter, a late number, and operators and tensor operations on the float.
Out: nodes of the graph. A decision on such a float breaks the graph. (`SymbolicVariable` is the class for
     floats that the frame gets as inputs.)

    x * (1.0 / float(count))   ->   float_of(count), checked_division(1.0, float_of), x * checked_division
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from capture.graph.number_operations import (
    OPERATION_NAMES,
    checked_division,
    float_of,
    float_operation,
    method_with_floats,
)
from capture.graph.number_places import as_method, keep_types, places_of
from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.makers import make
from capture.variables.numbers import late_values
from capture.variables.numbers.late_values import LateRead, LateVariable
from capture.variables.numbers.symbolic import is_symbolic
from capture.variables.tensors.tensor import TensorVariable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter


NUMBERS = (int, float, np.float64)


class GraphFloatVariable(Variable):
    """A value that optimizers compute from step counts.

    Python raises no error when a program divides by it or raises it to a power.
    """

    one_per_object = False

    def __init__(self, node: torch.fx.Node, drawn: bool = False, kind: type = float) -> None:
        super().__init__()
        self.node = node
        self.kind = kind  # float, or `np.float64`
        # A draw from a random stream and a number of a tensor may be any number. The graph breaks if Python
        # may raise for one of them, but for a division by zero: there the graph fails.
        self.drawn = drawn

    def python_type(self) -> type:
        return self.kind

    def describe(self) -> str:
        return f"float {self.node.name}"

    def truth(self, tx: Interpreter) -> bool:
        raise GraphBreak("data_dependent_value", what=f"bool({self.describe()})")

    def open_dims(self) -> frozenset[int] | None:
        return frozenset()

    def as_tensor(self) -> TensorVariable:
        return TensorVariable(self.node, self.node.meta["example_value"])

    def reconstruct(self, code: PythonCode) -> None:
        read = torch.Tensor.item if self.kind is float else numpy_float_of
        code.call_object(read, [self.as_tensor()])


def float_from(tx: Interpreter, tensor: TensorVariable) -> Variable:
    """`tensor.item()` of an optimizer's counter, kept in the graph.

    Breaks for any tensor but a float on the CPU.
    """
    fake = tensor.fake
    if fake.dtype not in (torch.float32, torch.float64) or fake.numel() != 1 or fake.device.type != "cpu":
        raise GraphBreak("data_dependent_value", what="Tensor.item()")
    return _as_float(tx.output.call_function(tx, float_of, [tensor], {}))


def numpy_float_of(tensor: torch.Tensor) -> np.float64:
    return np.float64(tensor.item())


def _as_float(result: Variable, drawn: bool = False, kind: type = float) -> Variable:
    assert isinstance(result, TensorVariable)
    return GraphFloatVariable(result.node, drawn, kind)


def is_among(values: Iterable[Variable]) -> bool:
    return any(isinstance(value, GraphFloatVariable) for value in values)


def operate(tx: Interpreter, symbol: str, function: Any, operands: list[Variable]) -> Variable:
    """An operator on floats, at least one of them a GraphFloatVariable."""
    name = OPERATION_NAMES.get(function)
    drawn = any(_is_drawn(v) for v in operands)
    if name is None or not all(map(_is_number, operands)) or (drawn and not _is_total(tx, name, operands)):
        raise GraphBreak("operator", name=symbol, value=operands[-1])
    # Python raises for some numbers; a graph does not.
    risky = {"truediv": operands[1:], "pow": operands}.get(name, ())
    operands = [
        ConstantVariable(v.as_constant())
        if is_symbolic(v) and v in risky and not _is_safe(tx, name, v, operands)
        else v
        for v in operands
    ]
    arguments = list(map(_argument, operands))
    kind = np.float64 if any(v.python_type() is np.float64 for v in operands) else float
    if name == "truediv" and _is_drawn(operands[1]):
        return _as_float(tx.output.call_function(tx, checked_division, arguments, {}), drawn, kind)
    return _as_float(
        tx.output.call_function(tx, float_operation, [ConstantVariable(name), *arguments], {}), drawn, kind
    )


def _is_safe(tx: Interpreter, name: str, value: Variable, operands: list[Variable]) -> bool:
    """Whether a guard on the sign is enough for a number that changes from call to call.

    It is for a divisor and for the base of a power. (OneCycleLR gives Adam another `beta1` at each step, and
    Adam computes `beta1**step`.)
    """
    if not issubclass(value.python_type(), float) or (name == "pow" and value is operands[1]):
        return False
    from capture.variables.numbers.arithmetic import compute  # lazy: import time

    is_positive = compute(operator.gt, [value, ConstantVariable(0.0)])
    return is_positive is not None and is_positive.truth(tx)


def _is_drawn(value: Variable) -> bool:
    return isinstance(value, GraphFloatVariable) and value.drawn


def _is_total(tx: Interpreter, name: str, operands: list[Variable]) -> bool:
    """Whether the operation gives a float, and raises for no value of a drawn operand, or fails the graph."""
    if name == "truediv":
        divisor = operands[1]
        if _is_drawn(divisor):
            return not tx.may_catch()
        return divisor.is_constant() and divisor.as_constant() != 0
    return name != "pow" and any(issubclass(v.python_type(), float) for v in operands)


def _is_number(value: Variable) -> bool:
    if isinstance(value, GraphFloatVariable) or is_symbolic(value):
        return value.python_type() in NUMBERS
    return value.is_constant() and type(value.as_constant()) in NUMBERS


# --- late numbers that an operation needs -----------------------------------------------------------------


def operate_on_late(
    tx: Interpreter, symbol: str, function: Any, operands: Sequence[Variable]
) -> Variable | None:
    """A division by a late float. None if it can't be an operation of the graph."""
    divisible = function is operator.truediv and any(v.python_type() is float for v in operands)
    if not divisible or not late_values.is_among(operands) or tx.may_catch():
        return None
    held = [_of_late(tx, operand) for operand in operands]
    return None if None in held else operate(tx, symbol, function, held)  # type: ignore[arg-type]


def with_late_numbers(
    tx: Interpreter, target: Any, args: list[Variable], kwargs: dict[str, Variable]
) -> tuple[list[Variable], dict[str, Variable]]:
    """The arguments, with late floats as floats of the graph at the places of `FLOAT_PLACES`."""
    if not late_values.is_among([*args, *kwargs.values()]):
        return args, kwargs
    name, given = as_method(target, args, lambda value: isinstance(value, TensorVariable))
    places = places_of(name, kwargs)
    flipped = given != args  # `number * tensor` is `tensor.__rmul__(number)`

    def held(place: int | str, value: Variable) -> Variable:
        place = 1 - place if flipped and isinstance(place, int) else place
        fits = place in places and value.python_type() is float
        return (_of_late(tx, value) if fits and late_values.is_late(value) else None) or value

    return [held(i, v) for i, v in enumerate(args)], {k: held(k, v) for k, v in kwargs.items()}


def _of_late(tx: Interpreter, value: Variable) -> Variable | None:
    """A late number as a float of the graph. Other numbers are as they are. None if there is no way."""
    if isinstance(value, LateRead):
        node = tx.output.call_function(tx, float_of, [value.tensor], {}) if value.is_current() else None
        return None if node is None else _as_float(node, drawn=True)
    if not isinstance(value, LateVariable):
        return value if _is_number(value) else None
    # Of two ints, Python divides with more digits than floats have.
    of_floats = any(operand.python_type() is float for operand in value.operands)
    name = OPERATION_NAMES.get(value.function)
    if value.python_type() is not float or (value.function is not float and not (name and of_floats)):
        return None
    operands = [_of_late(tx, operand) for operand in value.operands]
    if None in operands:
        return None
    return operands[0] if name is None else operate(tx, name, value.function, operands)  # type: ignore[arg-type]


def read_numbers(
    tx: Interpreter, target: Any, args: list[Variable], kwargs: dict[str, Variable]
) -> dict[str, Variable]:
    """Keeps numbers in the graph that torch reads from tensors: `rate` in `x.add_(y, alpha=rate)`."""
    if not any(isinstance(kwargs.get(name), TensorVariable) for name in NUMBERS_ALONE):
        return kwargs
    name, _ = as_method(target, args, lambda value: isinstance(value, TensorVariable))
    places = places_of(name, kwargs)
    return {
        place: float_from(tx, value)
        if place in NUMBERS_ALONE
        and place in places
        and isinstance(value, TensorVariable)
        and not value.fake.requires_grad
        else value
        for place, value in kwargs.items()
    }


#: Keywords that take no tensors.
NUMBERS_ALONE = ("alpha", "value")


def is_in_lists(target: Any, args: list[Variable], kwargs: dict[str, Variable]) -> bool:
    """Whether an operation on lists of tensors has floats among its numbers that change, or that the graph
    computes. An example is `torch._foreach_mul_`.
    """
    if not getattr(target, "__name__", "").startswith(FOREACH):
        return False
    from capture.variables.containers.sequence import SequenceVariable  # lazy: import time

    lists = [a.items for a in args if isinstance(a, SequenceVariable)]
    return any(_changes(value) for values in (args, kwargs.values(), *lists) for value in values)


def _changes(value: Variable) -> bool:
    return is_among([value]) or (is_symbolic(value) and value.python_type() is float)


FOREACH = "_foreach_"


def one_by_one(tx: Interpreter, target: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """Runs such an operation as one operation for each tensor, as the CPU does."""
    from capture.variables.containers.sequence import SequenceVariable  # lazy: import time

    name = target.__name__.removeprefix(FOREACH)
    first = args[0]
    if not isinstance(first, SequenceVariable):
        raise GraphBreak("not_a_graph_argument", value=first)
    results = []
    for index in range(len(first.items)):
        given = [a.items[index] if isinstance(a, SequenceVariable) else a for a in args]
        keywords = dict(kwargs)
        if name.rstrip("_") in ("addcdiv", "addcmul") and len(given) == 4:
            keywords["value"] = given.pop()
        results.append(tx.output.call_method(tx, name, given, keywords))
    return ConstantVariable(None) if name.endswith("_") else make(list, results)


def _argument(value: Variable) -> Variable:
    return value.as_tensor() if isinstance(value, GraphFloatVariable) else value


def tensor_operation(
    tx: Interpreter, target: Any, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """An operation on tensors (the name of a method, or a function) with GraphFloatVariables as arguments."""
    result = known_tensor_operation(tx, target, args, kwargs)
    if result is None:
        floats = (v for v in (*args, *kwargs.values()) if isinstance(v, GraphFloatVariable))
        raise GraphBreak("not_a_graph_argument", value=next(floats))
    return result


def known_tensor_operation(
    tx: Interpreter, target: Any, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable | None:
    """The same; None where the operation takes no GraphFloatVariables at these places."""
    name, args = as_method(target, args, lambda value: isinstance(value, TensorVariable))
    given: dict[Any, Variable] = {**dict(enumerate(args)), **kwargs}
    places = tuple(place for place, value in given.items() if isinstance(value, GraphFloatVariable))
    tensors = [value.fake for value in given.values() if isinstance(value, TensorVariable)]
    dtype = kwargs["dtype"].as_constant() if "dtype" in kwargs else None
    if not set(places) <= set(places_of(name, given)) or not keep_types(name, tensors, dtype):
        return None
    held = make(tuple, [ConstantVariable(place) for place in places])
    keywords = {k: _argument(v) for k, v in kwargs.items()}
    return tx.output.call_function(
        tx, method_with_floats, [ConstantVariable(name), held, *map(_argument, args)], keywords
    )
