"""The stream of events of a capture. Logs, counters, `explain` and trace files are views of it.

In:  `tell("break", reason=...)` in the code that captures; the same from `codegen.kernel.events`.
Out: calls of `recorder.record(event)`: of the recorders of the process, then of those of this thread.

    with observing(recorder): fn(x)
        ->   recorder.record(Event("graph", 1.5, FrameCapture("fn [0/0]"), {"module": gm, ...})), ...

docs/trace.md lists the events as a trace file has them. Here, their fields are live objects: a recorder takes
from them what it needs, at once. It must not keep them: they hold the program's objects.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
import types
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from capture.report.config import config
from capture.report.pieces import Piece, piece_of
from codegen.kernel import events


class FrameCapture:
    """The capture of one frame. `number` is its own in this process, `name` that of docs/trace.md.

    attempt: the number of the present attempt, None before the first one. graph: the number of its graph.
    outcome, entry: what came of it. waited: what Python had spent in the code before, as a text.
    """

    _numbers = itertools.count()

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self.number = next(self._numbers)
        self.piece: Piece = piece_of(code)
        self.capture = self.piece.next_capture()
        self.name = self.piece.name_of_capture(self.capture)
        self.attempt: int | None = None
        self.graph: int | None = None
        self.outcome = "raised"
        self.entry: Any = None
        self.waited = ""
        self.started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """The time since its begin."""
        return time.perf_counter() - self.started


class Event(NamedTuple):
    """`time` is that of `time.perf_counter`. `frame` is None outside of the capture of a frame."""

    name: str
    time: float
    frame: FrameCapture | None
    fields: dict[str, Any]


class Recorder(Protocol):
    """Whoever wants to know the events."""

    def record(self, event: Event) -> None: ...


class _Thread(threading.local):
    def __init__(self) -> None:
        self.frames: list[FrameCapture] = []
        self.recorders: list[Recorder] = []


_thread = _Thread()
_of_the_process: list[Recorder] = []


def tell(name: str, /, **fields: Any) -> None:
    """Write an event. Its frame is the one that this thread captures now."""
    _listener(name, fields)


def _listener(name: str, fields: dict[str, Any]) -> None:
    event = Event(name, time.perf_counter(), present(), fields)
    for recorder in (*_of_the_process, *_thread.recorders):
        recorder.record(event)


events.listener = _listener


def is_watched() -> bool:
    """Whether this thread has a recorder of its own."""
    return bool(_thread.recorders)


@contextlib.contextmanager
def phase(name: str) -> Iterator[None]:
    """Tells the time of the block when it ends."""
    with events.phase(name):
        yield


def present() -> FrameCapture | None:
    """The capture on this thread. It is the innermost one, where a capture runs code that is captured."""
    return _thread.frames[-1] if _thread.frames else None


def present_name(code: types.CodeType) -> str:
    """The name of the capture on this thread; outside of captures that of the code's piece."""
    found = present()
    return piece_of(code).name if found is None else found.name


# --- recorders --------------------------------------------------------------------------------------------


def add_recorder(recorder: Recorder) -> None:
    """From now on `recorder` gets the events of all threads."""
    _of_the_process.append(recorder)


def remove_recorder(recorder: Recorder) -> None:
    _of_the_process.remove(recorder)


@contextlib.contextmanager
def observing(recorder: Recorder) -> Iterator[None]:
    """Inside the block, `recorder` gets the events of this thread."""
    _thread.recorders.append(recorder)
    try:
        yield
    finally:
        _thread.recorders.remove(recorder)


# --- captures ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def capturing(code: types.CodeType, **fields: Any) -> Iterator[FrameCapture]:
    """The block captures a frame of this code. `fields` are those of the event "frame".

    What has come of it is in its `FrameCapture` when the event "frame_end" is told.
    """
    capture = FrameCapture(code)
    _thread.frames.append(capture)
    tell("frame", **fields)
    try:
        yield capture
    finally:
        tell("frame_end")
        _thread.frames.remove(capture)


def begin_attempt() -> None:
    capture = present()
    if capture is not None:
        capture.attempt = 0 if capture.attempt is None else capture.attempt + 1


def set_outcome(outcome: str) -> None:
    """What has come of the present capture."""
    capture = present()
    if capture is not None:
        capture.outcome = outcome


_graph_numbers = itertools.count()


def about_graph(number: int) -> contextlib.AbstractContextManager[None]:
    """In the block, the compiler works for that graph."""
    frame = present()
    name = None if frame is None else frame.name
    subject = events.Subject(
        number, name=name, profile_kernels=config.profile_kernels, perf_map=config.perf_map
    )
    return events.about(subject)


def new_graph() -> int:
    """The number of a new graph. It is that of the present capture too."""
    number = next(_graph_numbers)
    capture = present()
    if capture is not None:
        capture.graph = number
    return number
