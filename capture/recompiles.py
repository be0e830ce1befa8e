"""Recompilations: why the entries of a code object did not fit, and when to stop making new ones.

In:  a Frame with `failures`: the entries that were tried, with the index of the guard that failed.
Out: log lines and observer calls; False once the limit is reached (after one warning), an error under fullgraph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import _capture
import cache
from capture import log, observe
from capture.config import config
from capture.counters import counters
from capture.errors import RecompileLimitExceeded
from guards.failure import explain_failure
from guards.namespace import FrameNamespace

if TYPE_CHECKING:
    from capture.protocols import CaptureSettings


def check_limit(frame: Any, settings: CaptureSettings) -> bool:
    if not frame.failures:
        return True
    texts = failure_texts(frame)
    counters["recompiles"][frame.code.co_qualname] += 1
    for text in texts[:1]:
        observe.current().on_recompile(text, frame.code)
        log.get("recompiles")("%s (%s:%d): %s", frame.code.co_qualname, frame.code.co_filename, frame.code.co_firstlineno, text)
    if len(frame.failures) < config.recompile_limit:
        return True
    message = (
        f"{frame.code.co_qualname} ({frame.code.co_filename}:{frame.code.co_firstlineno}) was captured {len(frame.failures)} times, "
        f"config.recompile_limit; from now on calls that fit none of these run eagerly. What kept changing: {'; '.join(dict.fromkeys(texts))}. "
        "Pass what changes as a tensor, keep it constant, or raise the limit."
    )
    if settings.fullgraph:
        raise RecompileLimitExceeded(message)
    log.warn_once(frame.code, "recompile_limit", message)
    cache.stop_capturing(frame.code, settings)
    return False


def failure_texts(frame: Any) -> list[str]:
    """One text for each entry that was tried, most recently hit first."""
    names = (frame.globals, frame.builtins)
    namespace = FrameNamespace.from_localsplus(frame.code, frame.locals, _capture.NULL, names, frame.function)
    texts = []
    for entry, index in frame.failures:
        if 0 <= index < len(entry.guard_set):
            texts.append(explain_failure(entry.guard_set, index, namespace).text)
        else:
            texts.append("a value that the code reads is no longer there")
    return texts
