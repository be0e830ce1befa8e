"""The compiler: a graph of torch calls becomes a callable of native code.

In:  `fx.GraphModule` at the level of torch calls (as a Dynamo backend gets it), its inputs; optionally a
     store of machine code.
Out: `CompiledGraph`, or `TrainingGraph` where outputs need gradients, or `EagerGraph` where the graph can't
     be compiled.

    f = compile_fx(gm, [x, y]);  f(x, y)  ->  (tensor, ...)

The steps: trace (functional ATen graph) -> joint graph and partition (training) -> lower -> fuse, schedule ->
LLVM -> launch plan.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)
from torch.autograd import grad_mode

from codegen.autograd.asked_inputs import AsksForGradients, apart_places, asked_places
from codegen.autograd.joint_graph import Joint, check_sharing, trace_joint
from codegen.autograd.training import TrainingGraph, UnderGradMode, ViewsGraph
from codegen.convolutions import BACKWARD, FORWARD
from codegen.fake.fake import mode_of_a_trace
from codegen.kernel import events
from codegen.kernel.errors import NotSymbolic, UnsupportedTensor, UntraceableError
from codegen.kernel.graph_module import GraphModule
from codegen.kernel.watching import unwatched
from codegen.kernel.wrapper import GraphWrapper
from codegen.launch.assembly import assemble
from codegen.launch.compiled import (
    CompiledGraph,
    EagerFallback,
    EagerGraph,
    InInferenceMode,
    calibrate,
    is_available,
    refuse,
)
from codegen.trace import autocast

if TYPE_CHECKING:
    from codegen.autograd.partition import BackwardPart, Parts
    from codegen.autograd.segment_backward import SegmentBackward
    from codegen.dynamic.symbolic_graph import SymbolicGraph
    from codegen.dynamic.symbolic_training import SymbolicTraining
    from codegen.trace.trace import Trace

log = logging.getLogger("capture.codegen")

Compiled = CompiledGraph | TrainingGraph | ViewsGraph | EagerGraph | Callable[..., tuple[Any, ...]]

Fallback = Callable[..., tuple[Any, ...]]

EXPECTED = (
    UntraceableError,
    UnsupportedTensor,
    UnsupportedOperatorException,
    DataDependentOutputException,
    DynamicOutputShapeException,
)


@unwatched()
def compile_fx(
    gm: fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    store: Any = None,
    kernels: bool = True,
    frozen: frozenset[int] = frozenset(),
    refuses: bool = False,
) -> Compiled:
    """Compiles `gm` for inputs like `example_inputs` (tensors, numbers), and for the present grad mode.

    Inputs are alike if they have the same dtypes, sizes, strides and requires_grad; inputs of another layout
    are an error. The callable takes the placeholders in order and returns a tuple.

    `frozen`: positions of inputs that are the same tensors with the same contents at every call; the caller
    ensures this. They become constants of a graph that computes no gradients. `kernels=False`: each ATen
    operator of the traced graphs is called, none is compiled (this separates the effects of tracing from the
    effects of kernels). Eager runs a graph that can't be compiled; the log `capture.codegen` says why.
    `refuses`: where an index is out of range, or an operator raises, the graph raises `_capture.CheckFailed`
    and has written nothing, so the caller can run the program. Otherwise eager runs such a graph again.
    """
    try:
        check_inputs(example_inputs)
        inside = without_inference_region(gm)
        if inside is not gm:
            with torch.inference_mode():
                options = {"store": store, "kernels": kernels, "frozen": frozen, "refuses": refuses}
                return InInferenceMode(compile_fx(inside, example_inputs, **options))
        with mode_of_a_trace() as mode:
            with events.phase("trace"):
                joint = trace_joint(gm, example_inputs, mode)
                check_sharing(joint.trace, example_inputs)
            fallback = fallback_of(gm, refuses)
            graph = finish(gm, example_inputs, joint, store, kernels, frozen, fallback)
            places = asked_places(joint.trace)
            graph = AsksForGradients(graph, places, apart_places(joint.trace), fallback) if places else graph
        return autocast.WithoutAutocast(graph) if autocast.is_on() else graph
    except EXPECTED as reason:
        log.info("the graph runs through eager: %s: %s", type(reason).__name__, reason)
        events.tell("eager_graph", reason=f"{type(reason).__name__}: {reason}")
        return EagerGraph(gm, f"{type(reason).__name__}: {reason}")
    except RuntimeError as error:  # an operator refused its arguments; eager will, at the user's line
        log.info("the graph runs through eager: tracing it raised %s: %s", type(error).__name__, error)
        events.tell("eager_graph", reason=f"{type(error).__name__}: {error}")
        return EagerGraph(gm, f"{type(error).__name__}: {error}")


@unwatched()
def compile_for_sizes(
    gm: fx.GraphModule, example_inputs: Sequence[Any], *, store: Any = None, refuses: bool = False
) -> SymbolicGraph | SymbolicTraining | autocast.SizedWithoutAutocast | None:
    """Compiles a graph whose int placeholders are symbols of its sizes, once for all sizes.

    None where it has no such form: the log `capture.codegen` says why.
    """
    from codegen.dynamic.compile_symbolic import compile_symbolic  # lazy: imports sympy

    try:
        check_inputs(example_inputs)
        if without_inference_region(gm) is not gm:
            raise NotSymbolic("an inference mode region")
        calibrate()
        fallback = fallback_of(gm, refuses)
        graph = compile_symbolic(gm, example_inputs, store=store, fallback=fallback)
        return autocast.SizedWithoutAutocast(graph) if autocast.is_on() else graph
    except Exception as reason:  # whatever fails with symbols: numbers may work
        log.info("the graph is compiled for each of its sizes: %s: %s", type(reason).__name__, reason)
        return None


ENTER, LEAVE = grad_mode._enter_inference_mode, grad_mode._exit_inference_mode


def without_inference_region(gm: fx.GraphModule) -> fx.GraphModule:
    """`gm` itself, or a copy without the calls that put all of it into inference mode.

    Raises UntraceableError where only a part of it is in that mode.
    """
    calls = [node for node in gm.graph.nodes if node.op.startswith("call_")]
    if not any(node.target in (ENTER, LEAVE) for node in calls):
        return gm
    first, last = calls[0], calls[-1]
    whole = first.target is ENTER and first.args[0] is True and last.target is LEAVE
    if not whole or any(node.target in (ENTER, LEAVE) for node in calls[1:-1]):
        raise UntraceableError("a part of the graph is in inference mode")
    inside = GraphModule(gm, gm.graph.__deepcopy__({}))
    names = (last.name, first.name)
    for name in names:
        inside.graph.erase_node(next(node for node in inside.graph.nodes if node.name == name))
    inside.recompile()
    return inside


def check_inputs(example_inputs: Sequence[Any]) -> None:
    if not is_available():
        raise UntraceableError("the extension _capture is not built")
    for value in example_inputs:
        if isinstance(value, torch.Tensor) and value.device.type != "cpu":
            raise UntraceableError(f"an input on {value.device}")
        if not isinstance(value, torch.Tensor) and type(value) is not int:
            raise UntraceableError(f"an input that is a {type(value).__name__}")


def finish(
    gm: fx.GraphModule,
    example_inputs: Sequence[Any],
    joint: Joint,
    store: Any,
    kernels: bool,
    frozen: frozenset[int],
    fallback: Fallback,
) -> Compiled:
    if joint.is_training:
        return finish_training(gm, example_inputs, joint, store, kernels, fallback)
    if joint.has_views:
        return finish_views(joint, store, kernels, fallback)
    return finish_inference(joint, store, kernels, {i: example_inputs[i] for i in frozen}, fallback)


def finish_inference(
    joint: Joint, store: Any, kernels: bool, frozen: dict[int, torch.Tensor], fallback: Fallback
) -> Compiled:
    traced = joint.trace
    with traced.recorder.mode:
        traced.copy_back()
        graph = traced.finish(traced.output_nodes(traced.outputs))
    if frozen:
        freeze_inputs(graph, traced, frozen)
    elif kernels:
        lay_out([graph])
    compiled = assemble(graph, store=store, kernels=kernels, fallback=fallback, changes=traced.changes)
    compiled.views = traced.views()
    return WithLifted(compiled, traced.lifted) if traced.lifted else compiled


def freeze_inputs(graph: fx.Graph, traced: Trace, frozen: dict[int, torch.Tensor]) -> None:
    from codegen.freeze.frozen import freeze  # lazy: import time

    places = [node for node in graph.nodes if node.op == "placeholder"]
    written = {tracked.memory.placeholder for tracked in traced.written}
    freeze(graph, {places[i]: value for i, value in frozen.items() if places[i] not in written})


def finish_training(
    gm: fx.GraphModule,
    example_inputs: Sequence[Any],
    joint: Joint,
    store: Any,
    kernels: bool,
    fallback: Fallback,
) -> Compiled:
    parts, segments = backward_parts(gm, example_inputs, joint, store, kernels)
    changes = joint.trace.changes
    forward = assemble(parts.forward, store=store, kernels=kernels, fallback=refuse, changes=changes)
    lifted = joint.trace.lifted
    graph = TrainingGraph(
        joint.outputs, joint.writes, parts, forward, segments, fallback, lifted, joint.views
    )
    return UnderGradMode(graph) if joint.enables_grad else graph


def backward_parts(
    gm: fx.GraphModule, example_inputs: Sequence[Any], joint: Joint, store: Any, kernels: bool
) -> tuple[Parts, list[SegmentBackward]]:
    """The joint graph in parts, and the segments of its backward. None of them is compiled yet."""
    # lazy: import time
    from codegen.autograd.derivatives import DerivativeRecipe
    from codegen.autograd.orders import call_by_call
    from codegen.autograd.partition import partition
    from codegen.autograd.segment_backward import SegmentBackward
    from codegen.autograd.segment_form import forms_of

    with joint.trace.recorder.mode, events.phase("partition"):
        parts = partition(joint)
        if kernels:
            lay_out_parts(parts)
    recipe = DerivativeRecipe(gm, example_inputs, parts)
    subject = events.subject()._replace(role="backward")

    def backward(part: BackwardPart, graph: fx.Graph) -> CompiledGraph:
        if kernels and graph is not part.graph:
            from codegen.convolutions.channels_last import lay_out_as  # lazy: import time

            lay_out_as(graph, part.graph, len(part.saved_places))

        def again(*args: Any) -> tuple[Any, ...]:  # after a failed check: the operator raises its own error
            return call_by_call(graph, args)

        with events.about(subject):
            return assemble(graph, store=store, kernels=kernels, conform=True, fallback=again)

    segments = [
        SegmentBackward(part, form, recipe, functools.partial(backward, part), kernels)
        for part, form in zip(parts.backward, forms_of(parts.backward))
    ]
    return parts, segments


def lay_out(graphs: list[fx.Graph], passed: Sequence[tuple[fx.Node, fx.Node]] = ()) -> None:
    """Chooses the layouts of images, in graphs that have some."""
    if any(node.target in (FORWARD, BACKWARD) for graph in graphs for node in graph.nodes):
        from codegen.convolutions import channels_last  # lazy: import time

        channels_last.lay_out(graphs, passed)


def lay_out_parts(parts: Parts) -> None:
    """Chooses one layout for what passes from the forward to the backward."""
    given: Any = parts.forward.output_node().args[0]
    passed = [
        (given[result], placeholder)
        for part in parts.backward
        for result, placeholder in zip(part.saved_results, part.given_results(), strict=True)
        if result >= parts.result_count
    ]
    lay_out([parts.forward, *(part.graph for part in parts.backward)], passed)


@unwatched()
def backward_again(
    gm: fx.GraphModule, example_inputs: Sequence[Any], *, store: Any, kernels: bool
) -> list[SegmentBackward]:
    """The segments of the backward of a training graph whose forward is compiled already."""
    with mode_of_a_trace() as mode:
        joint = trace_joint(gm, example_inputs, mode)
        return backward_parts(gm, example_inputs, joint, store, kernels)[1]


def finish_views(joint: Joint, store: Any, kernels: bool, fallback: Fallback) -> ViewsGraph:
    traced = joint.trace
    with traced.recorder.mode:
        graph = traced.finish(traced.output_nodes(joint.results))
    forward = assemble(graph, store=store, kernels=kernels, fallback=refuse, changes=traced.changes)
    return ViewsGraph(joint.outputs, forward, joint.views, fallback, traced.lifted)


def fallback_of(gm: fx.GraphModule, refuses: bool) -> Fallback:
    if refuses:
        return refuse
    fallback = EagerFallback(gm)
    return autocast.WithAutocast(fallback) if autocast.is_on() else fallback


class WithLifted(GraphWrapper):
    """A compiled graph whose module holds tensors; they are its last arguments."""

    def __init__(self, graph: CompiledGraph, lifted: list[torch.Tensor]) -> None:
        super().__init__(graph)
        self.lifted = tuple(lifted)

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        results: tuple[Any, ...] = self.graph(*args, *self.lifted)
        return results


__all__ = ["compile_fx"]
