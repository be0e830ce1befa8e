"""One line on a terminal about a capture that takes long.

In:  the function that is captured, the step, how many operations it has by now.
Out: from 2 s on, a line on stderr that is written over itself; at the end it is gone. Without a terminal
     there is no line.

    capturing step: compiling, 1204 operations, 5 s
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TextIO

from capture_records import dataclass

PATIENCE = 2.0  # seconds
EVERY = 0.5
CLEAR = "\r\x1b[K"


@dataclass(frozen=True)
class Step:
    function: str
    what: str
    operations: Callable[[], int]
    started: float

    def __str__(self) -> str:
        seconds = time.monotonic() - self.started
        return f"capturing {self.function}: {self.what}, {self.operations()} operations, {seconds:.0f} s"


class _Line:
    """The line of this process. A thread of its own writes it, while there are steps."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.since = 0.0
        self.changed = threading.Condition()
        self.writer: tuple[int, threading.Thread] | None = None

    def begin(self, step: Step) -> None:
        with self.changed:
            if not self.steps:
                self.since = step.started
            self.steps.append(step)
            if self.writer is None or self.writer[0] != os.getpid() or not self.writer[1].is_alive():
                thread = threading.Thread(target=self.write, name="capture progress", daemon=True)
                self.writer = (os.getpid(), thread)
                thread.start()
            self.changed.notify()

    def end(self, step: Step) -> None:
        with self.changed:
            self.steps.remove(step)
            self.changed.notify()

    def write(self) -> None:
        """Until no step has begun for a while."""
        shown: TextIO | None = None
        with self.changed:
            while True:
                if shown is not None and not self.steps:
                    _put(shown, CLEAR)
                    shown = None
                if not self.changed.wait_for(lambda: bool(self.steps), timeout=10 * EVERY):
                    self.writer = None
                    return
                if time.monotonic() - self.since >= PATIENCE and self.steps and is_terminal():
                    shown = sys.stderr
                    _put(shown, f"{CLEAR}{_cut(str(self.steps[-1]))}")
                self.changed.wait(EVERY)


_line = _Line()


def is_terminal() -> bool:
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


@contextlib.contextmanager
def showing(function: str, what: str, operations: Callable[[], int]) -> Iterator[None]:
    """Tell of this step, if it takes long and somebody looks."""
    if not is_terminal():
        yield
        return
    step = Step(function, what, operations, time.monotonic())
    _line.begin(step)
    try:
        yield
    finally:
        _line.end(step)


def _put(stream: TextIO, text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # the terminal has gone
        stream.write(text)
        stream.flush()


def _cut(text: str) -> str:
    try:
        return text[: os.get_terminal_size(sys.stderr.fileno()).columns - 1]
    except (OSError, ValueError):
        return text[:79]
