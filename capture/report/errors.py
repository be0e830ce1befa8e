"""The exceptions for the user, one hierarchy under `CaptureError`, and the warning.

In:  what happened, and what to do.
Out: an exception whose text says both.

    with capture.enable(fullgraph=True): f(x)
        ->    Unsupported: the call of print is not captured [call] ...

Signals inside the interpreter (`capture/report/retry.py`) are not errors. They have their own hierarchy.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import traceback

    from capture.report.break_reasons import BreakReason


class CaptureError(Exception):
    """The base of all exceptions of this package."""


class UsageError(CaptureError):
    """A wrong use of the public API: a wrong argument, or calls in the wrong order."""


class ArgumentError(UsageError, TypeError):
    """A public function was called with arguments that it does not have."""


class ConfigError(CaptureError, ValueError):
    """An unknown name of a setting, option or log, or a value of the wrong type."""


class Unsupported(CaptureError):
    """The program can't be captured as one graph. Raised at a graph break under `fullgraph=True`."""

    def __init__(self, reason: BreakReason) -> None:
        super().__init__(str(reason))
        self.reason = reason

    @property
    def id(self) -> str:
        """The key in the table of docs/graph_breaks.md."""
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
    """A backend failed, or its result is unusable. `__cause__` is the exception of the backend."""

    def __init__(self, backend: str, message: str) -> None:
        super().__init__(f"backend {backend!r}: {message}")
        self.backend = backend


class UnknownBackend(BackendError, LookupError):
    """No backend with this name is registered."""


class RecompileLimitExceeded(CaptureError):
    """A code object needs more captures than config.recompile_limit, and fullgraph=True forbids eager."""


class RecompileError(CaptureError):
    """A recompile is needed, but config.error_on_recompile or the stance "fail_on_recompile" forbids it."""


class InternalError(CaptureError):
    """A part of capture itself failed. Raised only under config.raise_on_error or fullgraph=True.

    Else the frame runs eagerly, with a warning.
    """


class GraphDefError(CaptureError, ValueError):
    """A file is no GraphDef, or has what can't be imported. The text names the node."""


class ExportError(CaptureError, ValueError):
    """A program can't leave the process, or a folder is no exported program. The text says why."""


class CaptureWarning(UserWarning):
    """Code runs eagerly that was to be captured: the result is correct, but slow."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an error text: the nearest known name, and all known names.

    did_you_mean("grap", ["graph", "asm"])   ->   "did you mean 'graph'? Known: asm, graph"
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    listed = "Known: " + ", ".join(names)
    return f"did you mean {near[0]!r}? {listed}" if near else listed
