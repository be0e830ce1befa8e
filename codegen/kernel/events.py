"""What the compiler tells of its work: phases with their times, graphs with native code.

In:  calls of `tell` and `phase`; `about(graph)` says which captured graph the work is for.
Out: calls of `listener(name, fields)`. Nobody listens at first; `capture.report.observe` does.

    with about(4), phase("lower"): ...    ->    listener("phase", {"phase": "lower", "start": ..., ...})

The times are those of `time.perf_counter`.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Listener = Callable[[str, dict[str, Any]], None]

listener: Listener | None = None
#: Somebody wants the texts or times of kernels. Then all graphs are compiled: the store has no texts.
compiles_all = False


class Subject(NamedTuple):
    """The captured graph that is compiled, by its number, and the part of it: "forward" or "backward".

    name: of the piece that the graph is captured from. profile_kernels: torch's profiler shows its kernels.
    perf_map: Linux's `perf` is told of them.
    """

    graph: int | None
    role: str = "forward"
    name: str | None = None
    profile_kernels: bool = False
    perf_map: bool = False

    @property
    def title(self) -> str:
        """What profilers show."""
        title = self.name or "captured graph"
        return title if self.role == "forward" else f"{title} {self.role}"


class _Thread(threading.local):
    subject = Subject(None)


_thread = _Thread()


def subject() -> Subject:
    return _thread.subject


@contextlib.contextmanager
def about(new: Subject) -> Iterator[None]:
    """In the block, this thread works for that graph."""
    before = _thread.subject
    _thread.subject = new
    try:
        yield
    finally:
        _thread.subject = before


def tell(name: str, **fields: Any) -> None:
    if listener is not None:
        listener(name, {**fields, "graph": _thread.subject.graph})


@contextlib.contextmanager
def phase(name: str) -> Iterator[None]:
    """Tells the time of the block when it ends, also where it raises."""
    started = time.perf_counter()
    try:
        yield
    finally:
        tell("phase", phase=name, start=started, end=time.perf_counter())
