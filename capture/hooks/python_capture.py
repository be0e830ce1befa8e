"""The twin of the extension `_capture` where it is not built: entries and marks of code objects, for the
settrace hook.

In:  the calls that `capture`, `guards` and `cache` make of `_capture`.
Out: the same effects, by dictionaries. There is no evaluator hook, no native guard program and no compiled
     graph: who needs one of these asks whether the name is there (`hasattr(_capture, "GuardProgram")`).

    add_entry(f.__code__, entry)   ->   entries(f.__code__) == [entry]
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from typing import Any


class NullType:
    """Type of `NULL`, which stands for an unbound local variable."""

    def __repr__(self) -> str:
        return "_capture.NULL"

    def __reduce__(self) -> str:
        return "NULL"


NULL = NullType()


class Continuation:
    """Returned by the code of a broken frame: go on with fn(*args)."""

    __slots__ = ("args", "fn")

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.fn = fn
        self.args = args


class Entry:
    """As `_capture.Entry`; `guards` has a `check` like that of a guard program, or is None."""

    def __init__(
        self,
        guards: Any,
        key: Any,
        *,
        code: Any = None,
        graph: Any = None,
        result: Any = None,
        inputs: int | None = None,
        unhooked: bool = False,
        sampled: bool = False,
    ) -> None:
        if (graph is None) != (result is None) or (code is not None and graph is not None):
            raise ValueError("Entry: give code, or graph and result")
        self.guards = guards
        self.key = key
        self.code = code
        self.graph = graph
        self.result = result
        self.inputs = inputs if inputs is not None else guards.nslots if guards is not None else 0
        self.unhooked = unhooked
        self.sampled = sampled  # only a hint
        self.on_failure: Any = None
        self.hits = 0


class _CodeState:
    """What is known of one code object, found by its address as long as it lives."""

    def __init__(self, code: types.CodeType) -> None:
        number = id(code)
        self.code = weakref.ref(code, lambda _: _states.pop(number, None))
        self.entries: list[Any] = []
        self.added = 0
        self.skipped = False
        self.resume = False


_states: dict[int, _CodeState] = {}


def _state_of(code: types.CodeType) -> _CodeState:
    if not isinstance(code, types.CodeType):
        raise TypeError(f"expected a code object, not {type(code).__name__}")
    return _states.get(id(code)) or _states.setdefault(id(code), _CodeState(code))


def add_entry(code: types.CodeType, entry: Any) -> None:
    """Put `entry` in front of the entries of `code`."""
    state = _state_of(code)
    state.entries = [entry, *state.entries]
    state.added += 1


def remove_entry(code: types.CodeType, entry: Any) -> bool:
    """Take `entry` out again; False where it was not there."""
    state = _state_of(code)
    kept = [other for other in state.entries if other is not entry]
    removed = len(kept) < len(state.entries)
    state.entries = kept
    return removed


def entries(code: types.CodeType) -> list[Any]:
    """The entries of `code`, latest first."""
    return list(_state_of(code).entries)


def added_entries(code: types.CodeType) -> int:
    """How many entries `code` was given since they were last cleared."""
    return _state_of(code).added


def clear_entries(code: types.CodeType) -> None:
    """Remove all entries; marks stay."""
    state = _state_of(code)
    state.entries = []
    state.added = 0


def all_codes() -> list[types.CodeType]:
    """The code objects that hold entries or a skip mark."""
    held = [state.code() for state in list(_states.values()) if state.entries or state.skipped]
    return [code for code in held if code is not None]


def skip_code(code: types.CodeType) -> None:
    """Never ask about frames of this code."""
    _state_of(code).skipped = True


def unskip_code(code: types.CodeType) -> None:
    """Take skip_code back."""
    _state_of(code).skipped = False


def is_skipped(code: types.CodeType) -> bool:
    """Was it marked by skip_code?"""
    state = _states.get(id(code))
    return state is not None and state.skipped


def mark_resume(code: types.CodeType) -> None:
    """This is the code of a resume function."""
    _state_of(code).resume = True


def is_resume(code: types.CodeType) -> bool:
    """Was it marked by mark_resume?"""
    state = _states.get(id(code))
    return state is not None and state.resume
