"""What code and classes are, as digests: the same in each process.

In:  a code object or a class.
Out: `code_digest`: what the code does, without the places in its file. `lines_digest`: these places.
     `class_digest`: what a class and its bases hold.

    def f(x): return x + 1    ->    code_digest(f.__code__) == "5e1c..."
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import hashlib
from types import CodeType, FunctionType
from typing import Any

from capture.bytecode.by_code import cached
from capture.stored.places import class_name, file_as_data, is_covered
from guards.plain_values import NotPlain
from guards.values import is_constant

_NAMESPACE: Any = type.__dict__["__dict__"]
_MRO: Any = type.__dict__["__mro__"]

#: fields of a code object that decide what it does; the constants are looked into
_FIELDS = (
    "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_stacksize", "co_name",
    "co_qualname", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_code", "co_exceptiontable",
)  # fmt: skip


def digest(*parts: Any) -> str:
    """A digest of texts, bytes and what has a `repr` that says all."""
    pieces: list[bytes] = []
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode("utf-8", "surrogatepass")
        pieces += (b"%d:" % len(data), data)
    return hashlib.sha256(b"".join(pieces)).hexdigest()[:32]


@cached(maxsize=8192)
def code_digest(code: CodeType) -> str:
    """Raises NotPlain for code that holds objects of this process."""
    return digest(*[getattr(code, name) for name in _FIELDS], *map(_constant, code.co_consts))


@cached(maxsize=8192)
def lines_digest(code: CodeType) -> str:
    """The file and the lines of the code and of the functions inside."""
    inner = [lines_digest(const) for const in code.co_consts if isinstance(const, CodeType)]
    return digest(file_as_data(code.co_filename), code.co_firstlineno, code.co_linetable, *inner)


def _constant(value: Any) -> Any:
    """A constant with its type: 1, True and 1.0 differ."""
    kind = type(value)
    if kind is CodeType:
        return code_digest(value)
    if kind is tuple:
        return "tuple", *map(_constant, value)
    if kind is frozenset:
        return "frozenset", *sorted(map(repr, map(_constant, value)))
    if not is_constant(value):
        raise NotPlain("code that holds objects")
    return kind.__name__, repr(value)


# --- classes ----------------------------------------------------------------------------------------------

#: entries of a class that say nothing of its objects, or that Python writes on demand
_NEUTRAL = frozenset(
    ("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__firstlineno__")
    + ("_abc_impl", "__abstractmethods__", "__slotnames__", "__annotations__")
)
_DEEPEST = 4  # of containers that a class holds


def class_digest(cls: type) -> str:
    """The bases of the class with the contents of those that no version covers."""
    return digest(cls.__flags__ & ~_CHANGING, *map(_contents, (*_MRO.__get__(cls), type(cls))))


_CHANGING = 1 << 19 | 1 << 20  # Py_TPFLAGS_VALID_VERSION_TAG, Py_TPFLAGS_IS_ABSTRACT


def descriptor_digest(value: Any) -> str:
    """What a descriptor of a class does."""
    return digest(_held(value, 0))


def defaults_digest(function: FunctionType) -> str:
    return digest(_held(function.__defaults__, 0), _held(function.__kwdefaults__, 0))


def _contents(cls: type) -> Any:
    name = class_name(cls)
    if is_covered(cls):
        return name
    entries = _NAMESPACE.__get__(cls).items()
    return name, *[(key, _held(value, 0)) for key, value in entries if key not in _NEUTRAL]


def _held(value: Any, depth: int) -> Any:
    """What is known of an object that a class holds. Runs no code of the program."""
    kind = type(value)
    if depth > _DEEPEST:
        return "..."
    if kind is FunctionType:
        defaults = (value.__defaults__, value.__kwdefaults__)
        return code_digest(value.__code__), _held(defaults, depth + 1), value.__qualname__
    if kind in (set, frozenset):
        return kind.__name__, *sorted(repr(_held(item, depth + 1)) for item in value)
    inner = _PARTS.get(kind)
    if inner is not None:
        return kind.__name__, *[_held(part, depth + 1) for part in inner(value)]
    if issubclass(kind, type):
        return class_name(value)
    if issubclass(kind, enum.Enum):
        return class_name(kind), value.__dict__.get("_name_"), _held(value.__dict__.get("_value_"), depth + 1)
    return (kind.__name__, repr(value)) if is_constant(value) else class_name(kind)


#: types whose objects are looked into -> their parts
_PARTS: dict[type, Any] = {
    staticmethod: lambda v: (v.__func__,),
    classmethod: lambda v: (v.__func__,),
    property: lambda v: (v.fget, v.fset, v.fdel),
    functools.cached_property: lambda v: (v.func,),
    tuple: tuple,
    list: tuple,
    dict: lambda v: tuple(v.items()),
    collections._tuplegetter: lambda v: v.__reduce__()[1],  # type: ignore[attr-defined]
    dataclasses.Field: lambda v: (v.name, v.default, v.default_factory, v.init, v.kw_only),
}
