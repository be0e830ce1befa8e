"""The frames that Python runs: their log lines, counters and marks.

In:  a frame; the reason: a `SkipFrame`, an error of ours, or a wrapper of torch.compiler.disable.
Out: None (Python runs the frame) or `UNHOOKED` (Python runs it and its callees). The code object gets a mark,
     or an entry that leaves it to Python while the guards hold.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import _capture

import cache
from capture.frame import stored_entries
from capture.policy import torch_compile_marks
from capture.report import log, observe
from capture.report.break_reasons import SkipFrame
from capture.report.config import config
from capture.report.errors import InternalError
from guards.guard_set import GuardSet
from guards.kinds.identity import IdentityGuard
from guards.program import encode
from guards.sources import FunctionSource

if TYPE_CHECKING:
    from capture.policy.settings import CaptureSettings
    from capture.sizes.policy import Seen

#: Wrappers with one code object that are known. Where a program makes a new one for each call, the callback
#: sees them all.
MOST_WRAPPERS = 64
FIRST_STEP = "a first step: its gradients or the state of its optimizer do not exist yet"


def leave_alone(frame: Any, skip: SkipFrame, settings: CaptureSettings, seen: Seen | None = None) -> Any:
    """Leave the frame to Python, now and later. The result is for this call.

    The callees of an idle frame were interpreted as part of it. None of them is worth a capture. With `seen`
    the next process leaves the frame to Python too.
    """
    now = stored_entries.UNHOOKED if skip.idle else None
    observe.set_outcome("left")
    observe.tell("left", reason=str(skip), always=skip.guards is None, callees_too=skip.idle)
    if skip.guards is None:
        _capture.skip_code(frame.code)
        if seen is not None:
            stored_entries.keep_skipped(frame, skip, settings, seen)
        return now
    if _capture.added_entries(frame.code) >= config.recompile_limit and not cache.has_captured(frame.code):
        # The guards name objects that live for one call, so each call would need its own entry.
        cache.stop_capturing(frame.code, settings.key)
        return now
    sampled = skip.straight and not settings.fullgraph  # fullgraph raises at the first frame that breaks
    entry = _entry(frame, skip.guards, settings, unhooked=skip.idle, sampled=sampled)
    if seen is not None:
        stored_entries.keep_left(frame, entry, settings, seen)
    return now


def leave_once() -> Any:
    """Leave this call to Python, with its callees. The next call is captured."""
    observe.set_outcome("left")
    observe.tell("left", reason=FIRST_STEP, always=False, callees_too=True)
    return stored_entries.UNHOOKED


def leave_disabled(frame: Any, original: Any, settings: CaptureSettings) -> Any:
    """Leave the frame of a wrapper that torch.compiler.disable made."""
    callees_too = torch_compile_marks.disables_what_it_calls(frame.function)
    leave_wrapper(frame, settings, callees_too)
    if callees_too:
        return stored_entries.UNHOOKED
    own = getattr(original, "__func__", original)
    if isinstance(own, types.FunctionType):
        _capture.skip_code(own.__code__)
    return None


def leave_wrapper(frame: Any, settings: CaptureSettings, callees_too: bool = False) -> None:
    """Leave the frames of a wrapper of torch.compile to Python from now on.

    Many wrappers share one code object. So it gets no mark, but an entry for each function.
    """
    if _capture.added_entries(frame.code) >= MOST_WRAPPERS or not stored_entries.knows_layout(settings):
        return
    guards = GuardSet([IdentityGuard.of(FunctionSource(), frame.function)])
    _entry(frame, guards, settings, unhooked=callees_too)


def _entry(frame: Any, guards: GuardSet, settings: CaptureSettings, **facts: bool) -> cache.CacheEntry:
    """A new entry that leaves the frame to Python."""
    stored_entries.restore_layout(settings)  # else `encode` measures it, which takes 4 ms
    entry = cache.CacheEntry(encode(guards, [], frame.code), settings.key, **facts)
    entry.guard_set = guards
    cache.install(frame.code, entry)
    return entry


def give_up(frame: Any, error: Exception, settings: CaptureSettings) -> None:
    """Handle a failure of ours: one warning, then Python runs the frame. Under fullgraph, raise an error."""
    code: types.CodeType = frame.code
    observe.set_outcome("failed")
    text = f"capture failed on {observe.present_name(code)}"
    if config.raise_on_error or settings.fullgraph:
        raise InternalError(f"{text}: {log.failure_text(error)}") from error
    _capture.skip_code(code)
    log.warn_once(code, "failure", f"{text}; it runs eagerly: {log.failure_text(error)}")


def forget_frames(error: BaseException, handled: BaseException | None) -> None:
    """Release the frames of an error of the translation. They would keep the program's objects alive until
    the next garbage collection.

    `handled` is the exception that the program handled when the translation began. Its frames stay.
    """
    chain: BaseException | None = error
    while chain is not None and chain is not handled:
        chain.__traceback__, chain = None, chain.__context__
