"""Why a guard failed, as text.

In:  a guard set, the index that a guard program returned, and the names of the frame.
Out: `FailureText(source, old, new, text)`.

    explain_failure(guards, 2, frame).text   ->   "x: was [len(x) == 2], now [length 3]"
"""

from __future__ import annotations

from typing import Protocol

from capture_records import dataclass
from guards.guard import Guard
from guards.namespace import FrameNamespace


@dataclass(frozen=True)
class FailureText:
    """The text of the place, what was there at capture, what is there now, and all of it in one line."""

    source: str
    old: str
    new: str
    text: str
    guard: Guard | None = None

    def __str__(self) -> str:
        return self.text


class Guards(Protocol):
    """Those of an entry, in the order of its program: a `GuardSet`, or `guards.late_guards.LateGuards`."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Guard: ...


def explain_failure(guard_set: Guards, index: int, frame: FrameNamespace) -> FailureText:
    """Why guard `index` fails in this frame. An index past the guards means a graph input that could not be
    loaded.
    """
    if index >= len(guard_set):
        return FailureText("", "", "", f"input {index - len(guard_set)} of the graph could not be loaded")
    guard = guard_set[index]
    old, new = guard.failure(frame)
    source = guard.source.text
    old = old.removeprefix(f"{source}: ")
    return FailureText(source, old, new, f"{source}: was [{old}], now [{new}]{_asked_at(guard)}", guard)


def _asked_at(guard: Guard) -> str:
    """The user's line that made the guard necessary, where it is known."""
    if not guard.user_stack:
        return ""
    frame = guard.user_stack[-1]
    return f", asked at {frame.filename}:{frame.lineno}, {frame.line}"
