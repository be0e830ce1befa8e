"""Attribute look-up on types, with the rules of Python.

In:  a class and a name; for binding, also the variable of the object.
Out: the raw entry of the MRO, or the variable of the entry after binding (method, property, descriptor).
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

from capture.report.break_reasons import GraphBreak
from capture.variables.core.granted import granted
from capture.variables.core.makers import constant, make
from capture.variables.core.wrap import wrap, wrap_class
from guards.properties.tensor_methods import PRISTINE
from guards.sources import AttrSource, ConstantSource, TypeAttrSource

if TYPE_CHECKING:
    from capture.variables.core.base import Variable
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source


MISSING: Any = object()


#: name -> classes for which the frame set an attribute of this name; the real classes do not have it yet
_pending: dict[str, set[type]] = {}


def note_pending(cls: type, name: str) -> None:
    if name in PRISTINE.get(cls, ()):  # it may change the meaning of every operation on tensors
        raise GraphBreak("mutation", value=f"attribute {name} of class {cls.__name__}")
    _pending.setdefault(name, set()).add(cls)


def forget_pending() -> None:
    _pending.clear()


def lookup_type(cls: type, name: str) -> Any:
    """The raw entry of the MRO, or MISSING. Runs no user code.

    An entry that the frame itself has changed breaks the graph: it is known only after the break.
    """
    granted().classes[id(cls)] = cls
    pending = _pending.get(name, ())
    for base in type.__dict__["__mro__"].__get__(cls):
        if base in pending:
            raise GraphBreak("mutation", value=f"attribute {name} of class {base.__name__}, read after it,")
        namespace = type.__dict__["__dict__"].__get__(base)
        if name in namespace:
            return namespace[name]
    return MISSING


#: an entry of a class whose own class has one of them goes before an entry of the instance
SETTERS = ("__set__", "__delete__")


def is_data_descriptor(value: Any) -> bool:
    return value is not MISSING and any(lookup_type(type(value), name) is not MISSING for name in SETTERS)


@functools.cache
def plain_setattr() -> frozenset[Any]:
    namespace = types.SimpleNamespace
    return frozenset({object.__setattr__, object.__delattr__, namespace.__setattr__, namespace.__delattr__})


NATIVE_MODULES = frozenset(("builtins", "collections", "functools", "types"))


def reads_attributes_plainly(reader: Any) -> bool:
    """Whether a `__getattribute__` comes from `object`, or from a built-in base that does the same.

    Other C types keep attributes in their own way.
    """
    if reader is object.__getattribute__:
        return True
    return (
        isinstance(reader, types.WrapperDescriptorType)
        and reader.__objclass__.__module__ in NATIVE_MODULES
        and reader.__objclass__ not in (type, super, types.ModuleType)
    )


def class_value(
    tx: Interpreter, owner: Variable, value: Any, name: str, field: str | None = None
) -> Variable:
    """The variable of a raw value that the class of `owner` holds under `name`, with its source.

    `field` says that the value is a field of the entry, such as the `fget` of a property.
    """
    source: Source | None = None
    class_source = tx.output.guarding.class_source(owner)
    if class_source is not None:
        source = TypeAttrSource(class_source, name)
        if field is not None:
            source = AttrSource(source, field)
    elif isinstance(value, (*FUNCTIONS, type)):
        source = ConstantSource(value)
    return wrap(tx.output, value, source)


def class_attribute(tx: Interpreter, owner: Variable, cls: type, name: str) -> Variable | None:
    """`owner.name` for a name on the type, bound as Python binds it. None if the class does not have it."""
    found = lookup_type(cls, name)
    if found is MISSING:
        return None
    return bind(tx, owner, cls, found, name)


#: what is a method of an instance
FUNCTIONS = (types.FunctionType, functools._lru_cache_wrapper)


def bind(tx: Interpreter, owner: Variable, cls: type, found: Any, name: str) -> Variable:
    if isinstance(found, FUNCTIONS):
        return make(types.MethodType, class_value(tx, owner, found, name), owner)
    if isinstance(found, staticmethod):
        return class_value(tx, owner, found.__func__, name, "__func__")
    if name == "__new__" and isinstance(found, types.BuiltinFunctionType):
        return wrap_class(tx.output, cls).get_attr(tx, name)
    if isinstance(found, classmethod):
        if not isinstance(found.__func__, types.FunctionType):
            raise GraphBreak(
                "property", name=name, value=owner
            )  # Python calls the `__get__` of the wrapped object
        function = class_value(tx, owner, found.__func__, name, "__func__")
        return make(types.MethodType, function, wrap_class(tx.output, cls))
    if isinstance(found, property) and found.fget is not None:
        return class_value(tx, owner, found.fget, name, "fget").call(tx, [owner], {})
    if isinstance(found, functools.cached_property):
        value = class_value(tx, owner, found.func, name, "func").call(tx, [owner], {})
        tx.output.side_effects.store_attr(owner, name, value)
        return value
    if isinstance(
        found, (types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType)
    ):
        tx.output.guarding.class_entry(owner, cls, name)
        return make(types.MethodDescriptorType, owner, found, name)
    if lookup_type(type(found), "__get__") is not MISSING and not isinstance(
        found, (type, types.BuiltinFunctionType)
    ):
        return call_descriptor(tx, owner, cls, found, name)
    return class_value(tx, owner, found, name)


def call_descriptor(tx: Interpreter, owner: Variable, cls: type, found: Any, name: str) -> Variable:
    """`type(found).__get__(found, owner, cls)` for a `__get__` written in Python.

    If the owner is the class itself, the call is `__get__(found, None, cls)`.
    """
    getter = lookup_type(type(found), "__get__")
    if not isinstance(getter, types.FunctionType):
        raise GraphBreak("property", name=name, value=owner)
    descriptor = class_value(tx, owner, found, name)
    for method in SETTERS:
        if lookup_type(type(found), method) is not MISSING:  # without it, the entry of an instance goes first
            tx.output.guarding.class_entry(descriptor, type(found), method)
            break
    instance = constant(None) if owner.python_type() is not cls else owner
    return class_value(tx, descriptor, getter, "__get__").call(
        tx, [descriptor, instance, wrap_class(tx.output, cls)], {}
    )
