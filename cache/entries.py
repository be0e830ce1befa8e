"""Entries of code objects, as Python sees them: one captured version of a function behind its guards.

In:  what translation made for one frame: a guard program, and a graph with a result recipe, or a code object.
Out: the entry on the frame's code object, where the frame hook finds it; gone again when an object dies that
     its guards know by address.

    install(f.__code__, CacheEntry(program, key, graph=kernel, result=(("out", 0),)))     ->     f(x) calls
        `kernel`, runs no bytecode

A code object owns its entries, and the garbage collector does not see into code objects: an entry must not
refer strongly to the function that has the code, nor to what its guards name by identity. All functions may
be called from any thread and at any time, also from weak reference callbacks and `__del__`; a frame that runs
an entry meanwhile goes on with it.
"""

from __future__ import annotations

import logging
import sys
import weakref
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, Protocol

import _capture

log = logging.getLogger("capture.cache")


class GuardSetLike(Protocol):
    """What is asked of the guards that an entry carries for its explanations."""

    def weak_objects(self) -> Sequence[Any]:
        """Objects that the guards know by address; None stands for one that is dead."""
        ...


class CacheEntry(_capture.Entry):
    """One captured version of a code object. The constructor is that of `_capture.Entry`; the fields here are
    filled by whoever captures.

    guard_set: the guards that the program was made from, for the text of a recompile reason. compile_time:
    seconds. explanation: what
    `explain()` shows. on_failure (of `_capture.Entry`): called with (entry, exception) when the graph raised.
    """

    guard_set: GuardSetLike | None = None
    compile_time: float = 0.0
    explanation: Any = None
    _watched: tuple[weakref.ref[Any], ...] = ()


def install(code: CodeType, entry: CacheEntry) -> bool:
    """Put `entry` in front of the entries of `code`. It is removed when one of the objects dies that its
    guards know by address.

    False, and nothing installed, where one of them is dead already. Raises ValueError for an entry whose code
    can't run in place of `code`, one that is installed there already, and generator code.
    """
    objects = entry.guard_set.weak_objects() if entry.guard_set is not None else ()
    if any(obj is None for obj in objects):
        return False
    on_death = _remover(weakref.ref(code), weakref.ref(entry))
    entry._watched += tuple(weakref.ref(obj, on_death) for obj in objects)
    _capture.add_entry(code, entry)
    log.debug("%s has a new entry, its number %d", code.co_qualname, _capture.added_entries(code))
    return True


def _remover(code_of: weakref.ref[CodeType], entry_of: weakref.ref[CacheEntry]) -> Callable[[Any], None]:
    """Weak on both sides: the entry holds the references that hold this function."""

    # held: at shutdown the modules are cleared before the objects that are watched
    remove_entry, write, is_finalizing = _capture.remove_entry, log.debug, sys.is_finalizing

    def remove(_: Any) -> None:
        if is_finalizing():
            return
        code, entry = code_of(), entry_of()
        if code is not None and entry is not None:
            write("an entry of %s ends with an object that it was made for", code.co_qualname)
            remove_entry(code, entry)

    return remove


def entries(code: CodeType, key: Any = None) -> list[Any]:
    """The live entries of `code`, most recently hit first; only those of `key` where one is given."""
    return [entry for entry in _capture.entries(code) if key is None or entry.key is key]


def has_captured(code: CodeType) -> bool:
    """Does one of its live entries run something in place of the frame?"""
    return any(entry.code is not None or entry.graph is not None for entry in _capture.entries(code))


def recompiles(code: CodeType) -> int:
    """How often `code` was captured again since the last reset, whether or not those entries still live."""
    return max(0, _capture.added_entries(code) - 1)


def limit_reached(code: CodeType, key: Any, limit: int, accumulated_limit: int | None = None) -> bool:
    """May no more entries be made? `limit` counts live entries of `key`, `accumulated_limit` all that `code`
    ever had since the last reset.
    """
    if accumulated_limit is not None and _capture.added_entries(code) >= accumulated_limit:
        return True
    return len(entries(code, key)) >= limit


def stop_capturing(code: CodeType, key: Any) -> None:
    """From now on frames of `code` that fit none of its entries of `key` run eagerly and the callback is not
    asked, until the next reset.
    """
    log.debug("%s is captured no more until the next reset", code.co_qualname)
    _capture.add_entry(code, CacheEntry(None, key))


def reset() -> None:
    """Forget every entry and skip mark of every code object. Frames that are running an entry go on with it."""
    for code in _capture.all_codes():
        _capture.clear_entries(code)
        _capture.unskip_code(code)
