"""Entries of code objects. An entry is one captured version of a function, behind its guards.

In:  the result of a translation: a guard program with a code object, or a guard program with a graph and the
     recipe of the frame's result.
Out: the entry on the frame's code object, where the frame hook finds it. The entry is removed when an object
     dies that its guards know by address.

    install(f.__code__, CacheEntry(program, key, graph=kernel, result=(("out", 0),)))

    f(x)   ->   calls `kernel`, runs no bytecode

A code object owns its entries, and the garbage collector does not look into code objects. So an entry has no
strong reference to the function of the code, nor to objects that its guards name by identity. All functions
may be called from any thread and at any time, also from callbacks of weak references and from `__del__`. A
frame that runs an entry at that moment goes on with it.
"""

from __future__ import annotations

import logging
import sys
import weakref
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, Protocol

import _capture

from cache.code_table import CodeTable

log = logging.getLogger("capture.cache")


class GuardSetLike(Protocol):
    """The guards of an entry, as this module needs them."""

    def weak_objects(self) -> Sequence[Any]:
        """The objects that the guards know by address. None stands for a dead object."""
        ...


#: by code object: the entries of which an object of their guards has died, and the frames that they served
_died: CodeTable[tuple[int, int]] = CodeTable()


class CacheEntry(_capture.Entry):
    """One captured version of a code object. The constructor is that of `_capture.Entry`.

    guard_set: the guards of the program, for the text of a recompile reason. compile_time: seconds.
    number: that of the capture that made it.
    explanation: what `explain()` shows. breaks: a resume function goes on behind it. trains: its results have
    gradients. has_graph: it calls one. on_failure (of `_capture.Entry`) is called with (entry, exception,
    inputs) when the graph raised.
    """

    guard_set: GuardSetLike | None = None
    compile_time: float = 0.0
    number: int | None = None
    explanation: Any = None
    breaks: bool = False
    trains: bool = False
    has_graph: bool = True
    _watched: tuple[weakref.ref[Any], ...] = ()


def install(code: CodeType, entry: CacheEntry) -> bool:
    """Put `entry` in front of the entries of `code`. It is removed when an object dies that its guards know
    by address.

    Gives False, and installs nothing, where such an object is dead already. Raises ValueError where the code
    of the entry can not run in place of `code`, where the entry is installed already, and for the code of a
    generator.
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
    """A callback that removes the entry. It has weak references alone, because the entry owns it."""

    # local names: at shutdown the modules are cleared before the watched objects die
    remove_entry, write, is_finalizing = _capture.remove_entry, log.debug, sys.is_finalizing
    gone = _died

    def remove(_: Any) -> None:
        if is_finalizing():
            return
        code, entry = code_of(), entry_of()
        if code is not None and entry is not None:
            write("an entry of %s is removed: an object of its guards has died", code.co_qualname)
            if remove_entry(code, entry):
                count, frames = gone.get(code) or (0, 0)
                gone[code] = count + 1, frames + entry.hits

    return remove


def died(code: CodeType) -> tuple[int, int]:
    """How many entries of `code` have gone because an object of their guards has died, and how many frames
    they have served, without those that they were made for.
    """
    return _died.get(code) or (0, 0)


def forget_died() -> None:
    """Entries that are gone say nothing of the next ones."""
    _died.clear()


def served(code: CodeType) -> int:
    """How many frames all entries of `code` have served, without those that they were made for."""
    return died(code)[1] + sum(entry.hits for entry in _capture.entries(code))


def entries(code: CodeType, key: Any = None) -> list[Any]:
    """The live entries of `code`, the most recently hit entry first. With a `key` only the entries of that
    key.
    """
    return [entry for entry in _capture.entries(code) if key is None or entry.key is key]


def remove_entries_of(key: Any) -> None:
    """Remove all entries of a key that no frame will have again."""
    for code in _capture.all_codes():
        for entry in entries(code, key):
            _capture.remove_entry(code, entry)


def has_captured(code: CodeType) -> bool:
    """Whether a live entry of `code` runs something in place of the frame."""
    return any(entry.code is not None or entry.graph is not None for entry in _capture.entries(code))


def recompiles(code: CodeType) -> int:
    """How often `code` was captured again since the last reset. Entries that are gone count too."""
    return max(0, _capture.added_entries(code) - 1)


def limit_reached(code: CodeType, key: Any, limit: int, accumulated_limit: int | None = None) -> bool:
    """Whether no more entries may be made. `limit` counts the live entries of `key`. `accumulated_limit`
    counts all entries that `code` has had since the last reset.
    """
    if accumulated_limit is not None and _capture.added_entries(code) >= accumulated_limit:
        return True
    return len(entries(code, key)) >= limit


def stop_capturing(code: CodeType, key: Any) -> None:
    """Run the frames of `code` that fit no entry of `key` eagerly, without the callback, until the next
    reset.
    """
    log.debug("%s is not captured again until the next reset", code.co_qualname)
    _capture.add_entry(code, CacheEntry(None, key))


def reset() -> None:
    """Forget all entries and skip marks of all code objects. Frames that run an entry go on with it."""
    for code in _capture.all_codes():
        _capture.clear_entries(code)
        _capture.unskip_code(code)
    forget_died()
