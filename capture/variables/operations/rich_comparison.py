"""Rich comparisons and membership: `left < right`, `item in container`.

In:  two variables, and the symbol of a comparison.
Out: the variable of the result.

The order of attempts is the same as for other operators. Comparisons of tensors go to the graph. Sequences,
mappings and sets have their own rules. Constants are computed. Methods of user classes are inlined.
Everything else breaks the graph. `equality.py` decides identity and equality.
"""

from __future__ import annotations

import operator
import re
import types
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

import numpy as np

from capture.report.break_reasons import GraphBreak, at_once
from capture.variables.callables.builtin import BuiltinVariable
from capture.variables.callables.function import BoundMethodVariable
from capture.variables.callables.value_method import ValueMethod
from capture.variables.containers.lists import DequeVariable
from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.sequence import SequenceVariable, live_items
from capture.variables.containers.sets import SetVariable
from capture.variables.containers.views import DictViewVariable, MappingProxyVariable, proxied
from capture.variables.core.base import Variable
from capture.variables.core.class_lookup import lookup_type
from capture.variables.core.constant import ConstantVariable, fold, raise_type_error
from capture.variables.core.identity import IdentityVariable
from capture.variables.core.opaque import OpaqueVariable
from capture.variables.core.shown_names import shown_name
from capture.variables.iterators.iterator import IteratorVariable
from capture.variables.numbers import graph_float, late_values
from capture.variables.numbers.arithmetic import compute, is_number
from capture.variables.numbers.late_values import LateVariable
from capture.variables.numbers.symbolic import SymbolicVariable
from capture.variables.objects.class_dict import ClassDictVariable
from capture.variables.objects.native_base import plain_operand
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.operations.equality import (
    COMPARISONS,
    DUNDERS,
    SWAPPED,
    equal,
    equal_or_same,
    same_identity,
    same_object,
)
from capture.variables.operations.objects_beside_tensors import answer_of_tensor
from capture.variables.tensors.tensor import TensorVariable

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter


def compare(tx: Interpreter, symbol: str, left: Variable, right: Variable) -> Variable:
    """`left symbol right` for the six rich comparisons."""
    methods = DUNDERS[symbol], DUNDERS[SWAPPED[symbol]]
    left, right = (plain_operand(tx.output.objects.resolve(v), *methods) for v in (left, right))
    for applies, rule in RULES:
        if applies(symbol, left, right):
            return rule(tx, symbol, left, right)
    left, right = _as_set(tx, proxied(left)), _as_set(tx, proxied(right))
    for applies, rule in PLAIN_RULES:
        if applies(symbol, left, right):
            return rule(tx, symbol, left, right)
    raise GraphBreak("compare", name=symbol, value=left)


def _compare_arrays(tx: Interpreter, symbol: str, left: Variable, right: Variable) -> Variable:
    from capture.variables.tensors.numpy_operators import operator_on_arrays  # lazy: import time

    return operator_on_arrays(tx, symbol, COMPARISONS[symbol], [left, right])


def _compare_dtypes(tx: Interpreter, symbol: str, left: Variable, right: Variable) -> Variable:
    from capture.variables.tensors.numpy_operators import compare_dtypes  # lazy: import time

    return compare_dtypes(COMPARISONS[symbol], left, right)


def _compare_graph_floats(tx: Interpreter, symbol: str, left: Variable, right: Variable) -> Variable:
    what = f"comparison {symbol} of a float read from a tensor"
    raise at_once(GraphBreak("data_dependent_value", what=what))


def _compare_late(tx: Interpreter, symbol: str, left: Variable, right: Variable) -> Variable:
    result = late_values.compute(COMPARISONS[symbol], [left, right])
    if result is None:
        raise GraphBreak("compare", name=symbol, value=left)
    return result


def _compare_dicts(tx: Interpreter, symbol: str, left: Any, right: Any) -> Variable:
    return ConstantVariable(left.equals(tx, right) == (symbol == "=="))


def _compare_sets(tx: Interpreter, symbol: str, left: Any, right: Any) -> Variable:
    return ConstantVariable(COMPARISONS[symbol](left.keys(), right.keys()))


def _compare_identities(tx: Interpreter, symbol: str, left: Any, right: Any) -> Variable:
    return ConstantVariable(same_identity(left, right) == (symbol == "=="))


def _compare_constants(tx: Interpreter, symbol: str, left: Variable, right: Variable) -> Variable:
    return fold(COMPARISONS[symbol], [left, right], {})


def _compare_others(tx: Interpreter, symbol: str, left: Variable, right: Variable) -> Variable:
    return ConstantVariable(_equal_otherwise(tx, left, right) == (symbol == "=="))


def _compare_symbolic(tx: Interpreter, symbol: str, left: Variable, right: Variable) -> Variable:
    computed = compute(COMPARISONS[symbol], [left, right])
    if computed is not None:
        return computed
    if symbol in ("==", "!=") and not (is_number(left) and is_number(right)):
        for value in (left, right):
            if not is_number(value) and not issubclass(value.python_type(), NEVER_NUMBERS):
                raise GraphBreak("compare", name=symbol, value=value)
        return ConstantVariable(symbol == "!=")
    return fold(COMPARISONS[symbol], [left, right], {})


NEVER_NUMBERS = (str, bytes, type(None), list, tuple, dict, set)


def _as_set(tx: Interpreter, value: Variable) -> Variable:
    """The set for a view of keys or of items, because such views compare as sets."""
    return value.as_set(tx) if isinstance(value, DictViewVariable) and value.kind != "values" else value


def _equal_otherwise(tx: Interpreter, left: Variable, right: Variable) -> bool:
    """`left == right` for values without another rule.

    Bound methods are equal if their owners are identical and their functions are equal. Values of different
    built-in types are never equal. Everything else compares by identity.
    """
    if isinstance(left, BoundMethodVariable) and isinstance(right, BoundMethodVariable):
        return same_object(tx, left.owner, right.owner) and equal(tx, left.function, right.function)
    if isinstance(left, BuiltinVariable) and isinstance(right, BuiltinVariable):
        return bool(left.function == right.function)  # equal: one C function, bound to one object
    if isinstance(left, ValueMethod) and isinstance(right, ValueMethod):
        return left.name == right.name and same_object(tx, left.owner, right.owner)
    kinds = left.python_type(), right.python_type()
    if kinds == (re.Pattern, re.Pattern):
        return bool(left.real_value() == right.real_value())  # of their texts and flags
    by_identity = any(lookup_type(kind, "__eq__") is object.__eq__ for kind in kinds)
    for value in (left, right):
        if (
            isinstance(value, OpaqueVariable)
            and lookup_type(value.python_type(), "__eq__") is not object.__eq__
        ):
            raise value.breaks()
    written = any(isinstance(lookup_type(kind, "__eq__"), types.FunctionType) for kind in kinds)
    of_numpy = any(issubclass(kind, np.generic) for kind in kinds)  # numpy compares with the items of a list
    if of_numpy or written or not (by_identity or kinds[0] is not kinds[1] or kinds[0] is type):
        raise GraphBreak("compare", name="==", value=left)
    return same_object(tx, left, right)


def _compare_tensors(tx: Interpreter, symbol: str, left: Variable, right: Variable) -> Variable:
    for owner, method, operand in ((left, DUNDERS[symbol], right), (right, DUNDERS[SWAPPED[symbol]], left)):
        own = owner.dunder(tx, method, [operand]) if isinstance(owner, TensorVariable) else None
        if own is not None and not own.is_exactly(NotImplemented):
            return own
    other = right if isinstance(left, TensorVariable) else left
    if other.is_exactly(None) and symbol in ("==", "!="):
        return ConstantVariable(symbol == "!=")
    return tx.output.call_function(tx, COMPARISONS[symbol], [left, right], {})


def _compare_sequences(
    tx: Interpreter, symbol: str, left: SequenceVariable, right: SequenceVariable
) -> Variable:
    bases = (tuple, list, DequeVariable.builtin)
    matching = any(issubclass(left.python_type(), b) and issubclass(right.python_type(), b) for b in bases)
    if not matching:
        if symbol in ("==", "!="):
            return ConstantVariable(symbol == "!=")
        return fold(COMPARISONS[symbol], [left, right], {})
    if symbol in ("==", "!=") and len(left.items) != len(right.items):
        return ConstantVariable(symbol == "!=")
    for index, (a, b) in enumerate(zip(live_items(left, tx), live_items(right, tx))):
        if not equal_or_same(tx, a, b):
            if index >= min(len(left.items), len(right.items)):
                break  # `__eq__` removed items
            return ConstantVariable(symbol == "!=") if symbol in ("==", "!=") else compare(tx, symbol, a, b)
    return ConstantVariable(COMPARISONS[symbol](len(left.items), len(right.items)))


def _user_compare(tx: Interpreter, symbol: str, left: Variable, right: Variable) -> Variable:
    attempts = [(left, symbol, right), (right, SWAPPED[symbol], left)]
    if left.python_type() is not right.python_type() and left.python_type() in right.python_type().__mro__:
        attempts.reverse()
    for owner, sign, other in attempts:
        if isinstance(owner, TensorVariable):
            result = answer_of_tensor(tx, owner, DUNDERS[sign], other)
        elif isinstance(owner, ObjectVariable) and owner.has_class_attribute(DUNDERS[sign]):
            result = owner.call_method(tx, DUNDERS[sign], [other], {})
        else:
            continue
        if not result.is_exactly(NotImplemented):
            return result
    if symbol in ("==", "!="):
        return ConstantVariable(same_object(tx, left, right) == (symbol == "=="))
    return raise_type_error(
        f"'{symbol}' not supported between instances of '{shown_name(left.python_type())}' "
        f"and '{shown_name(right.python_type())}'"
    )


def _is_dtype(value: Variable) -> bool:
    return isinstance(value, ConstantVariable) and isinstance(value.value, np.dtype)


Applies = Callable[[str, Variable, Variable], bool]
Rule = Callable[[Any, str, Any, Any], Variable]
EQUALITY = ("==", "!=")


def _either(kind: type[Variable]) -> Applies:
    return lambda symbol, left, right: isinstance(left, kind) or isinstance(right, kind)


def _both(kind: type[Variable], symbols: Container[str] = COMPARISONS) -> Applies:
    return lambda symbol, left, right: (
        symbol in symbols and isinstance(left, kind) and isinstance(right, kind)
    )


#: The first rule that applies answers.
RULES: list[tuple[Applies, Rule]] = [
    (lambda _, left, right: left.of_numpy or right.of_numpy, _compare_arrays),
    (lambda _, left, right: _is_dtype(left) or _is_dtype(right), _compare_dtypes),
    (_either(ObjectVariable), _user_compare),
    (_either(TensorVariable), _compare_tensors),
    (lambda _, left, right: graph_float.is_among((left, right)), _compare_graph_floats),
    (_either(LateVariable), _compare_late),
]
#: Then those for values in place of their proxies and views.
PLAIN_RULES: list[tuple[Applies, Rule]] = [
    (_both(SequenceVariable), _compare_sequences),
    (_both(DictVariable, EQUALITY), _compare_dicts),
    (_both(SetVariable), _compare_sets),
    (_either(SymbolicVariable), _compare_symbolic),
    (_both(IdentityVariable, EQUALITY), _compare_identities),
    (lambda _, left, right: left.is_constant() and right.is_constant(), _compare_constants),
    (lambda symbol, left, right: symbol in EQUALITY, _compare_others),
]


def contains(tx: Interpreter, container: Variable, item: Variable) -> Variable:
    """`item in container`."""
    container = plain_operand(container, "__contains__", "__iter__")
    if isinstance(container, ConstantVariable):
        return fold(operator.contains, [container, item], {})
    if isinstance(container, TensorVariable) or container.of_numpy:
        return container.call_method(tx, "__contains__", [item], {})
    if isinstance(container, ObjectVariable):
        if not container.has_class_attribute("__contains__"):
            if not any(map(container.has_class_attribute, ("__iter__", "__getitem__"))):
                raise_type_error(f"argument of type '{shown_name(container.cls)}' is not iterable")
            return is_among(tx, container.iterate(tx), item)
        container.refuse_none("__contains__")
    if isinstance(container, IteratorVariable):
        return is_among(tx, container, item)
    if isinstance(container, CONTAINERS):
        result = container.call_method(tx, "__contains__", [item], {})
        return ConstantVariable(result.truth(tx))
    if container.as_class() is not None:
        of_class: Any = container
        own = of_class.dunder(tx, "__contains__", [item])
        if own is not None:
            return ConstantVariable(own.truth(tx))
    if container.is_constant() and item.is_constant():
        return fold(operator.contains, [container, item], {})
    return ConstantVariable(any(equal_or_same(tx, i, item) for i in container.unpack(tx)))


def is_among(tx: Interpreter, iterator: Variable, item: Variable) -> Variable:
    """Whether an item of the iterator equals `item`. The iterator stops after the equal item."""
    while (found := tx.next_item(iterator)) is not None:
        tx.output.budget.count_instruction()
        if equal_or_same(tx, found, item):
            return ConstantVariable(True)
    return ConstantVariable(False)


CONTAINERS = (
    SequenceVariable,
    DictVariable,
    SetVariable,
    DictViewVariable,
    MappingProxyVariable,
    ObjectVariable,
    ClassDictVariable,
)
