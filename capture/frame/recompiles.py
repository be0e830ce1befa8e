"""Recompiles: why the entries of a code object did not fit, and when capture stops making new entries.

In:  a `Frame` with `failures`: the entries that were tried, each with the index of the guard that failed.
Out: log lines, calls of observers and callbacks; whether the frame may be captured again. After the limit:
     one warning about a function of the program, or an error under fullgraph. The stance may forbid
     recompiles too.

    f(k=1), f(k=2), ...    ->    recompiles: f (x.py:3): k: was [1], now [2]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import _capture

import cache
from capture.policy import frame_filter, patience, stance
from capture.report import callbacks, log, observe
from capture.report.config import config
from capture.report.errors import RecompileError, RecompileLimitExceeded
from capture.report.pieces import piece_of
from capture.sizes import item_kinds
from guards.failure import FailureText, explain_failure
from guards.kinds.constants import ConstantGuard
from guards.namespace import FrameNamespace

if TYPE_CHECKING:
    from capture.policy.settings import CaptureSettings
    from capture.sizes.policy import Seen

#: One of so many parts of the limit is enough where entries have died with an object of their guards, and
#: have served fewer than so many frames each. To make one costs more than hundreds of frames of a model.
PARTS, FEWEST, FRAMES = 4, 16, 4
#: So many of them are enough where a capture has to pay.
FEWEST_THAT_PAY = 4


def check_all_entries(frame: Any, settings: CaptureSettings) -> bool:
    """Whether one more entry may be made or taken from the store, by the number that the code has had, and
    by how long they have lived.
    """
    limit = config.accumulated_recompile_limit
    died, served = cache.died(frame.code)
    enough = FEWEST_THAT_PAY if patience.has_to_pay() else max(FEWEST, limit // PARTS)
    lived_shortly = died >= enough and served < FRAMES * died
    if lived_shortly or _capture.added_entries(frame.code) >= limit:
        return _stop(frame, settings, "config.accumulated_recompile_limit: its entries did not live long")
    return True


def check_limit(frame: Any, settings: CaptureSettings, seen: Seen) -> bool:
    """Whether one more entry may be made, by the live ones that did not fit."""
    if not frame.failures:
        return True
    if stance.current() == stance.EAGER_ON_RECOMPILE:
        return False
    causes = failures(frame)
    texts = [cause.text for cause in causes]
    name = f"{observe.present_name(frame.code)} ({frame.code.co_filename}:{frame.code.co_firstlineno})"
    callbacks.tell(f"{name}: {texts[0]}", frame.code)
    if config.error_on_recompile or stance.current() == stance.FAIL_ON_RECOMPILE:
        raise RecompileError(f"{name} would be captured again: {'; '.join(dict.fromkeys(texts))}")
    item_kinds.note_changes(seen.kinds, [cause.guard for cause in causes], _namespace(frame))
    observe.tell("recompile", causes=causes, entries=[entry for entry, _ in frame.failures])
    if len(frame.failures) < config.recompile_limit:
        return True
    return _stop(frame, settings, "config.recompile_limit", causes[0])


def _stop(frame: Any, settings: CaptureSettings, limit: str, cause: FailureText | None = None) -> bool:
    """Make no more entries for this code object. It is an error under fullgraph. Otherwise a warning says so
    if the program can change the function.
    """
    code = frame.code
    changing = f"What kept changing: {cause.text}. {_advice(cause)}, or raise" if cause else "Raise"
    message = (
        f"{piece_of(code).name} was captured {_capture.added_entries(code)} times, {limit}; from now on, "
        f"Python runs the calls that fit none of these entries. {changing} the limit."
    )
    if settings.fullgraph:
        raise RecompileLimitExceeded(message)
    observe.tell("limit", text=message)
    cache.stop_capturing(code, settings.key)
    if frame_filter.is_of_the_program(code):  # its resume functions have the same place
        log.warn_once_at((code.co_filename, code.co_firstlineno), "recompile_limit", message)
    return False


def _advice(cause: FailureText) -> str:
    """A number can be a tensor; a class, a function, a layout or a key of a dict can't."""
    number = isinstance(cause.guard, ConstantGuard) and type(cause.guard.payload) in (int, float)
    return "Pass the changing number as a tensor, keep it constant" if number else "Keep it constant"


def failures(frame: Any) -> list[FailureText]:
    """Why each entry that was tried did not fit; the entry that was used last comes first."""
    namespace = _namespace(frame)
    found = []
    for entry, index in frame.failures:
        if 0 <= index < len(entry.guard_set):
            found.append(explain_failure(entry.guard_set, index, namespace))
        else:
            found.append(FailureText("", "", "", "a value that the code reads is no longer there"))
    return found


def _namespace(frame: Any) -> FrameNamespace:
    names = (frame.globals, frame.builtins)
    return FrameNamespace.from_localsplus(frame.code, frame.locals, _capture.NULL, names, frame.function)
