"""Make the cache entry of a frame from its translation.

In:  the frame, its `Capture`, the settings.
Out: a `CacheEntry`: the compiled graph or code, and the guard program that says when it fits.

    Capture(graph, recipe)     ->     CacheEntry(program, settings.key, graph=compiled, result=...)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import _capture
import torch

import cache
from capture.backends import llvm, registry
from capture.bytecode.dialects import dialect
from capture.frame.graph_failure import FailureHandler, call_by_call, failure_handler_of
from capture.graph.converted_inputs import converted_inputs
from capture.graph.drop_unread import drop_unread_items
from capture.graph.frozen_inputs import freeze_inputs
from capture.graph.program_places import PLACES
from capture.interpret.output_graph import OutputGraph
from capture.policy import frame_filter
from capture.process import function_modes
from capture.process.thread_state import ThreadState
from capture.report import observe, progress
from capture.report.break_reasons import SkipFrame
from capture.report.config import config
from capture.report.retry import CallsAsBreaks, ErrorsAsBreaks, SizesAsNumbers, StateMoved
from guards.conditions import ComputedSource
from guards.failure import explain_failure
from guards.kinds.sizes import ShapeGuard
from guards.namespace import FrameNamespace
from guards.program import assemble, encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from capture.frame.translation import Capture
    from capture.policy.settings import CaptureSettings
    from guards.guard_set import GuardSet
    from guards.sources import Source


def build_entry(frame: Any, capture: Capture, settings: CaptureSettings) -> Any:
    """Compile the graph, assemble the code, and encode the guards."""
    if capture.recipe is None and capture.code is None:
        return eager_entry(frame, capture, settings)
    output = capture.output
    chosen = registry.eager_in_place_of(settings) if output.wants_eager else settings
    if not registry.may_fail_unchanged(chosen):
        check_late_errors(output, None, settings)  # before the backend is called
    compiled = compile_graph(capture, chosen, frame)
    if compiled is None and capture.recipe is not None:
        straight = capture.tx.is_straight
        raise SkipFrame("no torch operations", guards=output.finished_guards(), idle=True, straight=straight)
    capture.draws_in_vain = compiled is not None and may_draw_in_vain(compiled, output)
    graph = None if compiled is None else called_directly(compiled, output, capture.draws_in_vain)
    if compiled is not None:
        output.assertions.check_compiled(output, fails_unchanged(compiled))
        check_late_errors(output, compiled, settings)
    if compiled is not None and not is_worth_running(capture, compiled):
        observe.tell("left", reason="it is faster than its graph", always=False, callees_too=False)
        return eager_entry(frame, capture, settings, unhooked=capture.value is not None)
    guards = output.finished_guards()
    build = recipe_entry if capture.recipe is not None else code_entry
    entry = build(frame, capture, settings, graph, guards)
    entry.guard_set = guards
    entry.breaks = capture.value is None
    entry.trains = trains(capture)
    entry.has_graph = graph is not None
    capture.graph = graph
    return entry


def check_late_errors(output: OutputGraph, compiled: Any, settings: CaptureSettings) -> None:
    """Raises ErrorsAsBreaks where an error of the graph may come behind changes that nothing undoes."""
    if output.late_errors.breaks or settings.fullgraph:
        return
    if output.late_errors.matters and output.inputs.are_written() and not fails_unchanged(compiled):
        raise ErrorsAsBreaks


def fails_unchanged(compiled: Any) -> bool:
    """Whether the callable has written to none of its inputs if it raises. That is so for native code."""
    return bool(getattr(compiled, "fails_unchanged", False))


def trains(capture: Capture) -> bool:
    """Whether a backward may run through what the frame computes."""
    if capture.value is None and torch.is_grad_enabled():  # its resume functions may
        return True
    results = (node.meta["example_value"] for node in capture.outputs)
    return any(getattr(result, "requires_grad", False) for result in results)


def recipe_entry(
    frame: Any, capture: Capture, settings: CaptureSettings, graph: Any, guards: GuardSet
) -> Any:
    """An entry whose value a result recipe makes."""
    assert capture.recipe is not None
    inputs = input_sources(capture)
    on_failure = failure_handler(frame, capture, settings)
    result, slots = capture.recipe.numbered(inputs)
    capture.slots = slots
    program = encode_guards(frame, capture, guards)
    entry = cache.CacheEntry(program, settings.key, graph=graph, result=result, inputs=len(inputs))
    entry.on_failure = lambda _, error, inputs: on_failure(error, inputs)
    return entry


def code_entry(frame: Any, capture: Capture, settings: CaptureSettings, graph: Any, guards: GuardSet) -> Any:
    """An entry that runs Python code around the graph."""
    assert capture.code is not None
    if (
        capture.code.deferred.calls
        and capture.output.inputs.are_written()
        and not (capture.output.late_errors.breaks or fails_unchanged(capture.compiled))
    ):
        raise CallsAsBreaks
    capture.code.on_failure = failure_handler(frame, capture, settings)
    from capture.output import frame_code  # lazy: import time

    code = frame_code.assemble(capture.code, graph, input_sources(capture))
    frame_filter.hide_from_torch_compile(code)
    capture.slots = capture.code.slots
    observe.tell(
        "bytecode", before=frame.code, after=code, listing=dialect.listing, slots=capture.slots, graph=graph
    )
    return cache.CacheEntry(encode_guards(frame, capture, guards), settings.key, code=code)


def input_sources(capture: Capture) -> list[Source]:
    return [i.source for i in capture.output.inputs.used()]


def encode_guards(frame: Any, capture: Capture, guards: GuardSet) -> Any:
    """The guard program, checked on the frame that it was made from."""
    with observe.phase("guards"):
        capture.assembled = assemble(guards, capture.slots, frame.code)
        program = capture.assembled.program()
        check_first_run(frame, guards, capture.slots, program)
    observe.tell("guards", guards=guards)
    return program


def is_worth_running(capture: Capture, compiled: Any) -> bool:
    """Whether to run the graph: Python may be faster.

    A frame that goes on after its break may have further graphs. There, only a graph of nothing but NumPy
    operations is compared with Python.
    """
    output = capture.output
    if capture.value is not None or capture.ends_the_frame():
        return llvm.is_worth_running(compiled, output.graph, output.budget.instructions)
    return llvm.is_worth_converting(compiled, output.graph)


def check_first_run(frame: Any, guards: GuardSet, slots: Sequence[Source], program: Any) -> None:
    """Raises a signal where the guards fail for the frame that they were made from.

    Without this check, no call would pass them, and each call would recompile.
    """
    with function_modes.resumed():
        failed, _ = program.check(frame.locals, frame.globals, frame.builtins, frame.function)
    if failed != -1:
        names = (frame.globals, frame.builtins)
        namespace = FrameNamespace.from_localsplus(
            frame.code, frame.locals, _capture.NULL, names, frame.function
        )
        # a condition on numbers fails where one of them leaves 64 bits, and so does a number that is computed
        checks = [*guards, *slots]
        of_numbers = isinstance(checks[failed], (ShapeGuard, ComputedSource))
        signal = SizesAsNumbers if of_numbers else StateMoved
        raise signal(f"a guard fails at once: {explain_failure(guards, failed, namespace).text}")


def eager_entry(frame: Any, capture: Capture, settings: CaptureSettings, unhooked: bool = False) -> Any:
    """An entry that leaves the frame to Python while the guards hold. `unhooked`: its callees too."""
    guards = capture.output.finished_guards()
    sampled = capture.tx.is_straight and not settings.fullgraph
    entry = cache.CacheEntry(encode(guards, [], frame.code), settings.key, unhooked=unhooked, sampled=sampled)
    entry.guard_set = guards
    entry.breaks = capture.value is None
    return entry


def compile_graph(capture: Capture, chosen: CaptureSettings, frame: Any) -> Any:
    """The callable that the backend makes of the graph. None if there are no operations."""
    output = capture.output
    outputs = [*capture.outputs, *output.unbacked.finish()]
    drop_unread_items(output.graph, set(outputs))
    if not output.operation_count():
        return None
    module = output.finished_module(outputs, frame.code.co_name)
    capture.places = vars(module)[PLACES]
    used = output.inputs.used()
    number = observe.new_graph()
    observe.tell("graph", module=module, operations=output.operation_count(), inputs=used)
    if dict(chosen.options).get("freeze"):
        freeze_inputs(output, used)
    if not registry.is_own(chosen.backend):
        module.write()  # the backend may edit the graph
    capture.forward = called_directly(call_by_call(module), output)
    if config.check:
        from capture.checking.watch import check_graph  # lazy: import time

        check_graph(module, [i.example for i in used], chosen, frame.code)
    state = ThreadState.capture()
    try:  # a backend may run the graph, and the graph may change the state of the thread
        showing = progress.showing(observe.present_name(frame.code), "compiling", output.operation_count)
        with observe.about_graph(number), observe.phase("backend"), showing:
            compiled = registry.call(chosen, module, [i.example for i in used])
    finally:
        state.restore()
    capture.compiled = compiled
    return compiled


def called_directly(compiled: Any, output: OutputGraph, draws_in_vain: bool = False) -> Any:
    """The callable that takes the graph's inputs as the frame has them."""
    direct = getattr(compiled, "direct_call", compiled)
    direct = output.unbacked.around(direct, draws_in_vain)
    if function_modes.at_entry():
        direct = function_modes.WithoutModes(direct)
    places = tuple(
        (place, i.convert) for place, i in enumerate(output.inputs.used()) if i.convert is not None
    )
    return converted_inputs(direct, places) if places else direct


def may_draw_in_vain(compiled: Any, output: OutputGraph) -> bool:
    """Whether the graph may raise behind draws that Python makes again then.

    Native code draws late, but a kernel that checks a condition may need drawn numbers for its other results.
    """
    if not output.fake_mode.has_drawn:
        return False
    return output.assertions.are_in_graph if fails_unchanged(compiled) else not output.inputs.are_written()


def failure_handler(frame: Any, capture: Capture, settings: CaptureSettings) -> FailureHandler:
    output = capture.output
    mutates = output.inputs.are_written()
    handler = failure_handler_of(frame.code, settings, capture.forward, mutates, output.modes.at_entry)
    if capture.any_grad_mode:
        handler.leave_grad_mode()
    return handler
