"""Finds the function of a frame, for a hook that sees only frames.

In:  a Python frame at its call.
Out: the function object whose code the frame runs, or None if several functions are possible.

    frame of Net.forward   ->   f_globals["Net"].__dict__["forward"]

The cheap places come first: the qualified name, then the class of the first argument. The last place is every
object that refers to the code.
"""

from __future__ import annotations

import functools
import gc
import types
from collections.abc import Callable, Iterator
from typing import Any


def find(frame: types.FrameType) -> types.FunctionType | None:
    """The function of `frame`. Closures of the same code object differ in the contents of their cells."""
    for look in _PLACES:
        candidates = {id(f): f for f in look(frame) if f.__code__ is frame.f_code and _cells_fit(f, frame)}
        if len(candidates) == 1:
            return candidates.popitem()[1]
        if candidates:
            return None
    return None


def _cells_fit(function: types.FunctionType, frame: types.FrameType) -> bool:
    if not function.__code__.co_freevars:
        return True
    values = frame.f_locals
    missing = object()
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            contents = cell.cell_contents
        except ValueError:  # an empty cell
            contents = missing
        if values.get(name, missing) is not contents:
            return False
    return True


def _plain_functions(value: Any) -> Iterator[types.FunctionType]:
    """The functions inside a method, a wrapper or a property."""
    for part in (value, *(_attribute(value, name) for name in ("__func__", "__wrapped__", "fget", "fset"))):
        if isinstance(part, types.FunctionType):
            yield part


def _attribute(value: Any, name: str) -> Any:
    known = isinstance(
        value,
        types.MethodType | staticmethod | classmethod | property | types.FunctionType | functools.partial,
    )
    return getattr(value, name, None) if known else None


def _by_name(frame: types.FrameType) -> Iterator[types.FunctionType]:
    first, *rest = frame.f_code.co_qualname.split(".")
    value = frame.f_globals.get(first)
    for name in rest:
        value = vars(value).get(name) if isinstance(value, type) else None
    yield from _plain_functions(value)


def _by_class(frame: types.FrameType) -> Iterator[types.FunctionType]:
    code = frame.f_code
    if code.co_argcount:
        owner = frame.f_locals.get(code.co_varnames[0])
        for cls in (owner if isinstance(owner, type) else type(owner)).__mro__:
            yield from _plain_functions(cls.__dict__.get(code.co_name))


def _by_reference(frame: types.FrameType) -> Iterator[types.FunctionType]:
    for holder in gc.get_referrers(frame.f_code):
        if isinstance(holder, types.FunctionType):
            yield holder


_PLACES: tuple[Callable[[types.FrameType], Iterator[types.FunctionType]], ...] = (
    _by_name,
    _by_class,
    _by_reference,
)
