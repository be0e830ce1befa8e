"""Translate a frame in one attempt: interpret its bytecode, then make the code that replaces it.

In:  the translator of this attempt, and the instruction at which it stops.
Out: a `Capture`: the graph, and a result recipe or a `FrameCode` around it.
     Raises `SkipFrame` where there is nothing to capture. Raises a `Retry` where another attempt is needed.

    def f(x): return x * 2 + 1     ->     graph: mul, add; recipe: ("out", 0)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import torch.fx

from capture.frame.attempts import Attempts, check_divisible, check_worthwhile
from capture.interpret import grad_mode
from capture.interpret.output_graph import OutputGraph
from capture.interpret.root_translator import RootTranslator
from capture.output.result_recipe import Recipe, result_recipe
from capture.policy import frame_filter
from capture.process.thread_state import ThreadState
from capture.report import observe, progress
from capture.report.break_reasons import BreakReason, GraphBreak, SkipFrame
from capture.report.errors import Unsupported
from capture.variables.core.base import Variable
from capture.variables.core.class_lookup import forget_pending

if TYPE_CHECKING:
    from capture.output.frame_code import FrameCode
    from capture.policy.settings import CaptureSettings
    from guards.program import Assembled, InPython
    from guards.sources import Source

FEW = 40  # instructions that Python runs faster than it makes and calls a resume function


class Capture:
    """The outcome of translation."""

    def __init__(self, tx: RootTranslator, value: Variable | None, reason: BreakReason | None) -> None:
        self.tx = tx
        self.output: OutputGraph = tx.output
        self.value = value
        self.reason = reason
        self.changes_length = False  # the break is a walk over what has another length in each call
        self.recipe: Recipe | None = None
        self.code: FrameCode | None = None
        self.forward: Callable[..., Any] | None = None  # the graph, call by call
        self.compiled: Any = None  # what the backend made of the graph
        self.graph: Any = None  # the same, as the entry calls it
        self.any_grad_mode = False  # the entry serves each grad mode
        self.draws_in_vain = False  # where it raises, Python may have to draw its numbers again
        self.places: list[Any] = []  # of the program, for each node of the graph
        self.slots: list[Source] = []  # that the guard program loads
        self.assembled: Assembled | InPython | None = None  # that program

    def ends_the_frame(self) -> bool:
        """Whether the frame only returns the result of the instruction that breaks the graph."""
        from capture.output import break_code  # lazy: import time

        return break_code.ends_the_frame(self.tx)

    @property
    def outputs(self) -> list[torch.fx.Node]:
        if self.recipe is not None:
            return self.recipe.outputs
        assert self.code is not None
        return self.code.outputs


def translate(tx: RootTranslator, attempts: Attempts) -> Capture:
    """Interpret the frame up to its end, or up to the place where the graph has to break."""
    state = ThreadState.capture()
    try:
        name = observe.present_name(attempts.frame.code)
        with observe.phase("translate"), progress.showing(name, "translating", tx.output.operation_count):
            value = tx.run_to_break(attempts.break_at)
        attempts.break_where_it_stands(tx)
        reason = attempts.reason_at(tx)
        attempts.note_changes(tx)
        return finish(tx, value, reason, attempts.settings, attempts.frame)
    except SkipFrame as skip:
        skip.granted = skip.granted or tx.output.granted.taken_over()
        tx.output.forget_objects()
        raise
    finally:
        forget_pending()
        tx.output.modes.leave_all_contexts()
        state.restore()


def finish(
    tx: RootTranslator,
    value: Variable | None,
    signal: GraphBreak | None,
    settings: CaptureSettings,
    frame: Any,
) -> Capture:
    """Decide whether there is anything to capture, then make the frame's code."""
    tx.output.is_broken = signal is not None
    late = signal is not None and frame_filter.reads_eager_tensors(frame.code)
    tx.output.wants_eager = late or (signal is not None and signal.wants_eager)
    capture = Capture(tx, value, None if signal is None else signal.as_reason())
    if signal is not None:
        capture.changes_length = signal.changes_length
        if not goes_on_after_break(capture, signal, settings, frame):
            return capture
    elif not tx.output.operation_count():
        if tx.saw_torch and grad_mode.does_not_matter(tx.output):
            tx.output.guarding.any_grad_mode()
        tx.output.guarding.without_changes()
        guards = tx.output.finished_guards() if tx.saw_torch else None
        raise SkipFrame("no torch operations", guards=guards, idle=True, straight=tx.is_straight)
    tx.output.assertions.check(tx.output)
    tx.output.symbols.check_promises()
    tx.output.unbacked.check()
    tx.output.changed_flags.check()
    tx.output.check_aliasing()
    tx.output.check_generators()
    tx.output.check_classes()
    make_code(capture, settings)
    if capture.recipe is not None and grad_mode.does_not_matter(tx.output, capture.outputs):
        tx.output.guarding.any_grad_mode()
        capture.any_grad_mode = True
    tx.output.inner_gradients.check(capture.outputs)
    return capture


def goes_on_after_break(capture: Capture, signal: GraphBreak, settings: CaptureSettings, frame: Any) -> bool:
    """Log the break. False where Python should run the whole frame: then the capture has no code."""
    tx, reason = capture.tx, capture.reason
    assert reason is not None
    # A program may always switch capture off again, and on: such a break is no error.
    if settings.fullgraph and reason.id != "call_of_capture":
        observe.tell("break", reason=reason, is_error=True)
        raise Unsupported(reason)
    check_worthwhile(tx, signal)
    check_divisible(frame.code, signal)
    if frame_filter.is_whole_or_nothing(frame.code):
        observe.tell("left", reason=str(reason), always=False, callees_too=False)
        return False
    observe.tell("break", reason=reason, is_error=False)
    few = tx.output.budget.instructions <= FEW
    has_no_graph = (
        not tx.output.operation_count() and few and capture.ends_the_frame()
    )  # before the break or after it
    return not has_no_graph


def make_code(capture: Capture, settings: CaptureSettings) -> None:
    """Make a recipe for the value of one graph, or Python code around the graph."""
    tx = capture.tx
    unsure = settings.fullgraph and tx.output.unbacked.is_uncertain()
    inputs = tx.output.inputs
    needs_code = inputs.draws or inputs.clocks or inputs.new_parameters
    if capture.value is not None:
        if not (tx.output.assertions or needs_code or unsure):
            capture.recipe = result_recipe(tx.output, capture.value)
        if capture.recipe is None:
            from capture.output.frame_code import code_for_return  # lazy: import time

            capture.code = code_for_return(tx, capture.value)
    else:
        assert capture.reason is not None
        from capture.output.break_code import code_for_break  # lazy: import time

        capture.code = code_for_break(tx, capture.reason.id, capture.changes_length)
    if capture.code is not None:
        capture.code.unhooked = settings.fullgraph
