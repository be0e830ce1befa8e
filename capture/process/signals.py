"""Defers signals during a capture: their handlers run after the capture.

In:  signals that arrive while a frame is captured.
Out: calls of the program's handlers after the capture.

    with deferred(): ...   ->   inside the block a signal is only noted; after the block the program's handler
                                is called, and its exception goes to the program

A handler in Python may raise anywhere (Ctrl-C raises `KeyboardInterrupt`). In the middle of a capture, the
exception would leave modes on the thread's stacks, and incomplete caches. After that no operation of the
program would work, because a fake tensor mode is still active.

The extension holds signals itself (native/frame/held_signals.c). For the settrace hook `deferred` does it.
"""

from __future__ import annotations

# The module `signal` makes an enum member of each number, which takes a millisecond.
import _signal  # type: ignore[import-not-found]
import sys
import threading
from types import FrameType, TracebackType
from typing import Any

SIGNALS = sorted(_signal.valid_signals())


class deferred:
    """A block that defers signals. Inside another one it does nothing.

    It also does nothing on other threads: only the main thread runs handlers in Python.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}  # the handlers that are replaced now
        self._noted: list[tuple[int, Any]] = []

    def __enter__(self) -> deferred:
        if threading.current_thread() is threading.main_thread():
            try:
                for number in SIGNALS:
                    handler = _signal.getsignal(number)
                    if callable(handler) and not isinstance(getattr(handler, "__self__", None), deferred):
                        self._handlers[number] = handler
                        _signal.signal(number, self._note)
            except BaseException:
                self._put_back()
                raise
        return self

    def _note(self, number: int, _: FrameType | None) -> None:
        self._noted.append((number, self._handlers[number]))

    def _put_back(self) -> None:
        """Restore all handlers. A restored handler may raise at once; the others are still restored."""
        try:
            for number, handler in [*self._handlers.items()]:
                _signal.signal(number, handler)
                self._handlers.pop(number)
        finally:
            if self._handlers:
                self._put_back()

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._put_back()
        while self._noted:
            number, handler = self._noted.pop(0)
            handler(number, sys._getframe(1))
