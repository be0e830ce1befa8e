"""Rules for questions about one object: attributes by name, length, identity, hash, namespaces.

In:  a call of `getattr`, `len`, `id`, `hash` and so on.
Out: the result that Python gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capture.variables.core.base import ObservedException, Variable, realize
from capture.variables.core.constant import NONE, ConstantVariable, fix_nans, fold, raise_type_error
from capture.variables.core.identity import IdentityVariable
from capture.variables.core.opaque import OpaqueVariable
from capture.variables.core.rules import rule
from capture.variables.core.shown_names import shown_name
from capture.variables.numbers.symbolic import is_symbolic
from capture.variables.objects.user_object import ObjectVariable, checked_length
from capture.variables.operations.rich_comparison import compare

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter


@rule(len)
def _len(tx: Interpreter, value: Variable) -> Variable:
    if isinstance(value, ObjectVariable):
        made = value.len_variable(tx)
        is_size = is_symbolic(made) and made.python_type() is int
        if is_size and compare(tx, ">=", made, ConstantVariable(0)).truth(tx):
            return made
        return fold(checked_length, [made], {})
    found = value.open_length(tx)
    if found is not None:
        return found
    length = getattr(value, "length", None)
    if length is not None:
        return tx.wrap_constant(length(tx))
    if not isinstance(value, OpaqueVariable) and not hasattr(value.python_type(), "__len__"):
        raise_type_error(f"object of type '{shown_name(value.python_type())}' has no len()")
    return fold(len, [value], {})


def _attribute_name(name: Variable) -> str:
    if not issubclass(name.python_type(), str):
        raise_type_error(f"attribute name must be string, not '{name.python_type().__name__}'")
    text = name.as_constant()
    assert isinstance(text, str)
    return text


@rule(getattr)
def _getattr(tx: Interpreter, value: Variable, name: Variable, default: Variable | None = None) -> Variable:
    try:
        return value.get_attr(tx, _attribute_name(name))
    except ObservedException as raised:
        if default is not None and issubclass(raised.variable.python_type(), AttributeError):
            return default
        raise


@rule(hasattr)
def _hasattr(tx: Interpreter, value: Variable, name: Variable) -> Variable:
    try:
        value.get_attr(tx, _attribute_name(name))
    except ObservedException as raised:
        if issubclass(raised.variable.python_type(), AttributeError):
            return ConstantVariable(False)
        raise
    return ConstantVariable(True)


@rule(setattr)
def _setattr(tx: Interpreter, value: Variable, name: Variable, new: Variable) -> Variable:
    value.set_attr(tx, _attribute_name(name), new)
    return NONE


@rule(delattr)
def _delattr(tx: Interpreter, value: Variable, name: Variable) -> Variable:
    value.del_attr(tx, _attribute_name(name))
    return NONE


@rule(id)
def _id(tx: Interpreter, value: Variable) -> Variable:
    return IdentityVariable(tx, realize(value))


@rule(hash)
def _hash(tx: Interpreter, value: Variable) -> Variable:
    if isinstance(value, ObjectVariable) and value.has_class_attribute("__hash__", below=object):
        value.refuse_none("__hash__")
        return value.call_method(tx, "__hash__", [], {})
    fix_nans([value])  # a NaN has the hash of its address
    return fold(hash, [value], {})
