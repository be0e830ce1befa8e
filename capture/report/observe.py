"""Observers: who wants to know what a capture finds.

In:  calls of `capture/frame/convert.py` on `current()` while it captures a frame.
Out: `Observer` objects keep what they are told; `explain()` makes its report from one.

    with observing(observer): fn(x)      ->   observer.on_graph(gm, code), observer.on_break(reason, code),
    ...

Observers belong to the thread that entered `observing`. Nobody observing: `current()` is an observer that
keeps nothing.
"""

from __future__ import annotations

import contextlib
import threading
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import torch.fx

    from capture.report.break_reasons import BreakReason
    from guards.guard_set import GuardSet


class Observer(Protocol):
    """What is told about one captured frame, in the order of its steps."""

    def on_graph(self, gm: torch.fx.GraphModule, code: types.CodeType) -> None:
        """A graph was made from `code` and is handed to the backend."""

    def on_break(self, reason: BreakReason, code: types.CodeType) -> None:
        """The graph of `code` ended here; a resume function goes on."""

    def on_guards(self, guards: GuardSet, code: types.CodeType) -> None:
        """The guards of a new entry."""

    def on_compile_time(self, phase: str, seconds: float, code: types.CodeType) -> None:
        """Time spent on one phase: "translate", "backend", "guards", or "total" for the whole frame."""

    def on_recompile(self, text: str, code: types.CodeType) -> None:
        """`code` had entries; `text` says which guard of the last one failed: source, old value, new
        value.
        """

    def on_skip(self, reason: str, code: types.CodeType) -> None:
        """The frame is left to Python as a whole."""


class _Fanout:
    """Tells every observer of the thread, the outermost first."""

    def __init__(self) -> None:
        self.observers: list[Observer] = []

    def on_graph(self, gm: torch.fx.GraphModule, code: types.CodeType) -> None:
        for observer in self.observers:
            observer.on_graph(gm, code)

    def on_break(self, reason: BreakReason, code: types.CodeType) -> None:
        for observer in self.observers:
            observer.on_break(reason, code)

    def on_guards(self, guards: GuardSet, code: types.CodeType) -> None:
        for observer in self.observers:
            observer.on_guards(guards, code)

    def on_compile_time(self, phase: str, seconds: float, code: types.CodeType) -> None:
        for observer in self.observers:
            observer.on_compile_time(phase, seconds, code)

    def on_recompile(self, text: str, code: types.CodeType) -> None:
        for observer in self.observers:
            observer.on_recompile(text, code)

    def on_skip(self, reason: str, code: types.CodeType) -> None:
        for observer in self.observers:
            observer.on_skip(reason, code)


class _ObservedThread(threading.local):
    def __init__(self) -> None:
        self.fanout = _Fanout()


_state = _ObservedThread()


def current() -> Observer:
    """Where to tell; always there."""
    return _state.fanout


@contextlib.contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Tell `observer` what is captured on this thread in the block."""
    _state.fanout.observers.append(observer)
    try:
        yield
    finally:
        _state.fanout.observers.remove(observer)
