"""The built-in part of an instance of a class written on top of dict, list or set: how it is made, and filled when it is rebuilt."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from capture.variables.base import Variable

if TYPE_CHECKING:
    from capture.reconstruct import PythonCode
    from capture.variables.user_object import ObjectVariable


#: built-in classes whose subclasses can be made and filled: class -> methods that add an item or a pair
FILLABLE: dict[type, str] = {
    dict: "__setitem__", collections.OrderedDict: "__setitem__", list: "append", set: "add",
}  # fmt: skip


def native_base(cls: type) -> type:
    """The first class of the MRO that is not written in Python."""
    return next(base for base in type.__dict__["__mro__"].__get__(cls) if base in FILLABLE or base is object)


def maker_of(cls: type) -> Any:
    """The `__new__` of the first class of the MRO that is written in C."""
    mro = type.__dict__["__mro__"].__get__(cls)
    return next(base for base in mro if not base.__flags__ & (1 << 9)).__new__


def fill_base(code: PythonCode, owner: ObjectVariable, base: type) -> None:
    """With the new object on the stack: put the items of its built-in base into it, past overridden methods."""
    from capture.variables.mapping import DictVariable

    held = owner.base_value
    assert held is not None
    rows: list[tuple[Variable, ...]] = [(item,) for item in held.children()]
    if isinstance(held, DictVariable):
        rows = list(held.entries.values())
    for row in rows:
        code.call_object(getattr(base, FILLABLE[base]), [owner, *row])
        code.emit("POP_TOP")


def class_constant(cls: type) -> Variable:
    from capture.variables.type_object import ClassVariable
    from guards.source import ConstantSource

    return ClassVariable(cls, ConstantSource(cls))


def new_base_value(base: type) -> Variable:
    from capture.variables.lists import ListVariable
    from capture.variables.mapping import DictVariable
    from capture.variables.sets import SetVariable

    if issubclass(base, dict):
        return DictVariable({}, cls=base)
    return ListVariable([]) if base is list else SetVariable({})
