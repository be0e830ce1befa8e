"""Bytecode that gives the attributes of an existing object the state in which the frame left them.

In:  the object's variable, and the attributes that the frame stored or deleted.
Out: instructions in the code that replaces the frame.

    obj.a = 1; del obj.b   ->   LOAD_CONST 1; LOAD obj; STORE_ATTR a; call remove_attribute(obj, "b")
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from capture.variables.core.base import Deleted
from capture.variables.core.class_lookup import lookup_type, plain_setattr
from capture.variables.core.constant import ConstantVariable

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.base import Variable


def remove_attribute(owner: Any, name: str) -> None:
    """`del owner.name`, if the attribute exists. The frame may have set it before it deleted it."""
    with contextlib.suppress(AttributeError):
        delattr(owner, name)


def remove_past_class(owner: Any, name: str) -> None:
    """The same without the `__delattr__` of the class: the frame has called it, or has gone past it."""
    with contextlib.suppress(AttributeError):
        object.__delattr__(owner, name)


def store_attributes(code: PythonCode, owner: Any, stores: dict[str, Variable]) -> None:
    # what a class does more (a module registers its parts) is done: the frame has called it, or gone past it
    plain = lookup_type(owner.python_type(), "__setattr__") in (*plain_setattr(), type.__setattr__)
    deletes_plainly = lookup_type(owner.python_type(), "__delattr__") in (*plain_setattr(), type.__delattr__)
    remove = remove_attribute if deletes_plainly else remove_past_class
    for name, value in stores.items():
        deleted = isinstance(value, Deleted)
        if deleted or code.output.side_effects.is_set_anew(owner, name):
            code.call_object(remove, [owner, ConstantVariable(name)])
            code.pop()
        if deleted:
            continue
        if plain:
            code.load(value)
            code.load(owner)
            code.store_attribute(name)
        else:
            code.call_object(object.__setattr__, [owner, ConstantVariable(name), value])
            code.pop()


def is_realized_from(old: Variable, new: Variable) -> bool:
    return old.source is not None and old.source == new.source
