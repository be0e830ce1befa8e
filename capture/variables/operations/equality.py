"""Equality, identity, sorting and hashing of variables at translation time.

In:  variables.
Out: a bool, the sorted items, or the hash key of a variable. An open question breaks the graph.
"""

from __future__ import annotations

import enum
import functools
import operator
import types
from typing import TYPE_CHECKING, Any

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import NotConstant, Variable
from capture.variables.core.constant import ConstantVariable, fix_nans, holds_nan, is_literal, is_only_one
from capture.variables.core.exception import raise_new
from capture.variables.core.identity import IdentityVariable
from capture.variables.core.shown_names import shown_name
from capture.variables.numbers.arithmetic import compute
from capture.variables.numbers.symbolic import decide, is_symbolic
from capture.variables.objects.native_base import plain_operand
from guards.sources import ShapeSource
from guards.values import constants_equal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from capture.variables.core.protocols import Interpreter


def same_object(tx: Interpreter, left: Variable, right: Variable) -> bool:
    """`left is right`. The identity of the variables decides, except for constants.

    This is right because one existing object has one Variable.
    """
    left, right = tx.output.objects.resolve(left), tx.output.objects.resolve(right)
    if is_symbolic(left) or is_symbolic(right):
        return _is_same_number(tx, left, right)
    if left is right:
        return True
    if any(one.is_exactly(None) and other.never_none for one, other in ((left, right), (right, left))):
        return False
    if not (left.identity_known and right.identity_known):
        raise GraphBreak("compare", name="is", value=left if right.identity_known else right)
    if left.mutable or right.mutable:
        tx.output.guarding.distinct(left, right)
        return False
    if left.is_constant() and right.is_constant():
        return _is_same_constant(tx, left, right)
    try:
        same = left.real_value() is right.real_value()
    except NotConstant:
        same = False
    if not same:
        tx.output.guarding.distinct(left, right)
    return same


def _is_same_constant(tx: Interpreter, left: Variable, right: Variable) -> bool:
    """The `is` of two constants.

    Python's own rules decide, because the operations of the program made these objects. The guard on an
    existing constant holds for other objects of its value too, so another guard fixes the answer.
    """
    if left.python_type() is not right.python_type():
        return False
    one, other = left.as_constant(), right.as_constant()
    if not is_only_one(one) and constants_equal(one, other):
        tx.output.guarding.same_constant(left, right, one is other)
    return one is other


def _is_same_number(tx: Interpreter, left: Variable, right: Variable) -> bool:
    """The `is` of two numbers, one of which is symbolic. Guards fix the answer but not the numbers.

    A size is another object at each read, and so is the result of an operation. Python has one object for
    each small int. Only Python knows which of its other equal numbers are one.
    """
    kind = left.python_type()
    if left is right and left.source is not None and not isinstance(left.source, ShapeSource):
        return True
    if kind is not right.python_type():
        return False
    if kind is bool:
        return left.truth(tx) == right.truth(tx)
    if not equal(tx, left, right):
        return False
    if kind is int and all(_holds(tx, sign, left, bound) for sign, bound in ((">=", -5), ("<=", 256))):
        return True
    signal = GraphBreak("compare", name="is", value=left)
    signal.skips_frame = left is right  # behind a break, both places would have one object
    raise signal


def _holds(tx: Interpreter, sign: str, number: Variable, bound: int) -> bool:
    return tx.compare(sign, number, ConstantVariable(bound)).truth(tx)


def same_identity(one: IdentityVariable, other: IdentityVariable) -> bool:
    return same_object(one.tx, one.owner, other.owner)


def equal_or_same(tx: Interpreter, left: Variable, right: Variable) -> bool:
    """`left is right or left == right`, as `in`, `index`, `count` and `remove` compare.

    Equal constants need no answer to `is`, and no guard on it. Only a NaN does not equal itself.
    """
    left, right = tx.output.objects.resolve(left), tx.output.objects.resolve(right)
    if _are_equal_constants(left, right):
        return True
    if is_symbolic(left) or is_symbolic(right):
        return left is right or equal(tx, left, right)
    return same_object(tx, left, right) or equal(tx, left, right)


def _are_equal_constants(left: Variable, right: Variable) -> bool:
    if not (isinstance(left, ConstantVariable) and isinstance(right, ConstantVariable)):
        return False
    return constants_equal(left.value, right.value) and not holds_nan(left.value)


def is_one_of_numbers(items: list[Variable], value: Variable) -> bool | None:
    """`value in items` for ints, some of which are symbolic. None if there are other values among them.

    One guard fixes the answer. It does not fix which item equals the value.
    """
    numbers = [value, *items]
    if not any(map(is_symbolic, numbers)) or not all(
        n.is_constant() and n.python_type() is int for n in numbers
    ):
        return None
    found: Any = False
    for item in items:
        same = compute(operator.eq, [item, value])
        if not is_symbolic(item) and not is_symbolic(value):
            found = found | (item.as_constant() == value.as_constant())
        elif same is None:
            return None
        else:
            found = same.value | found  # type: ignore[attr-defined]
    return bool(decide(bool, found))


def equal(tx: Interpreter, left: Variable, right: Variable) -> bool:
    return tx.compare("==", left, right).truth(tx)


@functools.total_ordering
class SortKey:
    """A key with which Python's own sort compares variables by the program's `<`."""

    def __init__(self, tx: Interpreter, value: Variable) -> None:
        self.tx = tx
        self.value = value

    def __lt__(self, other: SortKey) -> bool:
        return self.tx.compare("<", self.value, other.value).truth(self.tx)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SortKey) and equal(self.tx, self.value, other.value)

    __hash__ = None  # type: ignore[assignment]


def sort_items(
    tx: Interpreter, items: list[Variable], key: Variable | None, reverse: Variable | None
) -> list[Variable]:
    """`sorted(items, key=key, reverse=reverse)`: a stable sort by the program's own `<`."""
    if key is None or key.is_exactly(None):
        keys = items
    else:
        keys = [key.call(tx, [item], {}) for item in items]
    order = sorted(
        range(len(items)),
        key=lambda i: SortKey(tx, keys[i]),
        reverse=bool(reverse is not None and reverse.truth(tx)),
    )
    return [items[i] for i in order]


class ByIdentity:
    """Hash key of an object that hashes and compares by identity."""

    __slots__ = ("variable",)

    def __init__(self, variable: Variable) -> None:
        self.variable = variable

    def __hash__(self) -> int:
        return id(self.variable)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and other.variable is self.variable


class ForeignKey(ByIdentity):
    """Hash key of a key in an existing dict, for a class with its own `__hash__` or `__eq__`.

    Only the same object finds it again.
    """


class IdentityKey:
    """Hash key of an `IdentityVariable`. It equals only the hash key of the `id` of the same object."""

    __slots__ = ("hash", "is_of_constant", "number")

    def __init__(self, number: IdentityVariable) -> None:
        owner = number.owner
        self.number = number
        self.is_of_constant = owner.is_constant() and not owner.mutable
        self.hash = hash(owner.python_type()) if self.is_of_constant else id(owner)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and same_identity(self.number, other.number)


class ByUser:
    """Hash key of an object with its own `__hash__`.

    The interpreter inlines `__hash__` once, and `__eq__` as often as Python calls it.
    """

    __slots__ = ("hash", "tx", "variable")

    def __init__(self, tx: Interpreter, variable: Variable, hash_value: int) -> None:
        self.tx = tx
        self.variable = variable
        self.hash = hash_value

    def __hash__(self) -> int:
        return self.hash  # Python reduces a large int as it does for the program's own `__hash__`

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ByUser):
            return equal_or_same(self.tx, self.variable, other.variable)
        if isinstance(other, ForeignKey) or not (is_literal(other) or isinstance(other, ByIdentity)):
            raise GraphBreak("compare", name="==", value=self.variable)
        held = other.variable if isinstance(other, ByIdentity) else ConstantVariable(other)
        return equal_or_same(self.tx, self.variable, held)


def names_objects(key: Any) -> bool:
    """Whether the hash key, or a part of it, stands for an object. Otherwise it is the key itself."""
    if type(key) is tuple:
        return any(map(names_objects, key))
    return isinstance(key, ByIdentity | ByUser | IdentityKey)


def equals_others(key: Any) -> bool:
    """Whether the hash key, or a part of it, may equal another object that a dict holds as its key.

    Members of an enum that derives from str or int equal plain strings and ints.
    """
    if type(key) is tuple:
        return any(map(equals_others, key))
    return isinstance(key, enum.Enum) and type(key).__eq__ is not object.__eq__


def has_own_hash(cls: type) -> bool:
    """Whether code written in Python decides the equality of dict keys of this class."""
    plain = (torch.nn.Module, torch.Tensor)
    return any(
        isinstance(getattr(cls, name), types.FunctionType)
        and getattr(cls, name) not in [vars(c).get(name) for c in plain]
        for name in ("__hash__", "__eq__")
    )


def hashes_by_identity(cls: type) -> bool:
    """Whether keys of this class are equal only if they are one object."""
    by_identity = (object.__hash__, type.__hash__, torch.Tensor.__hash__, torch.nn.Module.__hash__)
    return getattr(cls, "__hash__", None) in by_identity and not has_own_hash(cls)


def hash_key(tx: Interpreter, variable: Variable, among: Collection[Any] = ()) -> Any:
    """The hash key of a variable: two variables are the same dict key exactly if their hash keys are equal.

    `among` are the hash keys with which it will be compared.
    """
    key = _new_key(tx, variable, among)
    for named in objects_named(key):
        tx.output.guarding.key_object(named, among)
    return key


def objects_named(key: Any) -> Iterator[Variable]:
    """The objects whose identity the hash key stands for."""
    if type(key) is tuple:
        for part in key:
            yield from objects_named(part)
    elif isinstance(key, ByIdentity):
        yield key.variable
    elif isinstance(key, IdentityKey) and not key.is_of_constant:  # those are compared by `same_object`
        yield key.number.owner


def _new_key(tx: Interpreter, variable: Variable, among: Collection[Any]) -> Any:
    variable = tx.output.objects.resolve(variable)
    if isinstance(variable, IdentityVariable):
        number = variable.as_key() if any(isinstance(key, int) for key in among) else None
        if number is None:
            return IdentityKey(variable)
        variable = ConstantVariable(number)
    plain = plain_operand(variable, "__hash__", "__eq__")
    if plain.python_type().__hash__ is not None:
        variable = plain
    items = variable.hashed_items(tx)
    fix_nans([variable] if items is None and variable.is_constant() else items or [])
    if items is not None:
        return _key_of_items(tx, variable, items)
    if variable.is_constant():
        return _key_of_constant(variable)
    if type(variable).mutable and variable.python_type().__hash__ is None:
        raise raise_new(TypeError, f"unhashable type: '{shown_name(variable.python_type())}'")
    return _key_of_object(tx, variable)


def _key_of_items(tx: Interpreter, variable: Variable, items: list[Variable]) -> Any:
    try:
        value = variable.as_constant()
        hash(value)
        return value
    except NotConstant:
        return tuple(hash_key(tx, item) for item in items)


def _key_of_constant(variable: Variable) -> Any:
    value = variable.as_constant()
    try:
        hash(value)
    except TypeError as error:
        raise raise_new(TypeError, *error.args) from None
    return value


def _key_of_object(tx: Interpreter, variable: Variable) -> Any:
    cls = variable.python_type()
    try:
        value = variable.real_value()
    except NotConstant:
        value = tx.output.objects.object_of(variable)
        if cls in METHODS_IN_C:  # such methods of one object are equal
            if value is None:
                raise GraphBreak("builtin", name="hash", value=variable) from None
            return _key_of_callable(tx, variable, value)
    if variable.has_own_methods and has_own_hash(cls):
        return _hash_by_user(tx, variable, cls)
    if isinstance(value, type) or cls.__hash__ is object.__hash__ or cls is torch.Tensor:
        return ByIdentity(variable)
    if issubclass(cls, (torch.nn.Module, torch.Tensor)) and cls.__hash__ in (
        torch.nn.Module.__hash__,
        torch.Tensor.__hash__,
    ):
        return ByIdentity(variable)
    if callable(value):
        return _key_of_callable(tx, variable, value)
    raise GraphBreak("builtin", name="hash", value=variable)


METHODS_IN_C = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)


def _key_of_callable(tx: Interpreter, variable: Variable, value: Any) -> Any:
    """Functions in C are keys themselves. The guards on a bound method leave its object open."""
    existing = tx.output.objects.object_of(variable)
    if existing is not None:
        tx.output.guarding.identity(variable, existing)
        return existing
    owner = tx.output.objects.known(getattr(value, "__self__", None))
    return value if owner is None else (type(value), ByIdentity(owner), value.__func__)


def _hash_by_user(tx: Interpreter, variable: Variable, cls: type) -> ByUser:
    if cls.__hash__ is None:
        raise raise_new(TypeError, f"unhashable type: '{shown_name(cls)}'")
    if not isinstance(cls.__hash__, types.FunctionType):
        raise GraphBreak("builtin", name="hash", value=variable)
    result = variable.call_method(tx, "__hash__", [], {})
    if not result.is_constant() or not isinstance(result.as_constant(), int):
        raise GraphBreak("builtin", name="hash", value=variable)
    return ByUser(tx, variable, result.as_constant())


COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
SWAPPED = {"<": ">", "<=": ">=", "==": "==", "!=": "!=", ">": "<", ">=": "<="}
DUNDERS = {"<": "__lt__", "<=": "__le__", "==": "__eq__", "!=": "__ne__", ">": "__gt__", ">=": "__ge__"}
