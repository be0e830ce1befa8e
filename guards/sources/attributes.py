"""Sources of attributes and fields: of instances, classes, Python modules, functions and bound methods.

In:  the source of the object, and the name.
Out: a source.

    self.linear.weight   ->   AttrSource(AttrSource(LocalSource("self"), "linear"), "weight")
"""

from __future__ import annotations

import ctypes
import itertools
from types import (
    BuiltinMethodType,
    ClassMethodDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from capture_records import dataclass
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
    """An attribute, as `guards.lookup.raw_attribute` finds it. The raw entry of a class is not bound: a
    method is the plain function.

    It may also be a slot, a field of a dataclass, an attribute of a class, or a member of a built-in type
    (`slice.start`, `range.stop`, `partial.func`, `method.__self__`).
    """

    name: str

    @property
    def text(self) -> str:
        return f"{self.parent.text}.{self.name}"

    def read(self, owner: Any) -> Any:
        return raw_attribute(owner, self.name)


@dataclass(frozen=True, eq=False)
class TypeAttrSource(DerivedSource):
    """The raw entry in the MRO of a class. With `after` only the part of the MRO behind that class counts, as
    for `super(after, obj).name`.
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
    """A name in the dict of a Python module, past `__getattr__` of the module. The module has the plain
    module class, because another class may look elsewhere.
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
    """The type of the value. (`__class__` may say something else.)"""

    @property
    def text(self) -> str:
        return f"type({self.parent.text})"

    def read(self, owner: Any) -> Any:
        return type(owner)


@dataclass(frozen=True, eq=False)
class MroItemSource(DerivedSource):
    """An item of the MRO of a class."""

    index: int

    @property
    def text(self) -> str:
        return f"{self.parent.text}.__mro__[{self.index}]"

    def read(self, owner: Any) -> Any:
        if not isinstance_raw(owner, type) or self.index >= len(type_mro(owner)):
            raise Unresolved(f"no class {self.index} in the MRO of {safe_repr(owner)}")
        return type_mro(owner)[self.index]


FUNCTION_FIELDS = (  # in the order of FUNCTION_FIELDS in native/guards/guard_loads.c
    "__code__", "__defaults__", "__kwdefaults__", "__closure__", "__globals__", "__name__", "__qualname__",
    "__doc__", "__module__", "__annotations__",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class FunctionFieldSource(DerivedSource):
    """A field of a plain function, one of `FUNCTION_FIELDS`. A missing field is None; a read makes the
    annotations.
    """

    field: str

    @property
    def text(self) -> str:
        return f"{self.parent.text}.{self.field}"

    def read(self, owner: Any) -> Any:
        return function_field(owner, self.field)


CLASS_NAMES = ("__name__", "__qualname__")


@dataclass(frozen=True, eq=False)
class ClassNameSource(DerivedSource):
    """`__name__` or `__qualname__` of a class written in Python, past properties of the metaclass."""

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
    """The contents of a cell."""

    @property
    def text(self) -> str:
        return f"{self.parent.text}.cell_contents"

    def read(self, owner: Any) -> Any:
        return cell_contents(owner)


@dataclass(frozen=True, eq=False)
class BuiltinSelfSource(DerivedSource):
    """The object of a method of a built-in object, such as `[].append`. `descriptor` says which method it is
    (`descriptor_of`).
    """

    descriptor: ObjectRef

    @property
    def text(self) -> str:
        return f"{self.parent.text}.__self__"

    def read(self, owner: Any) -> Any:
        descriptor = descriptor_of(owner)
        if descriptor is None or not self.descriptor.is_same(descriptor):
            raise Unresolved(f"another method: {safe_repr(owner)}")
        return owner.__self__


def descriptor_of(method: Any) -> Any:
    """`list.append` of `[].append`, and the same for methods of other built-in objects; else None.

    A method and its descriptor have the same C struct, a `PyMethodDef`.
    """
    if type(method) is not BuiltinMethodType:
        return None
    owner: Any = method.__self__
    for cls in (owner, type(owner)) if isinstance_raw(owner, type) else (type(owner),):
        found = type_lookup(cls, method.__name__)
        if type(found) in _DEFINITION_AT and _definition_in(found) == _definition_in(method):
            return found
    return None


_POINTER = ctypes.sizeof(ctypes.c_void_p)
#: where an object has the address of that struct: behind its head, or behind its class and two names
_DEFINITION_AT = {
    BuiltinMethodType: object.__basicsize__,
    MethodDescriptorType: object.__basicsize__ + 3 * _POINTER,
    ClassMethodDescriptorType: object.__basicsize__ + 3 * _POINTER,
}


def _definition_in(method: Any) -> int | None:
    return ctypes.c_void_p.from_address(id(method) + _DEFINITION_AT[type(method)]).value


@dataclass(frozen=True, eq=False)
class MethodFieldSource(DerivedSource):
    """`__self__` or `__func__` of a bound method."""

    field: str

    @property
    def text(self) -> str:
        return f"{self.parent.text}.{self.field}"

    def read(self, owner: Any) -> Any:
        if type(owner) is not MethodType:
            raise Unresolved(f"not a bound method: {safe_repr(owner)}")
        return owner.__self__ if self.field == "__self__" else owner.__func__
