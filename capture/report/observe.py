"""Observers of a capture: they are told its graphs, graph breaks, guards and times.

In:  calls of `capture/frame/convert.py` on `current()` while it captures a frame.
Out: calls of each `Observer` of the thread. `explain()` makes its report from one.

    with observing(observer): fn(x)
        ->   observer.on_graph(gm, code), observer.on_break(reason, code), ...

An observer belongs to the thread that entered `observing`. Without observers, `current()` does nothing.
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
    """The methods that a capture calls, in the order of its steps."""

    def on_graph(self, gm: torch.fx.GraphModule, code: types.CodeType) -> None:
        """A graph was made from `code`. The backend gets it next."""

    def on_break(self, reason: BreakReason, code: types.CodeType) -> None:
        """The graph of `code` ended here. A resume function goes on."""

    def on_guards(self, guards: GuardSet, code: types.CodeType) -> None:
        """The guards of a new entry."""

    def on_compile_time(self, phase: str, seconds: float, code: types.CodeType) -> None:
        """The time of one phase: "translate", "backend", "guards", or "total" for the whole frame."""

    def on_recompile(self, text: str, code: types.CodeType) -> None:
        """`code` had entries. `text` has the guard of the last one that failed: source, old and new value."""

    def on_skip(self, reason: str, code: types.CodeType) -> None:
        """Python runs the whole frame."""


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
    """The observer of this thread. It always exists."""
    return _state.fanout


@contextlib.contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Inside the block, `observer` is told what this thread captures."""
    _state.fanout.observers.append(observer)
    try:
        yield
    finally:
        _state.fanout.observers.remove(observer)
