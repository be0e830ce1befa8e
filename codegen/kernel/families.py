"""A table that families fill: a family is imported when one of its keys is asked for.

In:  the contents of the table: the names of the keys that each family enters. `scripts/contents.py` writes
     them into the module `contents` of the package.
Out: `Table`, a dict. A look-up first imports the families that have a key of this name.

    LOWERINGS.get(aten.gelu.default)    imports codegen.lower.activation, which enters `gelu`
    LOWERINGS.get(aten.mm.default)      None; nothing is imported

A name is no more than a hint where to look: keys may share one, and the key itself decides. Other releases
of torch and Python may have other names. With others than the contents were made with, the first look-up
imports all families. All of numpy has one name, and `numpy.random` has another.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import torch
from torch._ops import OpOverload

Value = TypeVar("Value")


def release() -> str:
    """The releases of torch and Python on which the names of keys depend."""
    of_torch = ".".join(torch.__version__.split(".")[:2])
    return f"torch {of_torch}, Python {sys.version_info.major}.{sys.version_info.minor}"


def name_of(key: Any) -> str:
    """The name that a key keeps for good. To find it runs no code of the program.

    A function has the name of its code: a wrapper takes over the other names of what it wraps.
    """
    kind = type(key)
    if kind in NAMES:
        name: str = NAMES[kind](key)
        return _of_numpy(name) or name
    cls = key if issubclass(kind, type) else kind
    own = f"<{_name(cls)}>" if cls is key else f"{_name(cls)}()"
    return _of_numpy(_module_of(cls)) or own


def _of_numpy(name: str) -> str:
    return next((part for part in ("numpy.random", "numpy") if f"{name}.".startswith(f"{part}.")), "")


def _module_of(cls: type) -> str:
    try:
        module = _module(cls)
    except AttributeError:  # the program has deleted it
        return ""
    return module if type(module) is str else ""


def _module_text(function: types.FunctionType) -> str:
    return function.__module__ if type(function.__module__) is str else ""  # the program may have set it


_module, _name = (type.__dict__[field].__get__ for field in ("__module__", "__name__"))
NAMES: dict[type, Any] = {
    str: str,
    OpOverload: OpOverload.name,
    types.CodeType: lambda key: key.co_qualname,
    types.FunctionType: lambda key: f"{_module_text(key)}.{key.__code__.co_qualname}",
    types.BuiltinFunctionType: lambda key: f"{key.__module__}.{key.__name__}",
    types.MethodDescriptorType: lambda key: f".{key.__name__}",
    types.WrapperDescriptorType: lambda key: f".{key.__name__}",
    types.ClassMethodDescriptorType: lambda key: f".{key.__name__}",
}


class Table(dict[Any, Value]):
    """From a key to what its families have entered. Who needs all keys asks for `all()`."""

    def __init__(self, contents: types.ModuleType, name: str) -> None:
        self.families: dict[str, list[str]] = {}
        self.fits = release() == contents.MADE_WITH
        self.is_whole = False
        for family, names in getattr(contents, name, {}).items():
            for each in names.split():
                self.families.setdefault(each, []).append(family)

    def load(self, names: Iterable[str]) -> None:
        """Import the families that have a key of one of these names."""
        if not self.fits and not self.is_whole:
            names, self.is_whole = self.families, True
        for name in names:
            for family in self.families.get(name, ()):
                importlib.import_module(family)

    def __missing__(self, key: Any) -> Value:
        self.load((name_of(key),))
        if dict.__contains__(self, key):
            return dict.__getitem__(self, key)
        raise KeyError(key)

    def __setitem__(self, key: Any, value: Value) -> None:
        """Enter a row. A key without a place in the contents is no function of a library.

        The program has put it in the place of one, before its family was imported.
        """
        if not self.fits or name_of(key) in self.families:
            dict.__setitem__(self, key, value)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The row that is there, or the new one. It imports nothing: families enter their rows with it."""
        if not dict.__contains__(self, key):
            self[key] = default
        return dict.get(self, key, default)

    def update(self, rows: Mapping[Any, Value]) -> None:  # type: ignore[override]
        for key, value in rows.items():
            self[key] = value

    def get(self, key: Any, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def whole(self, key: Any) -> Value | None:
        """The value where several families enter parts of it, as rows of a list.

        A family may have been imported for another key. Then its rows alone are there.
        """
        self.load((name_of(key),))
        return dict.get(self, key)

    def __contains__(self, key: Any) -> bool:
        return self.get(key, MISSING) is not MISSING

    def all(self) -> dict[Any, Value]:
        """The whole table, with all families imported."""
        self.load(self.families)
        return self


MISSING: Any = object()
