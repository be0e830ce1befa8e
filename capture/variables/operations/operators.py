"""Unary, binary and in-place operators, and items: `-a`, `a + b`, `a += b`, `a[i]`.

In:  the symbol of an operator, and its operands.
Out: the variable of the result.

Each operator has one order of attempts. Operations on tensors go to the graph. Sequences, mappings and sets
have their own rules. Constants are computed. Dunder methods of user classes are inlined. Everything else
breaks the graph. Comparisons are in `rich_comparison.py`.
"""

from __future__ import annotations

import collections
import functools
import operator
import types
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.lists import DequeVariable, ListVariable, change
from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.ranges import RangeVariable
from capture.variables.containers.sequence import (
    SequenceVariable,
    SizeVariable,
    TupleVariable,
    index_of,
)
from capture.variables.containers.sets import SetVariable
from capture.variables.containers.views import (
    IN_PLACE_METHODS,
    DictViewVariable,
    combine_views,
    proxied,
)
from capture.variables.core.base import NotConstant, Variable
from capture.variables.core.class_lookup import MISSING, lookup_type
from capture.variables.core.constant import STRING_METHODS, ConstantVariable, fold, raise_type_error
from capture.variables.core.exception import raise_python
from capture.variables.core.shown_names import shown_name
from capture.variables.numbers import graph_float, late_values, max_min
from capture.variables.numbers.arithmetic import compute
from capture.variables.numbers.graph_float import GraphFloatVariable
from capture.variables.numbers.index_ranges import ranges_as_tensors
from capture.variables.numbers.symbolic import SymbolicVariable
from capture.variables.numbers.tensor_reads import indices
from capture.variables.objects.native_base import plain_operand
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.operations.objects_beside_tensors import answer_of_tensor
from capture.variables.operations.symbols import BINARY, UNARY
from capture.variables.tensors.numpy_indices import arrays_as_tensors
from capture.variables.tensors.tensor import TensorVariable
from capture.variables.text.size_text import SizeTextVariable, joined, text_of
from guards.sources import HEAP_TYPE, ConstantSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.variables.core.protocols import Interpreter


def unary_operator(tx: Interpreter, symbol: str, value: Variable) -> Variable:
    function, method = UNARY[symbol]
    kind = value.python_type()
    if value.of_numpy:
        return _operator_on_arrays(tx, symbol, function, [value])
    value = plain_operand(value, method)
    if isinstance(value, TensorVariable):
        own = value.dunder(tx, method, [])
        return own if own is not None else tx.output.call_function(tx, function, [value], {})
    if isinstance(value, ObjectVariable):
        result = value.dunder(tx, method, [])
        return result or _raise_bad_operand(symbol, kind)
    if isinstance(value, GraphFloatVariable):
        return graph_float.operate(tx, symbol, function, [value])
    if not hasattr(value.python_type(), method):
        _raise_bad_operand(symbol, kind)
    return compute(function, [value]) or late_values.compute(function, [value]) or fold(function, [value], {})


def _raise_bad_operand(symbol: str, kind: type) -> NoReturn:
    raise_type_error(f"bad operand type for unary {symbol}: '{shown_name(kind)}'")


def binary_operator(
    tx: Interpreter, symbol: str, left: Variable, right: Variable, sign: str | None = None
) -> Variable:
    """`sign`: how the texts of errors name the operator."""
    function, _, name = BINARY[symbol]
    if left.of_numpy or right.of_numpy:
        return _operator_on_arrays(tx, symbol, function, [left, right])
    sign = sign or SHOWN.get(symbol, symbol)
    given = left, right
    if symbol == "%" and isinstance(right, ObjectVariable) and formats(left, right):
        return STRING_METHODS["%"](tx, left.as_constant(), [right], {})
    left, right = (plain_operand(v, f"__{name}__", f"__r{name}__") for v in (left, right))
    one, other = plain_operand(left, f"__{name}__"), plain_operand(right, f"__r{name}__")
    if _has_operator(tx, one, f"__{name}__") or _has_operator(tx, other, f"__r{name}__"):
        return user_operator(tx, symbol, name, left, right, sign)
    left, right = one, other
    if max_min.is_among((left, right)):
        return max_min.operate(tx, symbol, function, [left, right])
    if any(isinstance(value, TensorVariable) for value in (left, right)) and not _is_template(symbol, left):
        if symbol != "*" or not any(value.python_type() in (str, bytes) for value in (left, right)):
            return tx.output.call_function(tx, function, [left, right], {})
        left, right = (_index_of_tensor(tx, value) for value in (left, right))
    if graph_float.is_among((left, right)):
        return graph_float.operate(tx, symbol, function, [left, right])
    computed = compute(function, [left, right]) or late_values.compute(function, [left, right])
    computed = computed or graph_float.operate_on_late(tx, symbol, function, [left, right])
    if computed is not None:
        return computed
    rule = _container_rule(symbol, left, right)
    if rule is not None:
        return rule(tx, left, right)
    if _is_template(symbol, left):
        return STRING_METHODS["%"](tx, left.as_constant(), [right], {})
    if symbol == "+" and _is_open_text(left, right):
        return text_of(tx, joined, [left, right])
    late_values.check_unneeded((left, right))
    _raise_if_refused(function, left, right, sign, given)
    return fold(function, [left, right], {})


def _operator_on_arrays(tx: Interpreter, symbol: str, function: Any, operands: list[Variable]) -> Variable:
    from capture.variables.tensors.numpy_operators import operator_on_arrays  # lazy: import time

    return operator_on_arrays(tx, symbol, function, operands)


def _index_of_tensor(tx: Interpreter, value: Variable) -> Variable:
    """How often a text is to be repeated."""
    return value.call_method(tx, "__index__", [], {}) if isinstance(value, TensorVariable) else value


def _is_template(symbol: str, left: Variable) -> bool:
    """Whether this is `template % value`, which writes the value as text."""
    return symbol == "%" and isinstance(left, ConstantVariable) and isinstance(left.value, str)


def _is_open_text(*parts: Variable) -> bool:
    """Whether they are texts, one of which nobody has looked at."""
    of_texts = all(isinstance(part, (SizeTextVariable, ConstantVariable)) for part in parts)
    is_open = any(isinstance(part, SizeTextVariable) for part in parts)
    return of_texts and is_open and all(part.python_type() is str for part in parts)


SEQUENCES = frozenset({str, bytes, list, tuple, collections.deque})


def formats(template: Variable, value: ObjectVariable) -> bool:
    """Whether the template computes `template % value`.

    It does, unless the value is an instance of a subclass of str or bytes with its own `__rmod__`.
    """
    kind = template.python_type()
    own = issubclass(value.cls, kind) and value.has_class_attribute("__rmod__", below=kind)
    return kind in (str, bytes) and template.is_constant() and not own


def _has_operator(tx: Interpreter, value: Variable, method: str) -> bool:
    """Whether the program may have written the operator.

    This holds for any object, and for a tensor whose class overrides the operator (guarded).
    """
    if isinstance(value, TensorVariable):
        if value.cls not in (torch.Tensor, torch.nn.Parameter):
            tx.output.guarding.class_entry(value, value.cls, method)
        return lookup_type(value.cls, method) is not lookup_type(torch.Tensor, method)
    return isinstance(value, ObjectVariable)


def _raise_if_refused(
    function: Any, left: Variable, right: Variable, sign: str, given: tuple[Variable, Variable]
) -> None:
    """Raise the TypeError of Python for these operand types. Empty containers stand for the real ones.

    `given`: the operands, of which `left` and `right` may be the built-in parts.
    """
    operands = []
    for value in (left, right):
        kind = value.python_type() if not value.is_constant() else None
        if kind is not None and kind not in EMPTY_STANDS_FOR:
            return
        operands.append(value.as_constant() if kind is None else kind())
        if isinstance(operands[-1], np.generic):  # NumPy looks at the items
            return
    try:
        function(*operands)
    except TypeError as error:
        if str(error).startswith("unsupported operand type(s)"):
            raise_refused(sign, *given)
        raise raise_python(error) from None
    except (ArithmeticError, ValueError):
        return  # `fold` raises it again for constants


EMPTY_STANDS_FOR = frozenset(
    {list, tuple, dict, set, frozenset, collections.OrderedDict, collections.defaultdict, collections.deque}
)


def is_int(value: Variable) -> bool:
    """Whether `*` can take it for the number of repetitions."""
    value = value.plain_argument()
    return isinstance(value, (ConstantVariable, SymbolicVariable)) and issubclass(value.python_type(), int)


def in_place_operator(tx: Interpreter, symbol: str, left: Variable, right: Variable) -> Variable:
    if left.of_numpy:
        return _change_array(tx, symbol, left, right)
    rule = next((rule for kinds, rule in IN_PLACE_RULES if isinstance(left, kinds)), None)
    result = rule(tx, symbol, left, right) if rule is not None else None
    return binary_operator(tx, symbol, left, right, symbol + "=") if result is None else result


def _change_array(tx: Interpreter, symbol: str, left: Any, right: Variable) -> Variable:
    return _operator_on_arrays(tx, symbol, BINARY[symbol][1], [left, right])


def _change_tensor(tx: Interpreter, symbol: str, left: Any, right: Variable) -> Variable:
    _, function, name = BINARY[symbol]
    own: Variable | None = left.dunder(tx, f"__i{name}__", [right])
    if own is not None and not own.is_exactly(NotImplemented):
        return own
    if right.of_numpy:
        return _change_array(tx, symbol, left, right)
    return tx.output.call_function(tx, function, [left, right], {})


def _change_object(tx: Interpreter, symbol: str, left: Any, right: Variable) -> Variable | None:
    method = f"__i{BINARY[symbol][2]}__"
    if not left.has_class_attribute(method):
        return None
    result: Variable = left.call_method(tx, method, [right], {})
    return None if result.is_exactly(NotImplemented) else result


def _change_sequence(tx: Interpreter, symbol: str, left: Any, right: Variable) -> Variable | None:
    if symbol not in ("+", "*"):
        return None
    answer = _answer_before_sequence(tx, symbol, BINARY[symbol][1], left, right)
    if answer is not None:
        return answer
    if symbol == "+":
        result: Variable = left.call_method(tx, "__iadd__", [right], {})
        return result
    if not is_int(right):
        return None
    items = repeated(left, right.plain_argument())
    change(tx, left)
    left.items[:] = items
    if isinstance(left, DequeVariable):
        left.trim()
    changed: Variable = left
    return changed


def _change_set(tx: Interpreter, symbol: str, left: Any, right: Variable) -> Variable | None:
    reflected = f"__r{BINARY[symbol][2]}__"
    if not isinstance(plain_operand(right, reflected), SetVariable) or left.python_type() is frozenset:
        return None
    return _change_by_method(tx, symbol, left, right)


def _change_by_method(tx: Interpreter, symbol: str, left: Any, right: Variable) -> Variable | None:
    if symbol not in IN_PLACE_METHODS:
        return None
    left.call_method(tx, IN_PLACE_METHODS[symbol], [right], {})
    changed: Variable = left
    return changed


#: for the kind of the left operand; where a rule gives None, the operator makes a new value
IN_PLACE_RULES: list[tuple[Any, Callable[[Interpreter, str, Any, Variable], Variable | None]]] = [
    (TensorVariable, _change_tensor),
    (ObjectVariable, _change_object),
    ((ListVariable, DequeVariable), _change_sequence),
    (SetVariable, _change_set),
    (DictVariable, _change_by_method),
]


def _answer_before_sequence(
    tx: Interpreter, symbol: str, function: Any, left: Variable, right: Variable
) -> Variable | None:
    """The result of the right operand's reflected method for `items += value`, or None.

    Python asks a right operand that implements number operators first: `items += array` adds numbers.
    """
    if right.of_numpy:
        return _operator_on_arrays(tx, symbol, function, [left, right])
    reflected = f"__r{BINARY[symbol][2]}__"
    if isinstance(right, ObjectVariable) and isinstance(right.class_entry(reflected), types.FunctionType):
        answer = right.call_method(tx, reflected, [left], {})
        return None if answer.is_exactly(NotImplemented) else answer
    return None


#: how the texts of errors name an operator, where that is not its symbol
SHOWN = {"**": "** or pow()"}


def _entry(value: Variable, name: str) -> Any:
    """The entry of the class under a name (guarded)."""
    return (
        value.class_entry(name)
        if isinstance(value, ObjectVariable)
        else lookup_type(value.python_type(), name)
    )


def user_operator(
    tx: Interpreter, symbol: str, name: str, left: Variable, right: Variable, sign: str | None = None
) -> Variable:
    """A binary operator by Python's protocol of dunder methods.

    The reflected method of the right operand comes first if the right class is a proper subclass of the left
    class and has its own reflected method.
    """
    attempts = [(left, f"__{name}__", right), (right, f"__r{name}__", left)]
    kinds = left.python_type(), right.python_type()
    if kinds[0] is kinds[1]:
        del attempts[1]  # Python does not try the reflected method of the same class
    elif kinds[0] in kinds[1].__mro__ and _entry(left, f"__r{name}__") is not _entry(right, f"__r{name}__"):
        attempts.reverse()
    for owner, method, other in attempts:
        if isinstance(owner, ObjectVariable):
            if not owner.has_class_attribute(method):
                continue
            result = owner.call_method(tx, method, [other], {})
        elif isinstance(owner, TensorVariable):
            result = answer_of_tensor(tx, owner, method, other)
        else:
            if isinstance(owner, DictViewVariable) and hasattr(owner.python_type(), method):
                raise GraphBreak("operator", name=symbol, value=owner)  # it takes anything that iterates
            other = other.plain_argument()
            if not (owner.is_constant() and other.is_constant() and hasattr(owner.python_type(), method)):
                # the method of a container returns NotImplemented for an unknown object
                continue
            result = owner.call_method(tx, method, [other], {})
        if not result.is_exactly(NotImplemented):
            return result
    if any(kind in SEQUENCES for kind in kinds):  # they ask for `__index__`, and have their own error texts
        raise GraphBreak("operator", name=symbol, value=left)
    return raise_refused(sign or SHOWN.get(symbol, symbol), left, right)


def raise_refused(sign: str, left: Variable, right: Variable) -> NoReturn:
    kinds = (shown_name(value.python_type()) for value in (left, right))
    raise_type_error("unsupported operand type(s) for {}: '{}' and '{}'".format(sign, *kinds))


# --- containers ---


def _concatenate(tx: Interpreter, left: Any, right: Any) -> Variable:
    for one, other in ((left, right), (right, left)):
        if not other.items and type(one) is type(other) is TupleVariable:
            return one  # Python returns the same tuple if the other one is empty
    items = list(left.items) + list(right.items)
    whole = right if isinstance(right, SizeVariable) else left  # torch.Size decides, on both sides
    if isinstance(whole, SizeVariable) and not all(issubclass(item.python_type(), int) for item in items):
        raise GraphBreak("builtin", name="torch.Size", value=left)
    result: Variable = whole.like(items)
    return result


def _repeat(tx: Interpreter, left: Any, right: Any) -> Variable:
    if not isinstance(left, SequenceVariable):
        left, right = right, left
    if type(left) is TupleVariable and right.as_constant() == 1:
        return left
    result: Variable = left.like(repeated(left, right))
    return result


MOST_ITEMS = 100_000  # limit for a sequence that `*` makes, because each item is a variable


def repeated(sequence: Any, times: Variable) -> list[Variable]:
    count = times.as_constant()
    assert isinstance(count, int)
    if len(sequence.items) * count > MOST_ITEMS:
        raise GraphBreak("operator", name="*", value=sequence)
    return list(sequence.items) * count


def _set_method(name: str) -> Callable[[Interpreter, Any, Any], Variable]:
    def apply(tx: Interpreter, left: Any, right: Any) -> Variable:
        result: Variable = left.call_method(tx, name, [right], {})
        return result

    return apply


SET_RULES = {
    "|": _set_method("union"),
    "&": _set_method("intersection"),
    "-": _set_method("difference"),
    "^": _set_method("symmetric_difference"),
}


def _merge(tx: Interpreter, left: Any, right: Any) -> Variable:
    """`left | right`. The result has the class of the left dict, or of the right one if the left is plain."""
    kind = left if left.cls is not dict else right
    result = DictVariable(cls=kind.cls, factory=kind.factory)
    for operand in (left, right):
        result.call_method(tx, "update", [operand], {})
    return result


def _union_of_types(tx: Interpreter, left: Variable, right: Variable) -> Variable:
    """`int | str`, `int | None`."""
    try:
        union = left.real_value() | right.real_value()
    except NotConstant:
        raise GraphBreak("operator", name="|", value=left) from None
    except TypeError as error:
        raise raise_python(error) from None
    return tx.wrap(union, ConstantSource(union))


def _is_set_view(value: Variable) -> bool:
    return isinstance(value, DictViewVariable) and value.kind != "values"


def _container_rule(symbol: str, left: Variable, right: Variable) -> Any:
    if symbol == "+" and isinstance(left, SequenceVariable) and isinstance(right, SequenceVariable):
        same = {tuple: TupleVariable, list: ListVariable}
        for base in same.values():
            if isinstance(left, base) and isinstance(right, base):
                return _concatenate
        if isinstance(left, DequeVariable) and isinstance(right, DequeVariable):
            return _concatenate
        return None
    if symbol == "*":
        pair = (left, right) if isinstance(left, SequenceVariable) else (right, left)
        if isinstance(pair[0], SequenceVariable) and isinstance(
            pair[1], (ConstantVariable, SymbolicVariable)
        ):
            return _repeat if issubclass(pair[1].python_type(), int) else None
    if symbol in SET_RULES and (_is_set_view(left) or _is_set_view(right)):
        return functools.partial(combine_views, symbol)
    if symbol in SET_RULES and isinstance(left, SetVariable) and isinstance(right, SetVariable):
        return SET_RULES[symbol]
    if symbol == "|" and type in (left.python_type(), right.python_type()):
        return _union_of_types
    if symbol == "|":
        left, right = proxied(left), proxied(right)
        if isinstance(left, DictVariable) and isinstance(right, DictVariable):
            return lambda tx, a, b: _merge(tx, left, right)
    return None


# --- items ---


def get_item(tx: Interpreter, container: Variable, key: Variable) -> Variable:
    """`container[key]`."""
    key = key.plain_argument()
    if isinstance(container, TensorVariable):
        own = container.dunder(tx, "__getitem__", [key])
        if own is not None:
            return own
        key = _place_in_tensor(tx, container, key)
        if isinstance(key, SymbolicVariable) and key.python_type() is int and container.fake.ndim:
            # `[]` would fix the index
            return tx.output.call_method(tx, "select", [container, ConstantVariable(0), key], {})
        return tx.output.call_function(tx, operator.getitem, [container, key], {})
    if isinstance(container, (ConstantVariable, RangeVariable)) and isinstance(key, ObjectVariable):
        key = ConstantVariable(index_of(tx, key)) if key.has_class_attribute("__index__") else key
    if isinstance(container, ConstantVariable):
        return fold(operator.getitem, [container, key], {})
    reader = getattr(container, "get_item", None)
    if reader is None:
        raise GraphBreak("operator", name="[]", value=container)
    result: Variable = reader(tx, key)
    return result


def _place_in_tensor(tx: Interpreter, tensor: TensorVariable, key: Variable) -> Variable:
    """The key of `tensor[key]` as the graph takes it."""
    return indices(tx, tensor, arrays_as_tensors(tx, tensor, ranges_as_tensors(tx, tensor, key)))


def set_item(tx: Interpreter, container: Variable, key: Variable, value: Variable) -> None:
    """`container[key] = value`."""
    if isinstance(container, TensorVariable):
        if container.dunder(tx, "__setitem__", [key, value]) is None:
            key = _place_in_tensor(tx, container, key)
            tx.output.call_function(tx, operator.setitem, [container, key, value], {})
        return
    _check_items_change(container, "__setitem__", "does not support item assignment")
    container.call_method(tx, "__setitem__", [key, value], {})


def _check_items_change(container: Variable, method: str, text: str) -> None:
    """Python asks for the two methods as one: a class that has one of them changes items."""
    if _entry(container, method) is not MISSING:
        return
    if all(_entry(container, name) is MISSING for name in ("__setitem__", "__delitem__")):
        raise_type_error(f"'{shown_name(container.python_type())}' object {text}")
    raise raise_python(AttributeError(method))


def del_item(tx: Interpreter, container: Variable, key: Variable) -> None:
    # the two texts of CPython: for a key that may be an index, in a class of the program, and for others
    as_index = container.python_type().__flags__ & HEAP_TYPE and hasattr(key.python_type(), "__index__")
    text = "doesn't support item deletion" if as_index else "does not support item deletion"
    _check_items_change(container, "__delitem__", text)
    container.call_method(tx, "__delitem__", [key], {})
