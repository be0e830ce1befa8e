"""`super()`: attribute look-up in the MRO of an object's class, after a given class.

In:  the class, and the object or class that it is called for.
Out: a variable whose attributes come from the rest of the MRO.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.callables.function import BoundMethodVariable
from capture.variables.callables.native_method import BuiltinMethodVariable, UnboundMethodVariable
from capture.variables.core.base import Variable
from capture.variables.core.exception import raise_new
from capture.variables.core.rules import lookup, rule
from capture.variables.objects.instance import native_new
from capture.variables.objects.type_object import ClassVariable
from capture.variables.objects.user_object import ObjectVariable
from guards.sources import AttrSource, ConstantSource, Source, TypeAttrSource
from guards.values import ObjectRef

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter

MISSING: Any = object()


class SuperVariable(Variable):
    """`owner` is an object, or a class (in class methods and in `__new__`)."""

    def __init__(self, after: type, owner: Variable) -> None:
        super().__init__(None)
        self.after = after
        self.owner = owner

    def python_type(self) -> type:
        return super

    def describe(self) -> str:
        return f"super({self.after.__name__}, {self.owner.describe()})"

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        cls = self.owner.python_type() if self.is_bound() else self.owner.real_value()
        found = find_after(cls, self.after, name)
        if found is MISSING:
            raise raise_new(AttributeError, f"'super' object has no attribute '{name}'")
        return self._bind(tx, found, name)

    def is_bound(self) -> bool:
        """Whether the owner is an instance and no subclass. (A class is an instance of its metaclass.)"""
        return not isinstance(self.owner, ClassVariable) or self.after not in self.owner.cls.__mro__

    def _bind(self, tx: Interpreter, found: Any, name: str) -> Variable:
        owner = self.owner
        if isinstance(found, types.FunctionType):
            function = tx.wrap(found, self._source(tx, name, found))
            return BoundMethodVariable(function, owner) if self.is_bound() else function
        if isinstance(found, staticmethod):
            return tx.wrap(found.__func__, self._source(tx, name, found, "__func__"))
        if isinstance(found, classmethod):
            function = tx.wrap(found.__func__, self._source(tx, name, found, "__func__"))
            return BoundMethodVariable(
                function, owner if isinstance(owner, ClassVariable) else owner.get_attr(tx, "__class__")
            )
        if isinstance(found, (types.WrapperDescriptorType, types.MethodDescriptorType)):
            return (
                BuiltinMethodVariable(owner, found, name) if self.is_bound() else UnboundMethodVariable(found)
            )
        if isinstance(found, types.BuiltinFunctionType):
            if name == "__new__":
                return _BuiltinNew(found.__self__)
            return tx.wrap(found, ConstantSource(found)) if lookup(found) else _refuse(self, name)
        if isinstance(found, property) and isinstance(owner, ObjectVariable):
            return tx.wrap(found.fget, self._source(tx, name, found, "fget")).call(tx, [owner], {})
        if hasattr(type(found), "__get__"):
            return _refuse(self, name)
        return tx.wrap(found, self._source(tx, name, found))

    def _source(self, tx: Interpreter, name: str, found: Any, field: str | None = None) -> Source:
        owner = self.owner
        classes = tx.output.guarding.class_source(owner) if self.is_bound() else owner.source
        if classes is None:
            return ConstantSource(found if field is None else getattr(found, field))
        source: Source = TypeAttrSource(classes, name, ObjectRef(self.after))
        return source if field is None else AttrSource(source, field)


def _refuse(owner: SuperVariable, name: str) -> Variable:
    raise GraphBreak("get_attr", value=owner, name=name)


class _BuiltinNew(Variable):
    """`super().__new__`, if a built-in class defines it."""

    def __init__(self, base: Any) -> None:
        super().__init__()
        self.base = base

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if not args:
            raise GraphBreak("call", value=f"{self.base.__name__}.__new__")
        return native_new(tx, self.base, args[0], args[1:], kwargs)


def find_after(cls: type, after: type, name: str) -> Any:
    """The raw entry in the part of the MRO after the class `after`."""
    mro = type.__dict__["__mro__"].__get__(cls)
    for base in mro[mro.index(after) + 1 :]:
        namespace = type.__dict__["__dict__"].__get__(base)
        if name in namespace:
            return namespace[name]
    return MISSING


@rule(super)
def _super(tx: Interpreter, cls: Variable | None = None, owner: Variable | None = None) -> Variable:
    if cls is None:
        if tx.code.co_argcount == 0:
            raise raise_new(RuntimeError, "super(): no arguments")
        name = tx.code.co_varnames[0]
        if name not in tx.cells and name not in tx.locals:
            raise raise_new(RuntimeError, "super(): arg[0] deleted")
        cell = tx.cells.get("__class__")
        if cell is None:
            raise raise_new(RuntimeError, "super(): __class__ cell not found")
        cls = tx.read_cell(cell, "__class__")
        owner = tx.read_cell(tx.cells[name], name) if name in tx.cells else tx.load_local(name)
    if not isinstance(cls, ClassVariable) or owner is None:
        raise GraphBreak("builtin", name="super", value=cls)
    return SuperVariable(cls.cls, owner)
