"""How to go about a frame, from one attempt at its translation to the next.

In:  why the last attempt failed: a break, sizes that an operation does not take as symbols, assertions that
     the graph can't hold.
Out: a translator for the next attempt, and the number of instructions after which it stops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.interpret.output_graph import OutputGraph
from capture.interpret.root_translator import RootTranslator
from capture.report.break_reasons import GraphBreak, SkipFrame
from capture.report.config import config
from capture.sizes.assertions import AssertionsAsBreaks
from capture.sizes.policy import Seen, SizePolicy
from capture.sizes.symbols import SizesAsNumbers
from capture.sizes.unbacked import Allowed, UnbackedAsBreaks
from capture.variables.core.class_lookup import forget_pending

if TYPE_CHECKING:
    from capture.frame.expected_breaks import ExpectedBreaks
    from capture.policy.settings import CaptureSettings


class Unexpected(Exception):
    """An expected break did not come."""


class Plan:
    """`seen`: what earlier captures of the code saw."""

    def __init__(
        self, frame: Any, settings: CaptureSettings, seen: Seen, expected_breaks: ExpectedBreaks
    ) -> None:
        self.frame = frame
        self.policy = SizePolicy(config.dynamic if settings.dynamic is None else settings.dynamic, seen)
        self.break_at_assertions = False
        self.unbacked = Allowed.by_settings(settings.fullgraph)
        self.expected_breaks = expected_breaks
        self.expected = expected_breaks.of(frame.code)
        self.break_at: int | None = None  # after so many instructions
        self.reason: GraphBreak | None = None
        if self.expected is not None:
            self.break_at, self.reason = self.expected.steps, self.expected.signal

    def begin(self) -> RootTranslator:
        forget_pending()
        return RootTranslator(
            OutputGraph(self.policy, break_at_assertions=self.break_at_assertions, unbacked=self.unbacked),
            self.frame,
        )

    def reason_at(self, tx: RootTranslator) -> GraphBreak | None:
        """Where `tx` stands. Raises Unexpected where it is not where it should be."""
        if tx.returned is not None:
            return None
        if self.expected is not None and not self.expected.is_where(tx):
            raise Unexpected
        return self.reason

    def start_over(self, signal: Exception) -> None:
        if isinstance(signal, SizesAsNumbers):
            self.policy = self.policy.as_numbers()
        elif isinstance(signal, UnbackedAsBreaks):
            self.unbacked = Allowed()
        elif isinstance(signal, AssertionsAsBreaks):
            self.break_at_assertions = True
        self.break_at = self.reason = self.expected = None

    def break_earlier(self, tx: RootTranslator, signal: GraphBreak) -> None:
        if not signal.stack:  # found out behind the last instruction, or while the frame's values are rebuilt
            signal.stack.append(tx.frame_summary())
        if self.expected is not None:
            self.start_over(signal)
            return
        if signal.born is not None and (self.break_at is None or signal.born < self.break_at):
            self.break_at = signal.born  # what can't be rebuilt must not be made yet
        elif self.break_at is None and tx.returned is None:
            self.break_at = tx.steps
            self.expected_breaks.remember(signal)
        else:
            raise SkipFrame(f"after a break: {signal.text}") from signal.without_frames()
        self.reason = signal.without_frames()
