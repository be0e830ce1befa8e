"""Guards as text: each condition, and why one failed.

In:  a guard set, the index that a guard program returned, and the frame's namespace.
Out: `FailureText(source, old, new, text)`.

    explain_failure(guards, 2, frame).text   ->   "x: float32[4], was float32[3]"
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from guards.guard import Guard, GuardError, raw_length
from guards.guard_set import GuardSet
from guards.kinds import GuardKind
from guards.lookup import Undecided, Unresolved, dict_items, has_attribute, isinstance_raw, safe_repr
from guards.namespace import FrameNamespace
from guards.properties.global_state import GlobalState, read_global_state
from guards.values import ObjectRef


@dataclass(frozen=True)
class FailureText:
    """What failed: the source's text, what was there at capture, what is there now, and all of it in one
    line.
    """

    source: str
    old: str
    new: str
    text: str
    guard: Guard | None = None

    def __str__(self) -> str:
        return self.text


def _name(item: Any) -> str:
    return item.text if isinstance(item, ObjectRef) else safe_repr(item)


def _names(items: tuple[Any, ...]) -> str:
    shown = ", ".join(map(_name, items[:12]))
    return f"[{shown}{', ...' if len(items) > 12 else ''}]"


def _bounds(guard: Guard) -> str:
    low, high = guard.payload
    return f"{'' if low is None else f'{low} <= '}{guard.source.text}{'' if high is None else f' <= {high}'}"


def _groups(guard: Guard) -> str:
    shared = [(i, first) for i, first in enumerate(guard.payload) if i != first]
    if not shared:
        return "no two share storage: " + ", ".join(source.text for source in guard.sources)
    return "share storage: " + ", ".join(
        f"{guard.sources[first].text} and {guard.sources[i].text}" for i, first in shared
    )


_CONDITIONS: dict[GuardKind, Callable[[Guard], str]] = {
    GuardKind.TYPE: lambda g: f"type({g.source.text}) is {g.payload.text}",
    GuardKind.ID: lambda g: f"{g.source.text} is {g.payload.text}",
    GuardKind.OBJECT_ALIASING: lambda g: f"{g.sources[0].text} is {g.sources[1].text}",
    GuardKind.NOT_NONE: lambda g: f"{g.source.text} is not None",
    GuardKind.LENGTH: lambda g: f"len({g.source.text}) == {g.payload}",
    GuardKind.BOOL: lambda g: f"bool({g.source.text}) is {g.payload}",
    GuardKind.GRAD_NONE: lambda g: f"{g.source.text}.grad is {'' if g.payload else 'not '}None",
    GuardKind.CONTENTS: lambda g: f"{g.source.text} holds {safe_repr(g.payload)}",
    GuardKind.CONSTANT: lambda g: f"{g.source.text} == {safe_repr(g.payload)}",
    GuardKind.INT_RANGE: _bounds,
    GuardKind.WEAKREF_ALIVE: lambda g: f"{g.source.text}() is not None",
    GuardKind.ITERATOR_STATE: lambda g: f"{g.source.text} has come as far as {g.payload}",
    GuardKind.TENSOR_MATCH: lambda g: f"{g.source.text}: {g.payload.text}",
    GuardKind.TENSOR_UNWRITTEN: lambda g: f"{g.source.text} has not been written to",
    GuardKind.BUFFER: lambda g: f"{g.source.text}: {g.payload.text}",
    GuardKind.FUNCTION: lambda g: f"{g.source.text}.__code__ is {g.payload[0].text}",
    GuardKind.GLOBAL_STATE: lambda g: (
        "global state: " + ", ".join(f"{k}={v}" for k, v in g.payload._asdict().items())
    ),
    GuardKind.NO_ATTRIBUTE: lambda g: f"{g.payload!r} not in {g.source.text}.__dict__",
    GuardKind.HAS_ATTRIBUTE: lambda g: f"hasattr({g.source.text}, {g.payload[0]!r}) is {g.payload[1]}",
    GuardKind.CLASS_LACKS: lambda g: f"no {g.payload!r} in {g.source.text} and its bases",
    GuardKind.DICT_CONTAINS: lambda g: (
        f"{_name(g.payload[0])} {'' if g.payload[1] else 'not '}in {g.source.text}"
    ),
    GuardKind.DICT_KEYS: lambda g: f"list({g.source.text}) == {_names(g.payload)}",
    GuardKind.SET_CONTENTS: lambda g: f"{g.source.text} == {{{_names(g.payload)[1:-1]}}}",
    GuardKind.SET_LAYOUT: lambda g: f"{g.source.text} gives its elements in the same order",
    GuardKind.OBJECTS_DISTINCT: lambda g: "all distinct: " + ", ".join(source.text for source in g.sources),
    GuardKind.TENSOR_ALIASING: _groups,
    GuardKind.SHAPE_EXPRESSION: lambda g: g.payload.text,
}


def describe(guard: Guard) -> str:
    """The condition of a guard."""
    return _CONDITIONS[guard.kind](guard)


# --- failures ---------------------------------------------------------------------------------------------


def _old_new_state(old: GlobalState) -> tuple[str, str]:
    new = read_global_state()
    changed = [name for name, a, b in zip(old._fields, old, new) if a != b]
    return tuple(", ".join(f"{name}={getattr(state, name)}" for name in changed) for state in (old, new))  # type: ignore[return-value]


def _length_text(value: Any) -> str:
    try:
        return f"length {raw_length(value)}"
    except GuardError as error:
        return str(error)


def _now_keys(value: Any) -> str:
    return (
        _names(tuple(key for key, _ in dict_items(value)))
        if isinstance_raw(value, dict)
        else safe_repr(value)
    )


def _outcome(value: Any, name: str) -> str:
    try:
        return f"hasattr is {has_attribute(value, name)}"
    except Undecided as unknown:
        return str(unknown)


def _function_text(value: Any) -> str:
    return f"{safe_repr(value)} (code, defaults or closure differ)"


_NEW_VALUES: dict[GuardKind, Callable[[Guard, Any], str]] = {
    GuardKind.TYPE: lambda g, v: safe_repr(type(v)),
    GuardKind.LENGTH: lambda g, v: _length_text(v),
    GuardKind.BOOL: lambda g, v: _length_text(v),
    GuardKind.GRAD_NONE: lambda g, v: "grad is not None" if g.payload else "grad is None",
    GuardKind.TENSOR_MATCH: lambda g, v: g.payload.mismatch(v) or "equal by now",
    GuardKind.TENSOR_UNWRITTEN: lambda g, v: "written to, or other memory",
    GuardKind.BUFFER: lambda g, v: g.payload.mismatch(v) or "equal by now",
    GuardKind.FUNCTION: lambda g, v: _function_text(v),
    GuardKind.NO_ATTRIBUTE: lambda g, v: f"{g.payload!r} is in its __dict__",
    GuardKind.HAS_ATTRIBUTE: lambda g, v: _outcome(v, g.payload[0]),
    GuardKind.CLASS_LACKS: lambda g, v: f"{g.payload!r} is there",
    GuardKind.DICT_CONTAINS: lambda g, v: _now_keys(v),
    GuardKind.DICT_KEYS: lambda g, v: _now_keys(v),
}


def _new_value(guard: Guard, frame: FrameNamespace) -> str:
    try:
        values = [source.resolve(frame) for source in guard.sources]
    except Unresolved as missing:
        return str(missing)
    if len(values) > 1:
        return ", ".join(
            f"{source.text} = {safe_repr(value)}" for source, value in zip(guard.sources, values)
        )
    return _NEW_VALUES.get(guard.kind, lambda g, v: safe_repr(v))(guard, values[0])


def explain_failure(guard_set: GuardSet, index: int, frame: FrameNamespace) -> FailureText:
    """Why guard `index` fails in this frame. An index past the guards means that a graph input could not be
    loaded.
    """
    if index >= len(guard_set):
        return FailureText("", "", "", f"input {index - len(guard_set)} of the graph could not be loaded")
    guard = guard_set[index]
    if guard.kind is GuardKind.GLOBAL_STATE:
        old, new = _old_new_state(guard.payload)
    else:
        old, new = describe(guard), _new_value(guard, frame)
    source = guard.source.text
    return FailureText(source, old, new, f"{source}: was [{old}], now [{new}]{_asked_at(guard)}", guard)


def _asked_at(guard: Guard) -> str:
    """The user's line that made the guard necessary, where it is known."""
    if not guard.user_stack:
        return ""
    frame = guard.user_stack[-1]
    return f", asked at {frame.filename}:{frame.lineno}, {frame.line}"
