"""Worlds: a frame's names that a test changes between capture and check.

In:  the first values of the names, guards on them, and changes under which they must hold or fail.
Out: `Case`; `run` checks a change through the native program and the Python twin, which have to agree.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import _capture

from guards.failure import explain_failure
from guards.guard import Guard
from guards.guard_set import GuardSet
from guards.namespace import FrameNamespace
from guards.program import encode
from guards.sources import LocalSource, Source
from guards.twin import PythonProgram

X, Y, Z = LocalSource("x"), LocalSource("y"), LocalSource("z")


def _make_function(globals_: dict[str, Any]) -> FunctionType:
    free = "free"

    def frame_function(x, y, z):  # type: ignore[no-untyped-def]
        return x, y, z, free

    return FunctionType(frame_function.__code__, globals_, "frame_function", None, frame_function.__closure__)


@dataclass
class World:
    """Arguments x, y, z (absent: unbound), globals, builtins, one free variable `free`."""

    names: dict[str, Any]
    globals: dict[str, Any] = field(default_factory=lambda: {"__name__": "world"})
    builtins: dict[str, Any] = field(default_factory=lambda: dict(vars(builtins)))
    stack: ExitStack = field(default_factory=ExitStack)  # contexts that a change enters

    def __post_init__(self) -> None:
        self.function = _make_function(self.globals)

    def __getattr__(self, name: str) -> Any:
        if name in ("x", "y", "z"):
            return self.names[name]
        raise AttributeError(name)

    @property
    def localsplus(self) -> tuple[Any, ...]:
        return (*(self.names.get(name, _capture.NULL) for name in ("x", "y", "z")), _capture.NULL)

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.localsplus, self.globals, self.builtins, self.function

    @property
    def namespace(self) -> FrameNamespace:
        return FrameNamespace(self.names, self.globals, self.builtins, self.function)


#: what a reader of a guard has no use for: addresses, sets of keys as numbers
ADDRESS = re.compile(r"0x[0-9a-f]{6,15}(?![0-9a-f])|(?<![\w.])\d{11,}(?!\w)")

Change = Callable[[World], Any]


@dataclass
class Case:
    """`make` makes the names; `guards` makes the guards; each change has a text and a function."""

    name: str
    make: Callable[[], dict[str, Any]]
    guards: Callable[[World], list[Guard]]
    holds: dict[str, Change] = field(default_factory=dict)
    fails: dict[str, Change] = field(default_factory=dict)


def verdict(
    world: World,
    guards: GuardSet,
    slots: list[Source],
    change: Change | None = None,
    encode: Callable[..., Any] = encode,
) -> tuple[int, Any]:
    """The answers of both programs after `change`."""
    code = world.function.__code__
    native, twin = encode(guards, slots, code), PythonProgram(guards, slots, code, _capture.NULL)
    assert native.check(*world.arguments)[0] == -1, "guards must hold in the world that they were made from"
    assert twin.check(*world.arguments)[0] == -1, "the twin must agree"
    assert not ADDRESS.search(guards.text), guards.text
    with world.stack:
        if change is not None:
            change(world)
        seen, expected = native.check(*world.arguments), twin.check(*world.arguments)
        assert seen[0] == expected[0], (seen, expected, guards.text)
        assert native.check(*world.arguments)[0] == seen[0], (
            "a second run (with warm hints) must agree with the first"
        )
        if seen[0] == -1:
            assert [id(value) for value in seen[1]] == [id(value) for value in expected[1]]
        else:
            failure = explain_failure(guards, seen[0], world.namespace)
            assert failure.text
            assert failure.old != failure.new or not failure.old, (
                "what was there and what is there now differ"
            )
            assert not ADDRESS.search(failure.text), failure.text
    return seen
