"""The attempts at the translation of one frame.

In:  the signal that ended the last attempt: a `Retry`.
Out: a translator for the next attempt, and the number of instructions after which it stops.

    GraphBreak after 12 instructions   ->   the next attempt stops there, and the graph ends
    SizesAsNumbers                     ->   the next attempt has no symbols, or fewer
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

from capture.backends.registry import is_own
from capture.bytecode import resume
from capture.frame import handed_on
from capture.interpret.budget import remember_too_long
from capture.interpret.output_graph import OutputGraph
from capture.interpret.root_translator import RootTranslator
from capture.policy import frame_filter, patience
from capture.process import function_modes
from capture.report.break_reasons import GraphBreak, SkipFrame
from capture.report.retry import (
    AssertionsAsBreaks,
    CallsAsBreaks,
    ChangingItems,
    ErrorsAsBreaks,
    FirstStep,
    NumbersChange,
    Retry,
    SizesAsNumbers,
    StateMoved,
    TooLong,
    UnbackedAsBreaks,
    UnexpectedWay,
    Uninitialized,
)
from capture.sizes import item_kinds
from capture.sizes.policy import Seen, SizePolicy
from capture.sizes.unbacked import Allowed
from capture.variables.core.class_lookup import forget_pending
from capture.variables.core.constant import ConstantVariable
from capture.variables.numbers.late_values import LateVariable
from capture.variables.numbers.symbolic import SymbolicVariable

if TYPE_CHECKING:
    from capture.frame.expected_breaks import ExpectedBreak, ExpectedBreaks
    from capture.interpret.translator import Translator
    from capture.policy.settings import CaptureSettings
    from capture.variables.core.base import Variable


MOST_LONG_CALLEES = 2  # that one frame is tried without
MOST_CHANGES = 3  # of numbers that end an attempt where they happen; others show at the end of the frame


class Attempts:
    """The attempts at one frame. `seen` has the sizes and writes that earlier captures of the code saw."""

    expected: ExpectedBreak | None
    break_at: int | None  # the number of instructions before the break
    reason: GraphBreak | None
    left_until: int | None  # the instruction up to which Python runs the frame behind the break

    def __init__(
        self,
        frame: Any,
        settings: CaptureSettings,
        seen: Seen,
        expected_breaks: ExpectedBreaks,
        *,
        may_wait: bool = False,
    ) -> None:
        self.frame = frame
        self.settings = settings
        self.seen = seen
        self.expected_breaks = expected_breaks
        self.long_callees = 0
        self.changes = 0  # of numbers
        self.has_to_pay = patience.has_to_pay()
        self.may_wait = may_wait
        if resume.is_resume(frame.code):
            item_kinds.note_records(seen.kinds, frame)
        self._start_afresh()
        self.expected = expected_breaks.of(frame.code)
        if self.expected is not None:
            self.break_at, self.reason = self.expected.steps, self.expected.signal

    def _start_afresh(self) -> None:
        self.followed: set[type[BaseException]] = set()
        self.policy = SizePolicy(
            self.settings.dynamic_sizes,
            self.seen,
            open_locals=resume.open_locals(self.frame.code),
            may_break=not self.settings.fullgraph,
        )
        self.break_at_assertions = False
        self.unbacked = Allowed.by_settings(self.settings.fullgraph)
        self.defers_calls = True
        self.breaks_before_errors = False
        self._expect_nothing()

    def _expect_nothing(self) -> None:
        self.expected = self.break_at = self.reason = self.left_until = None

    def begin(self) -> RootTranslator:
        forget_pending()
        tx = RootTranslator(
            OutputGraph(
                self.policy,
                break_at_assertions=self.break_at_assertions,
                unbacked=self.unbacked,
                has_to_pay=self.has_to_pay,
                may_wait=self.may_wait,
                splits_at_writes=self.settings.backend_name == "llvm" and not self.settings.fullgraph,
                defers_calls=self.defers_calls,
                breaks_before_errors=self.breaks_before_errors,
                is_native=self.settings.backend_name == "llvm",
                is_own=is_own(self.settings.backend),
                watches_items=self.left_until is None,
                watches_counters=self.changes < MOST_CHANGES,
            ),
            self.frame,
        )
        tx.left_until = self.left_until
        return tx

    def break_where_it_stands(self, tx: RootTranslator) -> None:
        """As after a GraphBreak, but without another attempt: what comes before is not translated again."""
        signal = tx.stopped_by
        if signal is None:
            return
        self.break_at, self.reason = tx.steps, signal
        if signal.breaks_callees:
            self.expected_breaks.remember(signal)

    def reason_at(self, tx: RootTranslator) -> GraphBreak | None:
        """The reason for the break at which `tx` stands; None where the frame returned.

        Raises UnexpectedWay where `tx` stands at another instruction than the expected one.
        """
        if tx.returned is not None:
            return None
        if tx.ends_turn and tx.steps != self.break_at:
            return self._end_of_turn(tx)
        if self.expected is not None and not self.expected.is_where(tx):
            raise UnexpectedWay
        return self.reason

    def _end_of_turn(self, tx: RootTranslator) -> GraphBreak:
        signal = GraphBreak("turn", name=self.frame.code.co_name)
        signal.stack.append(tx.frame_summary())
        return signal.without_frames()

    def note_changes(self, tx: RootTranslator) -> None:
        """Raises NumbersChange where the guards of the frame would fail at the next call, or turn of a loop,
        because of what it hands on itself.
        """
        stores, to_next_turn = handed_on.stores(tx), handed_on.to_next_turn(tx)
        unknown = [
            place for place, value in stores.items() if isinstance(value, (LateVariable, SymbolicVariable))
        ]
        changes = [
            self.policy.note_stores(stores.keys(), _constants(stores), unknown),
            self.policy.note_numbers(_constants(to_next_turn)),
            *(self.policy.note_sizes(*found) for found in handed_on.sizes({**stores, **to_next_turn})),
        ]
        if any(changes):
            raise NumbersChange

    # --- the next attempt ---

    def follow(self, signal: Retry, tx: RootTranslator) -> None:
        """Prepare the next attempt. Raises SkipFrame where there is no next attempt.

        Raises the signal itself where the same kind of signal has come before and would come forever.
        """
        kind = next(kind for kind in type(signal).__mro__ if kind in NEXT)
        if kind in ONCE and kind in self.followed:
            raise signal
        NEXT[kind](self, signal, tx)
        self.followed.add(kind)

    def _break_earlier(self, signal: Any, tx: RootTranslator) -> None:
        if not signal.stack:  # raised after the last instruction, or while the frame's values are rebuilt
            signal.stack.append(tx.frame_summary())
        if signal.skips_frame and not self.settings.fullgraph:
            raise SkipFrame(signal.text) from signal.without_frames()
        if self.expected is not None:
            self._expect_nothing()
            return
        if signal.born is not None and (self.break_at is None or signal.born < self.break_at):
            self.break_at = signal.born  # bytecode can't rebuild the value, so the break comes before it
        elif self.break_at is None and tx.returned is None:
            self.break_at = tx.steps
            if signal.breaks_callees:
                self.expected_breaks.remember(signal)
        else:
            raise SkipFrame(f"after a break: {signal.text}") from signal.without_frames()
        self.reason = signal.without_frames()
        if not self.settings.fullgraph:
            check_worthwhile(tx, signal)
            check_divisible(self.frame.code, signal)

    def _without_symbols(self, signal: Any, tx: RootTranslator) -> None:
        if self.policy.numbers:
            raise signal
        self.policy = self.policy.as_numbers(signal.places)
        self._expect_nothing()

    def _with_symbols(self, signal: Any, tx: RootTranslator) -> None:
        self.changes += 1
        self._expect_nothing()

    def _without_assertions(self, signal: Any, tx: RootTranslator) -> None:
        self.break_at_assertions = True
        self._expect_nothing()

    def _without_unbacked(self, signal: Any, tx: RootTranslator) -> None:
        self.unbacked = Allowed()
        self._expect_nothing()

    def _without_deferred_calls(self, signal: Any, tx: RootTranslator) -> None:
        self.defers_calls = False
        self._expect_nothing()

    def _with_breaks_before_errors(self, signal: Any, tx: RootTranslator) -> None:
        self.breaks_before_errors = True
        self._expect_nothing()

    def _another_way(self, signal: Any, tx: RootTranslator) -> None:
        self._expect_nothing()

    def _in_another_state(self, signal: Any, tx: RootTranslator) -> None:
        self._start_afresh()

    def _without_long_callee(self, signal: Any, tx: RootTranslator) -> None:
        code = too_long(tx)
        self.long_callees += 1
        if code is tx.code or self.long_callees > MOST_LONG_CALLEES:
            raise SkipFrame("its capture would take too many instructions")
        remember_too_long(code)
        self._start_afresh()

    def _with_parameters(self, signal: Any, tx: RootTranslator) -> None:
        with function_modes.resumed():
            signal.initialize()
        self._start_afresh()

    def _without_changing_items(self, signal: Any, tx: RootTranslator) -> None:
        self._expect_nothing()
        self.break_at, self.left_until = signal.begin, signal.end
        self.reason = GraphBreak("changing_items", value=signal.place)
        self.reason.stack.append(tx.frame_summary())
        check_divisible(self.frame.code, self.reason)

    def _no_more(self, signal: Any, tx: RootTranslator) -> None:
        raise signal


NEXT: dict[type[BaseException], Callable[[Attempts, Any, RootTranslator], None]] = {
    GraphBreak: Attempts._break_earlier,
    SizesAsNumbers: Attempts._without_symbols,
    NumbersChange: Attempts._with_symbols,
    AssertionsAsBreaks: Attempts._without_assertions,
    UnbackedAsBreaks: Attempts._without_unbacked,
    CallsAsBreaks: Attempts._without_deferred_calls,
    ErrorsAsBreaks: Attempts._with_breaks_before_errors,
    UnexpectedWay: Attempts._another_way,
    StateMoved: Attempts._in_another_state,
    TooLong: Attempts._without_long_callee,
    ChangingItems: Attempts._without_changing_items,
    Uninitialized: Attempts._with_parameters,
    FirstStep: Attempts._no_more,
}

#: signals that would come forever if they came twice
ONCE = (
    AssertionsAsBreaks,
    UnbackedAsBreaks,
    CallsAsBreaks,
    ErrorsAsBreaks,
    UnexpectedWay,
    StateMoved,
)


def _constants(variables: dict[str, Variable]) -> dict[str, Any]:
    return {p: value.value for p, value in variables.items() if isinstance(value, ConstantVariable)}


def too_long(tx: RootTranslator) -> CodeType:
    """The innermost code that has taken most of the instructions; that of the frame where none is refused."""
    inner: Translator | None = tx.output.translator
    while inner is not None and inner is not tx:
        most = tx.output.budget.instructions - inner.began > tx.output.budget.instructions // 2
        if most and not tx.output.budget.refuses(inner.code):
            return inner.code
        inner = inner.parent
    return tx.code


def check_worthwhile(tx: RootTranslator, signal: GraphBreak) -> None:
    """Raises SkipFrame where the frame has done nothing with torch before the break."""
    if not (tx.output.operation_count() or tx.saw_torch or tx.left_until is not None):
        skip = SkipFrame(f"nothing to capture before: {signal.text}")
        skip.granted = tx.output.granted.taken_over()
        raise skip from signal.without_frames()


def check_divisible(code: CodeType, signal: GraphBreak) -> None:
    """Raises SkipFrame where some code may look at the local variables of the frame.

    After a break, several frames share these variables.
    """
    if frame_filter.asks_for_locals(code):
        raise SkipFrame(f"it may read its own local variables, and breaks: {signal.text}")
    if any(frame_filter.reads_other_locals(below) for below, *_ in signal.frames):
        raise SkipFrame(f"a function that it calls may read its local variables, and breaks: {signal.text}")
