"""Look-ups that never run user code. `Source.resolve` and the guards' checks in Python are built on them.

In:  any object, and a name, an index or a field.
Out: the raw value as it is stored, or `Unresolved`. A function of a class is not bound, and a property is not
     called.

    raw_attribute(linear, "weight")   ->  linear._parameters["weight"]
    raw_attribute(linear, "forward")  ->  the plain function Linear.forward
"""

from __future__ import annotations

import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Any

import torch

_TYPE_MRO = type.__dict__["__mro__"]
_TYPE_DICT = type.__dict__["__dict__"]
_MISSING: Any = object()

MODULE_DICTS = ("_parameters", "_buffers", "_modules")  # where nn.Module.__getattr__ looks, in this order


class Unresolved(LookupError):
    """The source leads nowhere in this frame: the local is unbound, the attribute is deleted, the index is
    past the end, or the reference is dead.
    """


class Undecided(Unresolved):
    """Only user code can tell whether the place exists: a property, `__getattr__` or `__getattribute__`.
    There is no guard for such a place.
    """


def type_mro(cls: type) -> tuple[type, ...]:
    """`cls.__mro__` as the type stores it."""
    mro: tuple[type, ...] = _TYPE_MRO.__get__(cls)
    return mro


def type_lookup(cls: type, name: str, default: Any = _MISSING) -> Any:
    """The raw entry of the first class in the MRO that has `name`."""
    for klass in type_mro(cls):
        namespace = _TYPE_DICT.__get__(klass)
        if name in namespace:
            return namespace[name]
    return default


def instance_dict(obj: Any) -> dict[str, Any] | None:
    """The `__dict__` of the object itself, or None."""
    for klass in type_mro(type(obj)):
        descriptor = _TYPE_DICT.__get__(klass).get("__dict__")
        if type(descriptor) in (GetSetDescriptorType, MemberDescriptorType):
            found = descriptor.__get__(obj, type(obj))
            return found if isinstance(found, dict) else None
    return None


def is_data_descriptor(value: Any) -> bool:
    return (
        type_lookup(type(value), "__set__") is not _MISSING
        or type_lookup(type(value), "__delete__") is not _MISSING
    )


def dict_get(mapping: Any, key: Any) -> Any:
    """`mapping[key]` of the dict itself, past `__getitem__` and `__missing__` of a subclass. Keys match by
    identity or as constants.
    """
    if not isinstance(mapping, dict):
        raise Unresolved(f"not a dict: {type(mapping).__name__}")
    for candidate, value in dict_items(mapping):
        if candidate is key or constants_equal_as_keys(candidate, key):
            return value
    raise Unresolved(f"no key {safe_repr(key)}")


def dict_items(mapping: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """The items in iteration order, past the methods of a subclass."""
    if isinstance(mapping, OrderedDict):
        return iter(OrderedDict.items(mapping))
    return iter(dict.items(mapping))


def set_elements(value: set[Any] | frozenset[Any]) -> list[Any]:
    """The elements in iteration order, past the methods of a subclass."""
    kind: Any = set if isinstance_raw(value, set) else frozenset
    return list(kind.__iter__(value))


_KEY_TYPES = (str, bytes, int, float, bool, complex)


def constants_equal_as_keys(a: Any, b: Any) -> bool:
    """Equality of dict keys (1 == True == 1.0), for built-in scalars and tuples of them. Other keys are never
    equal.
    """
    if type(a) is tuple and type(b) is tuple:
        return len(a) == len(b) and all(x is y or constants_equal_as_keys(x, y) for x, y in zip(a, b))
    return type(a) in _KEY_TYPES and type(b) in _KEY_TYPES and bool(a == b)


def raw_attribute(obj: Any, name: str) -> Any:
    """The attribute, looked up in Python's order without a call of a descriptor.

    The order: a slot or another member of a C type; the instance dict (for a class its own MRO); the raw
    entry of the type; `_parameters`, `_buffers`, `_modules` of an nn.Module. Raises Undecided where only user
    code can tell, and Unresolved where there is no such attribute.
    """
    if isinstance_raw(type_lookup(type(obj), "__getattribute__"), FunctionType):
        raise Undecided(f"{type(obj).__name__} has its own __getattribute__")
    try:
        return _find_attribute(obj, name)
    except Undecided:
        raise
    except Unresolved:
        if _has_own_getattr(obj):
            raise Undecided(f"{type(obj).__name__}.__getattr__ decides about {name!r}") from None
        raise


def _has_own_getattr(obj: Any) -> bool:
    """Whether the class or the Python module has a `__getattr__` other than that of nn.Module."""
    if isinstance_raw(obj, ModuleType):
        return "__getattr__" in (instance_dict(obj) or {})
    found = type_lookup(type(obj), "__getattr__", None)
    return found is not None and found is not torch.nn.Module.__dict__["__getattr__"]


def _find_attribute(obj: Any, name: str) -> Any:
    from_type = type_lookup(type(obj), name)
    if from_type is not _MISSING:
        if type(from_type) is MemberDescriptorType:
            return _read_member(from_type, obj, name)
        if is_data_descriptor(from_type):
            raise Undecided(f"{type(obj).__name__}.{name} is computed by a {type(from_type).__name__}")
    found = _own_attribute(obj, name)
    if found is not _MISSING:
        return found
    if from_type is not _MISSING:
        return from_type
    return _module_attribute(obj, name)


def _read_member(descriptor: MemberDescriptorType, obj: Any, name: str) -> Any:
    try:
        return descriptor.__get__(obj, type(obj))
    except AttributeError:
        raise Unresolved(f"slot {name!r} of {type(obj).__name__} is empty") from None


def _own_attribute(obj: Any, name: str) -> Any:
    if isinstance_raw(obj, type):
        return type_lookup(obj, name)
    namespace = instance_dict(obj)
    return _MISSING if namespace is None else namespace.get(name, _MISSING)


def _module_attribute(obj: Any, name: str) -> Any:
    namespace = instance_dict(obj) if is_nn_module(obj) else None
    for table_name in MODULE_DICTS if namespace is not None else ():
        table = namespace.get(table_name) if namespace is not None else None
        if isinstance(table, dict) and name in table:
            return dict.__getitem__(table, name)
    raise Unresolved(f"{type(obj).__name__} has no attribute {name!r}")


def isinstance_raw(obj: Any, cls: type) -> bool:
    """isinstance by the real type. (`__class__` and `__instancecheck__` do not count.)"""
    return cls in type_mro(type(obj))


def is_nn_module(obj: Any) -> bool:
    return isinstance_raw(obj, torch.nn.Module)


def has_attribute(obj: Any, name: str) -> bool:
    """What hasattr gives, without user code. Raises Undecided."""
    try:
        raw_attribute(obj, name)
    except Undecided:
        raise
    except Unresolved:
        return False
    return True


def function_field(fn: Any, field: str) -> Any:
    """A field of a plain function. A missing field is None, as in Python."""
    if not isinstance_raw(fn, FunctionType):
        raise Unresolved(f"not a plain function: {type(fn).__name__}")
    return getattr(fn, field)


def safe_repr(value: Any, limit: int = 80) -> str:
    """The value as a reader knows it, without addresses. It runs no user code. Built-in scalars are shown as
    they are, containers by type and length, other objects by name or type.
    """
    if type(value) is int and value.bit_length() > 64:
        text = f"{value:#x}"  # has no limit of digits
    elif type(value) in (*_KEY_TYPES, type(None), torch.dtype, torch.device, torch.layout, torch.Size):
        text = repr(value)
    elif isinstance_raw(value, type):
        text = type.__repr__(value)
    elif type(value) is tuple and len(value) <= 8:
        text = "(" + ", ".join(safe_repr(item) for item in value) + ("," if len(value) == 1 else "") + ")"
    elif type(value) is dict and (module := _module_of(value)) is not None:
        text = f"the globals of {module}"
    elif (length := stored_length(value)) is not None:
        text = f"{type(value).__name__} of length {length}"
    else:
        named = next((text(value) for kind, text in _NAMED if isinstance_raw(value, kind)), None)
        text = f"a {type(value).__name__}" if named is None else named
    return text if len(text) <= limit else text[: limit - 3] + "..."


_MODULE_DICT: Any = vars(ModuleType)["__dict__"]


def _module_of(namespace: dict[Any, Any]) -> str | None:
    """The name of the module that a dict is the namespace of. It is the first thing that a module has."""
    key, name = next(iter(namespace.items()), (None, None))
    if type(key) is not str or key != "__name__" or type(name) is not str:
        return None
    module = sys.modules.get(name)
    return name if isinstance_raw(module, ModuleType) and _MODULE_DICT.__get__(module) is namespace else None


#: objects that have a name
_NAMED: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (FunctionType, lambda value: f"function {value.__qualname__}"),
    (BuiltinFunctionType, lambda value: f"built-in function {value.__name__}"),
    (CodeType, lambda value: f"the code of {value.co_qualname}"),
    (ModuleType, lambda value: f"module {_MODULE_DICT.__get__(value).get('__name__', '')}"),
)

_LENGTHS: tuple[tuple[type, Callable[[Any], int]], ...] = (
    (list, list.__len__),
    (tuple, tuple.__len__),
    (dict, dict.__len__),
    (set, set.__len__),
    (frozenset, frozenset.__len__),
    (str, str.__len__),
    (bytes, bytes.__len__),
    (deque, deque.__len__),
    (range, range.__len__),
)


def stored_length(value: Any) -> int | None:
    """The length of a built-in container, past the methods of a subclass. None for other objects."""
    return next((length(value) for kind, length in _LENGTHS if isinstance_raw(value, kind)), None)
