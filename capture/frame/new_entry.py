"""The loop over the attempts at a frame that neither this process nor an earlier one has an entry for.

In:  a frame, what was learned of its code.
Out: its entry. The signal that ends an attempt changes the next one; what ends the last one is raised.

    translate -> backend -> guards        Retry -> once more, with what it says
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.frame import stored_entries
from capture.frame.attempts import Attempts
from capture.frame.entry import build_entry
from capture.frame.left_to_python import forget_frames
from capture.frame.translation import translate
from capture.policy import patience
from capture.process.thread_state import ThreadState
from capture.report import observe
from capture.report.retry import Retry

if TYPE_CHECKING:
    from capture.frame.expected_breaks import ExpectedBreaks
    from capture.policy.settings import CaptureSettings


def entry_of_last_attempt(
    frame: Any,
    settings: CaptureSettings,
    seen: Any,
    expected: ExpectedBreaks,
    *,
    handled: BaseException | None,
    may_wait: bool,
) -> Any:
    attempts = Attempts(frame, settings, seen, expected, may_wait=may_wait)
    while True:
        observe.begin_attempt()
        tx = attempts.begin()
        try:
            with ThreadState():
                capture = translate(tx, attempts)
                entry = build_entry(frame, capture, settings)
                stored_entries.keep(frame, capture, entry, settings, attempts.seen)
                patience.note_entry(frame.code, entry, capture.output.granted.inlined.values())
                capture.output.forget_objects()
                return entry
        except Retry as signal:
            observe.tell("attempt", signal=signal)
            try:
                attempts.follow(signal, tx)
            finally:
                tx.output.forget_objects()
                forget_frames(signal, handled)
