"""Functions of the program that are told why a function is captured again.

In:  `on_guard_failure(callback)`; the causes, from `capture/frame/recompiles.py`.
Out: calls of the callbacks, in the order of their registration.

    with capture.on_guard_failure(print): f(k=1); f(k=2)    ->    f (x.py:3): k: was [1], now [2]
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType

from capture.report import log
from capture.report.arguments import checked_arguments, shown
from capture.report.config import config
from capture.report.errors import UsageError

Callback = Callable[[str], object]
_registered: list[Registration] = []


class Registration:
    """What `on_guard_failure` returns. `remove()` ends it; so does the end of a `with` block."""

    def __init__(self, callback: Callback) -> None:
        self.callback = callback
        _registered.append(self)

    def remove(self) -> None:
        if self in _registered:
            _registered.remove(self)

    def __enter__(self) -> Registration:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


@checked_arguments
def on_guard_failure(callback: Callback) -> Registration:
    """Call `callback(cause)` whenever no entry fits a call and the function would be captured again.

    cause: a line with the name and place of the function, what was guarded, its old and its new value; the
    log "recompiles" has the same line.
    It counts for all threads, and the callback runs on the thread that called the function, uncaptured. An
    exception that it raises becomes a warning, or UsageError under `config.raise_on_error`.
    Returns a registration with the method `remove()`; it is a context manager too.
    Source: guard_fail_fn of torch._dynamo.
    """
    if not callable(callback):
        raise UsageError(f"on_guard_failure takes a function of one text, not {shown(callback)}")
    return Registration(callback)


def tell(cause: str, code: CodeType) -> None:
    for registration in list(_registered):
        try:
            registration.callback(cause)
        except Exception as error:
            text = f"a callback of capture.on_guard_failure raised {log.failure_text(error)}"
            if config.raise_on_error:
                raise UsageError(text) from error
            log.warn_once(code, "guard_failure_callback", text)
