"""What happens to a frame that the hook sees for the first time: the list of steps.

In:  a Frame of the hook (code, function, globals, builtins, locals, failures).
Out: a cache entry to run in its place, or None: Python runs it.

    filter -> recompile accounting -> translate (again, where a break was found) -> backend -> guards -> cache
"""

from __future__ import annotations

import functools
import sys
import threading
import time
import types
from typing import TYPE_CHECKING, Any

import _capture
import torch
import torch.fx

import cache
from capture.backends import llvm, registry
from capture.bytecode.dialects import dialect
from capture.frame.attempts import Attempts, check_divisible
from capture.frame.expected_breaks import ExpectedBreaks
from capture.frame.recompiles import check_limit
from capture.graph.converted_inputs import converted_inputs
from capture.graph.drop_unread import drop_unread_items
from capture.graph.frozen_inputs import freeze_inputs
from capture.hooks.converters import makes_converters
from capture.interpret.output_graph import OutputGraph
from capture.interpret.root_translator import RootTranslator
from capture.output import break_code, frame_code
from capture.output.result_recipe import Recipe, result_recipe
from capture.policy import frame_filter, torch_compile_marks
from capture.process import collection, function_modes, replaced_builtins, signals
from capture.process.thread_state import ThreadState, put_back
from capture.report import log, observe
from capture.report.break_reasons import BreakReason, GraphBreak, SkipFrame
from capture.report.config import config
from capture.report.counters import counters
from capture.report.errors import CaptureError, InternalError, Unsupported
from capture.report.retry import Retry, StateMoved
from capture.sizes.policy import SizeHistory
from capture.variables.core.base import Variable
from capture.variables.core.class_lookup import forget_pending
from codegen.kernel import forks
from guards.assembler import ProgramTooLarge
from guards.failure import explain_failure
from guards.namespace import FrameNamespace
from guards.program import encode

if TYPE_CHECKING:
    from capture.policy.settings import CaptureSettings
    from guards.guard_set import GuardSet

#: one capture at a time: code objects are shared between threads
_lock = forks.held_by_forks(threading.RLock(), forks.CAPTURE)


@makes_converters
class Converter:
    """The hook's callback for one group of settings."""

    def __init__(self, settings: CaptureSettings) -> None:
        self.settings = settings
        self.history = SizeHistory()
        self.expected = ExpectedBreaks()

    def __call__(self, frame: Any) -> Any:
        if replaced_builtins.are_replaced():
            return None
        if frame_filter.callback_of_torch_compile():  # the frame is its own, and so would be all frames below
            return None
        original = torch_compile_marks.disabled_original(frame.function)
        if original is not None:
            return leave_disabled(frame.function, original)
        if frame.code is FILLS_LAZY_MODULE:
            return UNHOOKED
        why = frame_filter.why_not_captured(frame.code)
        if why is not None:
            if not torch_compile_marks.is_wrapper(frame.function):
                _capture.skip_code(frame.code)
            return None
        if frame_filter.why_not_now() is not None:
            return None
        with signals.deferred(), _lock, collection.paused(), function_modes.paused():
            return self._convert(frame)

    def _convert(self, frame: Any) -> Any:
        started, handled = time.perf_counter(), sys.exc_info()[1]
        try:
            if not may_recompile(frame, self.settings):
                return None
            entry = self._entry_of_last_attempt(frame, handled)
        except SkipFrame as skip:
            forget_frames(skip, handled)
            return leave_alone(frame, skip, self.settings)
        except RecursionError:
            return leave_alone(frame, SkipFrame("values are nested deeper than the stack"), self.settings)
        except ProgramTooLarge as error:
            return leave_alone(frame, SkipFrame(str(error)), self.settings)
        except (CaptureError, KeyboardInterrupt, MemoryError):
            raise
        except Exception as error:
            return give_up(frame, error, self.settings)
        seconds = time.perf_counter() - started
        observe.current().on_compile_time("total", seconds, frame.code)
        entry.compile_time = seconds
        counters["frames"]["captured"] += 1
        cache.install(frame.code, entry)
        return entry

    def _entry_of_last_attempt(self, frame: Any, handled: BaseException | None) -> Any:
        """The loop over the attempts at a frame: a signal that ends one says how the next one differs."""
        attempts = Attempts(frame, self.settings, self.history.of(frame.code), self.expected)
        while True:
            tx = attempts.begin()
            try:
                with ThreadState():
                    capture = translate(tx, attempts)
                    attempts.seen.written |= capture.output.side_effects.written_places()
                    entry = build_entry(frame, capture, self.settings)
                    capture.output.forget_objects()
                    return entry
            except Retry as signal:
                try:
                    attempts.follow(signal, tx)
                finally:
                    tx.output.forget_objects()
                    forget_frames(signal, handled)


frame_filter.hide_from_torch_compile(Converter.__call__.__code__)


def forget_frames(error: BaseException, handled: BaseException | None) -> None:
    """What is kept of an error of the translation does not hold its frames: the program's objects would live
    until the next collection.
    `handled`: what the program was handling when the translation began, which is the program's own.
    """
    chain: BaseException | None = error
    while chain is not None and chain is not handled:
        chain.__traceback__, chain = None, chain.__context__


FEW = 40  # instructions: Python runs them sooner than it makes and calls a resume function


class Capture:
    """The outcome of translation."""

    def __init__(self, tx: RootTranslator, value: Variable | None, reason: BreakReason | None) -> None:
        self.tx = tx
        self.output: OutputGraph = tx.output
        self.value = value
        self.reason = reason
        self.recipe: Recipe | None = None
        self.code: frame_code.FrameCode | None = None

    @property
    def outputs(self) -> list[torch.fx.Node]:
        if self.recipe is not None:
            return self.recipe.outputs
        assert self.code is not None
        return self.code.outputs


# --- steps ------------------------------------------------------------------------------------------------


def may_recompile(frame: Any, settings: CaptureSettings) -> bool:
    """Log why existing entries did not fit; False past the limit (with one warning), an error under
    fullgraph.
    """
    with function_modes.resumed():
        return check_limit(frame, settings)


def translate(tx: RootTranslator, attempts: Attempts) -> Capture:
    """Interpret the frame, up to where the graph has to break."""
    started = time.perf_counter()
    state = ThreadState.capture()
    try:
        value = tx.run_to_break(attempts.break_at)
        reason = attempts.reason_at(tx)
        observe.current().on_compile_time("translate", time.perf_counter() - started, attempts.frame.code)
        return finish(tx, value, reason, attempts.settings, attempts.frame)
    except SkipFrame:
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
    """Make the frame's code; decide whether there is anything to capture."""
    reason = None
    tx.output.is_broken = signal is not None
    operations = tx.output.operation_count()
    if signal is not None:
        reason = signal.as_reason()
        if settings.fullgraph:
            raise Unsupported(reason)
        if not operations and not tx.saw_torch:
            raise SkipFrame(f"nothing to capture before: {reason.reason}")
        check_divisible(frame.code, signal)
        if frame_filter.is_whole_or_nothing(frame.code):
            log.get("graph_breaks")("%s", reason)
            return Capture(tx, None, reason)
        counters["graph_breaks"][reason.id] += 1
        observe.current().on_break(reason, frame.code)
        log.get("graph_breaks")("%s", reason)
        if not operations and tx.output.budget.instructions <= FEW and break_code.ends_the_frame(tx):
            return Capture(tx, None, reason)  # no graph before the break, none behind it
    elif not operations:
        guards = tx.output.finished_guards() if tx.saw_torch else None
        raise SkipFrame("no torch operations", guards=guards, idle=True, straight=tx.is_straight)
    tx.output.assertions.check(tx.output)
    tx.output.symbols.check_promises()
    tx.output.unbacked.check()
    tx.output.check_aliasing()
    tx.output.check_generators()
    capture = Capture(tx, value, reason)
    make_code(capture, settings)
    return capture


def make_code(capture: Capture, settings: CaptureSettings) -> None:
    """What runs in place of the frame: a recipe for the value of one graph, or Python code around it."""
    tx = capture.tx
    unsure = settings.fullgraph and tx.output.unbacked.is_uncertain()
    if capture.value is not None:
        if not (tx.output.assertions or tx.output.inputs.draws or tx.output.inputs.new_parameters or unsure):
            capture.recipe = result_recipe(tx.output, capture.value)
        if capture.recipe is None:
            capture.code = frame_code.code_for_return(tx, capture.value)
    else:
        capture.code = break_code.code_for_break(tx)
    if capture.code is not None:
        capture.code.unhooked = settings.fullgraph


def build_entry(frame: Any, capture: Capture, settings: CaptureSettings) -> Any:
    """Compile the graph and put guards around what runs."""
    if capture.recipe is None and capture.code is None:
        return eager_entry(frame, capture, settings)
    output = capture.output
    compiled = compile_graph(output, capture.outputs, settings, frame)
    if compiled is None and capture.recipe is not None:
        straight = capture.tx.is_straight
        raise SkipFrame("no torch operations", guards=output.finished_guards(), idle=True, straight=straight)
    graph = None if compiled is None else called_directly(compiled, output)
    if compiled is not None and not is_worth_running(capture, compiled):
        log.get("graph")("%s is left to Python, which is quicker than its graph", frame.code.co_qualname)
        return eager_entry(frame, capture, settings, unhooked=capture.value is not None)
    inputs = [i.source for i in output.inputs.used()]
    guards = output.finished_guards()
    output_mutates = output.inputs.are_written()
    code = None
    if capture.recipe is not None:
        result, slots = capture.recipe.numbered(inputs)
    else:
        assert capture.code is not None
        capture.code.on_failure = functools.partial(
            after_graph_failure, output_mutates, output.modes.at_entry
        )
        code = frame_code.assemble(capture.code, graph, inputs)
        frame_filter.hide_from_torch_compile(code)
        write_bytecode(frame.code, code)
        slots = capture.code.slots
    started = time.perf_counter()
    program = encode(guards, slots, frame.code)
    check_first_run(frame, guards, program)
    observe.current().on_compile_time("guards", time.perf_counter() - started, frame.code)
    observe.current().on_guards(guards, frame.code)
    if log.get("guards").enabled:
        log.get("guards")("%s:\n%s", frame.code.co_qualname, guards.text)
    if code is not None:
        entry = cache.CacheEntry(program, settings, code=code)
    else:
        entry = cache.CacheEntry(program, settings, graph=graph, result=result, inputs=len(inputs))
        modes = output.modes.at_entry
        entry.on_failure = lambda _, error: after_graph_failure(output_mutates, modes, error)
    entry.guard_set = guards
    return entry


def is_worth_running(capture: Capture, compiled: Any) -> bool:
    """Of a frame that breaks, what is behind the break counts: it is looked at where Python does no more
    there, or works on NumPy's arrays.
    """
    output = capture.output
    if capture.value is not None or break_code.ends_the_frame(capture.tx):
        return llvm.is_worth_running(compiled, output.graph, output.budget.instructions)
    return llvm.is_worth_converting(compiled, output.graph)


def write_bytecode(before: types.CodeType, after: types.CodeType) -> None:
    if log.get("bytecode").enabled:
        texts = [dialect.listing(code) for code in (before, after)]
        log.get("bytecode")("%s:\n%s\nbecomes\n%s", before.co_qualname, *texts)


def check_first_run(frame: Any, guards: GuardSet, program: Any) -> None:
    """The guards hold for the frame that they were made from; if not, no call would ever pass them, and each
    would be a recompile.
    """
    with function_modes.resumed():
        failed, _ = program.check(frame.locals, frame.globals, frame.builtins, frame.function)
    if failed != -1:
        names = (frame.globals, frame.builtins)
        namespace = FrameNamespace.from_localsplus(
            frame.code, frame.locals, _capture.NULL, names, frame.function
        )
        raise StateMoved(f"a guard fails at once: {explain_failure(guards, failed, namespace).text}")


def eager_entry(frame: Any, capture: Capture, settings: CaptureSettings, unhooked: bool = False) -> Any:
    """Under the guards of what was seen so far, the frame is Python's; `unhooked`: with all that it calls."""
    guards = capture.output.finished_guards()
    sampled = capture.tx.is_straight and not settings.fullgraph
    entry = cache.CacheEntry(encode(guards, [], frame.code), settings, unhooked=unhooked, sampled=sampled)
    entry.guard_set = guards
    return entry


def compile_graph(
    output: OutputGraph, outputs: list[torch.fx.Node], settings: CaptureSettings, frame: Any
) -> Any:
    outputs = [*outputs, *output.unbacked.finish()]
    drop_unread_items(output.graph, set(outputs))
    if not output.operation_count():
        return None
    module = output.finished_module(outputs, frame.code.co_name)
    counters["graphs"]["compiled"] += 1
    counters["graphs"]["calls_captured"] += output.operation_count()
    observe.current().on_graph(module, frame.code)
    if log.get("graph").enabled:
        log.get("graph")("%s:\n%s", frame.code.co_qualname, module.print_readable(print_output=False))
    started = time.perf_counter()
    used = output.inputs.used()
    if dict(settings.options).get("freeze"):
        freeze_inputs(output, used)
    state = ThreadState.capture()
    try:  # a backend may run the graph, and with it what the graph does to the thread
        compiled = registry.call(settings, module, [i.example for i in used])
    finally:
        state.restore()
    observe.current().on_compile_time("backend", time.perf_counter() - started, frame.code)
    return compiled


def called_directly(compiled: Any, output: OutputGraph) -> Any:
    """What the entry calls with the graph's inputs, as the frame has them."""
    direct = getattr(compiled, "direct_call", compiled)
    direct = output.unbacked.around(direct)
    if function_modes.at_entry():
        direct = function_modes.WithoutModes(direct)
    places = tuple(
        (place, i.convert) for place, i in enumerate(output.inputs.used()) if i.convert is not None
    )
    return converted_inputs(direct, places) if places else direct


def after_graph_failure(mutates: bool, modes: dict[str, Any], error: BaseException) -> None:
    """A graph raised. Returning means: Python runs the frame from its start and raises the program's own
    error.

    The thread is in the modes again in which the graph was called. Python does not run the frame where the
    backend broke its contract, nor where inputs may have been changed already, nor where a hook may have
    raised.
    """
    put_back(modes, error)
    refused = isinstance(error, getattr(_capture, "CheckFailed", ()))  # before it did anything
    nothing_written = refused or not mutates
    from_hook = (
        not refused and frame_filter.saves_through_hooks()
    )  # it may be a hook that raised, as checkpoint's do to stop
    if (
        not nothing_written
        or from_hook
        or isinstance(error, CaptureError)
        or not isinstance(error, Exception)
    ):
        raise error
    counters["graphs"]["failed_calls"] += 1
    log.get("graph")("a graph raised %s: %s; Python runs the frame", type(error).__name__, error)


# --- other ends -------------------------------------------------------------------------------------------


def leave_alone(frame: Any, skip: SkipFrame, settings: CaptureSettings) -> Any:
    """What it gives is for this run: all that an idle frame calls was interpreted as part of it, none of it
    is worth a look of its own.
    """
    now = UNHOOKED if skip.idle else None
    counters["frames"]["skipped"] += 1
    observe.current().on_skip(str(skip), frame.code)
    log.get("graph_breaks")("%s is left to Python: %s", frame.code.co_qualname, skip)
    if skip.guards is None:
        _capture.skip_code(frame.code)
        return now
    if _capture.added_entries(frame.code) >= config.recompile_limit and not cache.has_captured(frame.code):
        cache.stop_capturing(
            frame.code, settings
        )  # its guards name what lives for one call: analysis for each
        return now
    sampled = skip.straight and not settings.fullgraph  # which has to raise at the first frame that breaks
    program = encode(skip.guards, [], frame.code)
    entry = cache.CacheEntry(program, settings, unhooked=skip.idle, sampled=sampled)
    entry.guard_set = skip.guards
    cache.install(frame.code, entry)
    return now


def leave_disabled(wrapper: types.FunctionType, original: Any) -> Any:
    """The frame of a wrapper that torch.compiler.disable made. All of them share their code, so it gets no
    mark.
    """
    if torch_compile_marks.disables_what_it_calls(wrapper):
        return UNHOOKED
    own = getattr(original, "__func__", original)
    if isinstance(own, types.FunctionType):
        _capture.skip_code(own.__code__)
    return None


#: Python runs the frame, and all that it calls
UNHOOKED = _capture.Entry(None, None, unhooked=True)
#: the hook that gives a lazy module its parameters: it runs once
FILLS_LAZY_MODULE = torch.nn.modules.lazy.LazyModuleMixin._infer_parameters.__code__


def give_up(frame: Any, error: Exception, settings: CaptureSettings) -> None:
    """Our own failure: Python runs the frame, one warning says so. Where a whole graph was asked for, it is
    an error.
    """
    code: types.CodeType = frame.code
    text = f"capture failed on {code.co_qualname}"
    if config.raise_on_error or settings.fullgraph:
        raise InternalError(f"{text}: {log.failure_text(error)}") from error
    counters["frames"]["failed"] += 1
    log.warn_once(code, "failure", f"{text}; it runs eagerly: {log.failure_text(error)}")
    _capture.skip_code(code)
