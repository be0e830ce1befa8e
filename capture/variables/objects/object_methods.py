"""The methods of `object` itself: `object.__setattr__(x, name, value)`, `super().__init__()`, ...

In:  the variable of an instance and of the arguments.
Out: the result, as CPython's method gives it.
"""

from __future__ import annotations

import copyreg
import types
from typing import TYPE_CHECKING, Any

from capture.variables.core.base import Variable
from capture.variables.core.class_lookup import lookup_type
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import raise_new
from capture.variables.core.makers import make
from capture.variables.core.shown_names import shown_name
from capture.variables.objects import copy_polyfills
from capture.variables.operations.equality import same_object

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter
    from capture.variables.objects.user_object import ObjectVariable


def _set_attribute(tx: Interpreter, owner: ObjectVariable, name: Variable, value: Variable) -> Variable:
    owner.generic_set_attr(tx, name.as_constant(), value)
    return ConstantVariable(None)


def _delete_attribute(tx: Interpreter, owner: ObjectVariable, name: Variable) -> Variable:
    owner.generic_del_attr(tx, name.as_constant())
    return ConstantVariable(None)


def _get_attribute(tx: Interpreter, owner: ObjectVariable, name: Variable) -> Variable:
    found = owner.generic_get_attr(tx, name.as_constant())
    if found is None:
        raise raise_new(
            AttributeError, f"'{shown_name(owner.cls)}' object has no attribute '{name.as_constant()}'"
        )
    return found


def _init(tx: Interpreter, owner: ObjectVariable, *args: Variable, **kwargs: Variable) -> Variable:
    if args or kwargs:
        text = "takes exactly one argument (the instance to initialize)"
        if lookup_type(owner.cls, "__init__") is not object.__init__:
            raise raise_new(TypeError, f"object.__init__() {text}")
        if lookup_type(owner.cls, "__new__") is object.__new__:
            raise raise_new(TypeError, f"{owner.cls.__name__}.__init__() {text}")
    return ConstantVariable(None)


def _equals(tx: Interpreter, owner: ObjectVariable, other: Variable) -> Variable:
    return ConstantVariable(True if same_object(tx, owner, other) else NotImplemented)


def _not_equals(tx: Interpreter, owner: ObjectVariable, other: Variable) -> Variable:
    result = owner.call_method(tx, "__eq__", [other], {})
    return result if result.is_exactly(NotImplemented) else ConstantVariable(not result.truth(tx))


def _namespaces_equal(tx: Interpreter, owner: ObjectVariable, other: Variable) -> Variable:
    if not issubclass(other.python_type(), types.SimpleNamespace):
        return ConstantVariable(NotImplemented)
    return tx.compare("==", owner.get_attr(tx, "__dict__"), other.get_attr(tx, "__dict__"))


def _not_ordered(tx: Interpreter, owner: ObjectVariable, other: Variable) -> Variable:
    return ConstantVariable(NotImplemented)


def _reduce_ex(tx: Interpreter, owner: ObjectVariable, *args: Variable) -> Variable:
    return tx.wrap_function(copy_polyfills.reduce_ex).call(tx, [owner, *args], {})


def _reduce(tx: Interpreter, owner: ObjectVariable, *args: Variable) -> Variable:
    return tx.wrap_function(copy_polyfills.reduce).call(tx, [owner, *args], {})


def _get_state(tx: Interpreter, owner: ObjectVariable) -> Variable:
    names = copyreg._slotnames(owner.cls)  # type: ignore[attr-defined]
    return tx.wrap_function(copy_polyfills.getstate).call(
        tx, [owner, make(tuple, [*map(ConstantVariable, names)])], {}
    )


OBJECT_METHODS: dict[Any, Any] = {
    object.__setattr__: _set_attribute,
    object.__delattr__: _delete_attribute,
    object.__getattribute__: _get_attribute,
    object.__init__: _init,
    object.__eq__: _equals,
    object.__ne__: _not_equals,
    types.SimpleNamespace.__eq__: _namespaces_equal,
    object.__lt__: _not_ordered,  # type: ignore[operator]
    object.__le__: _not_ordered,  # type: ignore[operator]
    object.__gt__: _not_ordered,  # type: ignore[operator]
    object.__ge__: _not_ordered,  # type: ignore[operator]
    object.__reduce_ex__: _reduce_ex,
    object.__reduce__: _reduce,
    object.__getstate__: _get_state,
}


OBJECT_METHOD_NAMES = frozenset(f.__name__ for f in OBJECT_METHODS)
