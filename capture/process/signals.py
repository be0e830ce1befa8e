"""Signals that come while a frame is captured: their handlers run behind the capture.

A handler written in Python may raise anywhere (`KeyboardInterrupt` by Ctrl-C). In the middle of a capture
that would leave modes on the thread's stacks and caches half filled: with a fake tensor mode left behind, no
operation of the program works any more.

    with deferred(): ...   ->   inside, a signal is only noted; behind it, the program's handler is called,
                                and what that raises is the program's
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # that of Python makes an enum member of each number: a millisecond
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any

SIGNALS = sorted(map(int, signal.valid_signals()))


class deferred:
    """For the main thread, the only one that runs handlers of Python; a block inside of another does nothing."""

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}  # those replaced and not yet put back
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
        """A handler that is back may raise already: the others still come back."""
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
