"""Calls that run later, through frames with the names and lines of the program's.

In:  the places of a call and of its callers, outermost first, each with the globals of its function.
Out: a function of the callable and its arguments. It calls the callable in the innermost of these frames.

    def log(x): print(x)       ->     File "...", line 1, in log
                                        def log(x): print(x)
                                                    ^^^^^^^^

A warning or a log record has the line of its caller, and the traceback of an error has all of them.
"""

from __future__ import annotations

import types
import weakref
from typing import Any, NamedTuple

import _capture

from capture.bytecode import library
from capture.bytecode.dialects import Assembler
from capture.bytecode.emit import bytecode_like, release_constants
from capture.bytecode.line_places import cut_far_places
from capture.graph.program_places import Place

OPTIMIZED_NEWLOCALS = 0x1 | 0x2
FUNCTION = "function"


def location_of(place: Place) -> library.InstrLocation:
    first, last, start, end = place.positions
    return (
        library.InstrLocation(place.line, None, None, None)
        if first is None
        else library.InstrLocation(first, last, start, end)
    )


class Caller(NamedTuple):
    """What `caller_at` was asked for."""

    places: list[tuple[Place, dict[str, Any]]]
    arguments: int
    keywords: tuple[str, ...]


_callers: weakref.WeakKeyDictionary[types.FunctionType, Caller] = weakref.WeakKeyDictionary()


def made_for(function: types.FunctionType) -> Caller | None:
    """None where `caller_at` has not made the function."""
    return _callers.get(function)


def caller_at(
    places: list[tuple[Place, dict[str, Any]]], count: int, keywords: tuple[str, ...]
) -> types.FunctionType | None:
    """The function for `count` arguments, of which the last have these names. None without places."""
    result: types.FunctionType | None = None
    for place, namespace in reversed(places):
        result = _frame_at(place, namespace, result, count, keywords)
    if result is not None:
        _callers[result] = Caller(places, count, keywords)
    return result


def _frame_at(
    place: Place,
    namespace: dict[str, Any],
    inner: types.FunctionType | None,
    count: int,
    keywords: tuple[str, ...],
) -> types.FunctionType:
    names = [FUNCTION, *(f"argument_{index}" for index in range(count))]
    code = Assembler(location_of(place))
    code.begin()
    if inner is not None:
        code.load_callable(inner)
        code.load_local(FUNCTION)
    else:
        code.push_null()
        code.load_local(FUNCTION)
    for name in names[1:]:
        code.load_local(name)
    code.call(count + (inner is not None), keywords if inner is None else ())
    code.return_value()
    original: Any = place
    result = bytecode_like(original, code.instructions, names, OPTIMIZED_NEWLOCALS)
    cut_far_places(result)
    made = release_constants(result.to_code())
    _capture.skip_code(made)
    return types.FunctionType(made, namespace, place.co_name)
