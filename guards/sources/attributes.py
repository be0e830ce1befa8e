"""Sources of attributes and fields: of instances, classes, Python modules, functions, bound methods.

In:  the source of the object and the name.
Out: a source; `self.linear.weight` -> AttrSource(AttrSource(LocalSource("self"), "linear"), "weight").
"""

from __future__ import annotations

import ctypes
import itertools
from dataclasses import dataclass
from types import BuiltinMethodType, MethodType, ModuleType
from typing import Any

from guards.lookup import (
    Unresolved,
    dict_get,
    function_field,
    instance_dict,
    isinstance_raw,
    raw_attribute,
    safe_repr,
    type_lookup,
    type_mro,
)
from guards.sources.base import DerivedSource
from guards.sources.roots import cell_contents
from guards.values import ObjectRef

HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_MODULE_DICT: Any = vars(ModuleType)["__dict__"]


@dataclass(frozen=True, eq=False)
class AttrSource(DerivedSource):
    """An attribute, raw: slot or member, instance dict, the type's MRO, then `_parameters`, `_buffers`,
    `_modules` of an nn.Module.

    Also slots, dataclass fields, members of built-in types (`slice.start`, `range.stop`, `partial.func`,
    `method.__self__`) and attributes of classes. The raw entry of a class is not bound: a method is the plain
    function.
    """

    name: str

    @property
    def text(self) -> str:
        return f"{self.parent.text}.{self.name}"

    def read(self, owner: Any) -> Any:
        return raw_attribute(owner, self.name)


@dataclass(frozen=True, eq=False)
class TypeAttrSource(DerivedSource):
    """`parent` is a class; the raw entry of its MRO. With `after`, of the part of the MRO behind that class,
    as `super(after, obj).name`.
    """

    name: str
    after: ObjectRef | None = None

    @property
    def text(self) -> str:
        if self.after is None:
            return f"{self.parent.text}.{self.name}"
        return f"super({safe_repr(self.after.get())}, {self.parent.text}).{self.name}"

    def read(self, owner: Any) -> Any:
        if not isinstance_raw(owner, type):
            raise Unresolved(f"not a class: {safe_repr(owner)}")
        if self.after is None:
            found = type_lookup(owner, self.name, self)
            if found is self:
                raise Unresolved(f"{owner!r} has no attribute {self.name!r}")
            return found
        return self._read_after(type_mro(owner))

    def _read_after(self, mro: tuple[type, ...]) -> Any:
        start = self.after.get() if self.after is not None else None
        behind = itertools.dropwhile(lambda klass: klass is not start, mro)
        next(behind, None)
        for klass in behind:
            namespace = type.__dict__["__dict__"].__get__(klass)
            if self.name in namespace:
                return namespace[self.name]
        raise Unresolved(f"no class behind {safe_repr(start)} has {self.name!r}")


@dataclass(frozen=True, eq=False)
class ModuleAttrSource(DerivedSource):
    """A name in the dict of a Python module (`__getattr__` of the module does not count); not of a class of
    its own, which may look elsewhere.
    """

    name: str

    @property
    def text(self) -> str:
        return f"{self.parent.text}.{self.name}"

    def read(self, owner: Any) -> Any:
        if type(owner) is not ModuleType:
            raise Unresolved(f"not a plain module: {safe_repr(owner)}")
        return dict_get(_MODULE_DICT.__get__(owner), self.name)


@dataclass(frozen=True, eq=False)
class DictSource(DerivedSource):
    """The instance `__dict__`."""

    @property
    def text(self) -> str:
        return f"{self.parent.text}.__dict__"

    def read(self, owner: Any) -> Any:
        found = instance_dict(owner)
        if found is None:
            raise Unresolved(f"{type(owner).__name__} has no __dict__")
        return found


@dataclass(frozen=True, eq=False)
class TypeSource(DerivedSource):
    """The type of the value (not its `__class__`)."""

    @property
    def text(self) -> str:
        return f"type({self.parent.text})"

    def read(self, owner: Any) -> Any:
        return type(owner)


@dataclass(frozen=True, eq=False)
class MroItemSource(DerivedSource):
    """`parent` is a class; its MRO at `index`."""

    index: int

    @property
    def text(self) -> str:
        return f"{self.parent.text}.__mro__[{self.index}]"

    def read(self, owner: Any) -> Any:
        if not isinstance_raw(owner, type) or self.index >= len(type_mro(owner)):
            raise Unresolved(f"no class {self.index} in the MRO of {safe_repr(owner)}")
        return type_mro(owner)[self.index]


FUNCTION_FIELDS = (
    "__code__", "__defaults__", "__kwdefaults__", "__closure__", "__globals__", "__name__", "__qualname__", "__doc__", "__module__",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class FunctionFieldSource(DerivedSource):
    """A field of a plain function, one of `FUNCTION_FIELDS`; an absent one is None."""

    field: str

    @property
    def text(self) -> str:
        return f"{self.parent.text}.{self.field}"

    def read(self, owner: Any) -> Any:
        return function_field(owner, self.field)


CLASS_NAMES = ("__name__", "__qualname__")


@dataclass(frozen=True, eq=False)
class ClassNameSource(DerivedSource):
    """`parent` is a class written in Python; its `__name__` or `__qualname__`, past properties of the
    metaclass.
    """

    field: str

    @property
    def text(self) -> str:
        return f"{self.parent.text}.{self.field}"

    def read(self, owner: Any) -> Any:
        if not isinstance_raw(owner, type) or not owner.__flags__ & HEAP_TYPE:
            raise Unresolved(f"no class written in Python: {safe_repr(owner)}")
        return type.__dict__[self.field].__get__(owner)


@dataclass(frozen=True, eq=False)
class CellContentsSource(DerivedSource):
    """`parent` is a cell; what it holds."""

    @property
    def text(self) -> str:
        return f"{self.parent.text}.cell_contents"

    def read(self, owner: Any) -> Any:
        return cell_contents(owner)


@dataclass(frozen=True, eq=False)
class BuiltinSelfSource(DerivedSource):
    """`parent` is a method of a built-in object, `[].append`; the object. `definition` says which method
    (`definition_of`).
    """

    definition: int

    @property
    def text(self) -> str:
        return f"{self.parent.text}.__self__"

    def read(self, owner: Any) -> Any:
        if definition_of(owner) != self.definition:
            raise Unresolved(f"another method: {safe_repr(owner)}")
        return owner.__self__


def definition_of(method: Any) -> int | None:
    """The address of the C struct that defines a method of a built-in object; all `append` of lists have one.
    None: it is no such method.
    """
    if type(method) is not BuiltinMethodType:
        return None
    return ctypes.c_void_p.from_address(id(method) + object.__basicsize__).value


@dataclass(frozen=True, eq=False)
class MethodFieldSource(DerivedSource):
    """`parent` is a bound method; its `__self__` or `__func__`."""

    field: str

    @property
    def text(self) -> str:
        return f"{self.parent.text}.{self.field}"

    def read(self, owner: Any) -> Any:
        if type(owner) is not MethodType:
            raise Unresolved(f"not a bound method: {safe_repr(owner)}")
        return owner.__self__ if self.field == "__self__" else owner.__func__
