"""The exceptions and the warning that reach the user: one hierarchy under `CaptureError`.

In:  values that say what happened and what to do.
Out: an exception whose text carries both.

    with capture.enable(fullgraph=True): f(x)    ->    Unsupported: the call of print is not captured
    [call] ...

Signals inside the interpreter (`capture/report/retry.py`) are not errors and have a hierarchy of their own.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import traceback

    from capture.report.break_reasons import BreakReason


class CaptureError(Exception):
    """Base of everything that this package raises itself."""


class UsageError(CaptureError):
    """A call of the public API that makes no sense: a wrong argument, or the wrong order."""


class ConfigError(CaptureError, ValueError):
    """An unknown setting, option or log name, or a value that does not fit."""


class Unsupported(CaptureError):
    """The program can't be captured as one graph. Raised at a graph break under `fullgraph=True`."""

    def __init__(self, reason: BreakReason) -> None:
        super().__init__(str(reason))
        self.reason = reason

    @property
    def id(self) -> str:
        """Key of the table in docs/graph_breaks.md."""
        return self.reason.id

    @property
    def hint(self) -> str:
        return self.reason.hint

    @property
    def user_stack(self) -> traceback.StackSummary:
        return self.reason.user_stack


class ConstraintViolation(CaptureError, RuntimeError):
    """The program fixes a size that `mark_dynamic` promised to change."""


class BackendError(CaptureError):
    """A backend failed, or what it returned is no use. `__cause__` is the backend's own exception, if it
    raised one.
    """

    def __init__(self, backend: str, message: str) -> None:
        super().__init__(f"backend {backend!r}: {message}")
        self.backend = backend


class UnknownBackend(BackendError, LookupError):
    """No backend of that name is registered."""


class RecompileLimitExceeded(CaptureError):
    """A code object was captured more often than config.recompile_limit allows, and fullgraph=True forbids to
    run it eagerly.
    """


class RecompileError(CaptureError):
    """A captured function would have to be captured again, where config.error_on_recompile or the stance
    "fail_on_recompile" forbid it.
    """


class InternalError(CaptureError):
    """A part of capture itself failed. Raised under config.raise_on_error and under fullgraph=True; else the
    frame runs eagerly, with a warning.
    """


class CaptureWarning(UserWarning):
    """Something was left to eager execution: the result is right, the speed is not what was asked for."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an error text: what is known, and the nearest of it.

    did_you_mean("grap", ["graph", "asm"])   ->   "did you mean 'graph'? Known: asm, graph"
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    listed = "Known: " + ", ".join(names)
    return f"did you mean {near[0]!r}? {listed}" if near else listed
