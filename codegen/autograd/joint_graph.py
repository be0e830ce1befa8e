"""Forward and backward in one graph, and what each output of the module is.

In:  `fx.GraphModule` at the level of torch calls and its inputs.
Out: `Joint`: the functional ATen graph of the forward, followed (from node number `boundary` on) by the graph
     of the gradients of each segment (`codegen.autograd.segments`).

    y = (x * w).sum()   ->   mul, sum | tangent_0, expand, mul_1 (for w)

Autograd itself computes the backward part: `torch.autograd.grad` runs on the fake outputs while the recorder
is on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import torch
from torch import fx
from torch.autograd.graph import GradientEdge

from codegen.autograd.outputs import classify_outputs, lifted_fakes
from codegen.autograd.replay import Replay
from codegen.autograd.segments import (
    Place,
    Segment,
    borders,
    edges_to,
    find_segments,
    place_of,
    run_autograd,
    tangents_of,
)
from codegen.fake.fake import FakeMode
from codegen.kernel.errors import UntraceableError
from codegen.kernel.records import dataclass
from codegen.trace import autocast
from codegen.trace.functionalise import Tracked
from codegen.trace.nodes import is_effect
from codegen.trace.trace import Trace, trace


@dataclass(slots=True)
class SegmentGrads:
    """The gradients of the segment `number`: of its `slots`, as far as gradients reach them.

    For each of these slots its place, its tangent, and the number of the result that is there (or None). For
    each edge along which a gradient goes: its number in the segment, where it leads, and the gradient.
    `steps`: what was traced, and for each node the segment's edges that its step of autograd leads to (bits).
    """

    number: int
    slots: list[int]
    results: list[int | None]
    places: list[Place]
    tangents: list[fx.Node]
    edge_numbers: list[int]
    edges: list[Place]
    grads: list[fx.Node]
    steps: dict[fx.Node, int]


@dataclass(slots=True)
class Joint:
    """A traced forward with its backward.

    `results` are the tensors that the compiled forward computes for the caller. `outputs` say what each
    output of the module is: an input (`("input", i)`), a result (`("result", i)`), a `Replay`, or a constant
    (`("constant", value)`).
    """

    trace: Trace
    results: list[torch.Tensor] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    segments: list[SegmentGrads] = field(default_factory=list)  # each after those that its edges lead to
    inputs: dict[Place, int] = field(default_factory=dict)  # places of the inputs that get gradients
    boundary: int = 0  # nodes of the forward
    has_views: bool = False  # outputs that require grad are views of inputs, and no result does
    #: (input, result): the result is copied into the input where autograd sees it
    writes: list[tuple[int, int]] = field(default_factory=list)
    #: grad mode is off around the graph, but switched on inside, and results require grad
    enables_grad: bool = False

    @property
    def is_training(self) -> bool:
        return bool(self.segments)

    def differentiable(self) -> list[int]:
        """Positions of the results that have a gradient."""
        return [i for i, result in enumerate(self.results) if result.requires_grad]


def trace_joint(module: fx.GraphModule, inputs: Sequence[Any], mode: FakeMode) -> Joint:
    """Traces the module; where an output requires grad, its backward too.

    Raises UntraceableError, or the error of an operator.
    """
    joint = Joint(trace(module, inputs, mode))
    check_outputs(joint.trace)
    leaves = [isinstance(value, torch.Tensor) and value.requires_grad for value in inputs]
    outputs = [value for value in joint.trace.outputs if isinstance(value, torch.Tensor)]
    if differentiable_writes(joint.trace) or any(concerns_autograd(joint.trace, value) for value in outputs):
        with mode:
            add_backward(joint, leaves)
    if switches_grad(module):
        check_switches(joint)
    return joint


def check_outputs(traced: Trace) -> None:
    if any(isinstance(v, torch.Tensor) and (v.is_conj() or v.is_neg()) for v in traced.outputs):
        raise UntraceableError("a lazily conjugated or negated output")


def check_sharing(traced: Trace, example_inputs: Sequence[Any]) -> None:
    """Raises where a written input shares memory with another input; the trace sees two memories."""
    written = {tracked.memory.placeholder for tracked in traced.written}
    if not written:
        return
    places = [node for node in traced.graph.nodes if node.op == "placeholder"]
    storages = [
        value.untyped_storage()._cdata
        if isinstance(value, torch.Tensor) and value.layout is torch.strided
        else None
        for value in example_inputs
    ]
    for place, storage in zip(places, storages):
        if place in written and storages.count(storage) > 1:
            raise UntraceableError(f"a write to {place.name}, which shares its memory with another input")


def differentiable_writes(traced: Trace) -> list[Tracked]:
    """Inputs that require grad after they have been written."""
    if not torch.is_grad_enabled():
        return []
    return traced.seen_writes


def switches_grad(module: fx.GraphModule) -> bool:
    return any(node.target is torch._C._set_grad_enabled for node in module.graph.nodes)


def check_switches(joint: Joint) -> None:
    """Raises where grad mode changes around views or writes that autograd sees.

    These are made outside of the graph, in the grad mode of its caller.
    """
    around = frozenset([joint.enables_grad or torch.is_grad_enabled()])
    replays = (kind for kind in joint.outputs if isinstance(kind, Replay))
    if any(not kind.cut_off and not kind.modes <= around for kind in replays):
        raise UntraceableError("a view of an input or result, made in another grad mode than the graph")
    if joint.trace.seen_writes:
        raise UntraceableError("a write to a tensor that requires grad, in a graph that changes grad mode")


def concerns_autograd(traced: Trace, value: torch.Tensor) -> bool:
    """Whether the output has a gradient, or is a detached view of an input.

    Without grad mode, a view of an input that requires grad reports that it requires grad too, but autograd
    does not record it.
    """
    tracked = traced.recorder.find(value)
    place = tracked.memory.placeholder
    if not value.requires_grad:
        return place is not None and bool(place.meta["val"].requires_grad)
    return torch.is_grad_enabled() or tracked.with_grad or place is None


def add_backward(joint: Joint, leaves: list[bool]) -> None:
    """`leaves`: which inputs required grad before the graph ran."""
    targets = close_forward(joint, leaves)
    joint.enables_grad = bool(targets) and not torch.is_grad_enabled()
    if not targets:
        joint.has_views = True
        return
    segments = segments_of(joint, leaves)
    live = {place for segment in segments for place in segment.result_places()}
    with borders(segments) as border:
        for number in reversed(range(len(segments))):
            border.running = segments[number]
            found = grads_of(joint, segments[number], number, live)
            if found is not None:
                joint.segments.insert(0, found)
                live.update(found.edges)
    if len(segments) > 1:
        check_effects(joint)


def segments_of(joint: Joint, leaves: list[bool]) -> list[Segment]:
    check_hooks(joint)
    wanted = wanted_inputs(joint.trace, leaves)
    joint.inputs = {place_of(value): i for i, value in wanted.items()}
    return find_segments({i: joint.results[i] for i in joint.differentiable()}, set(joint.inputs))


def check_hooks(joint: Joint) -> None:
    """Raises where a result has a hook. Hooks that the program adds later run behind it, in eager. But they
    would come first where this one is a part of the graph.
    """
    if any(joint.results[i]._backward_hooks for i in joint.differentiable()):
        raise UntraceableError("a hook on the gradient of a result")


def check_effects(joint: Joint) -> None:
    """Raises where a hook may have an effect: the trace calls it also where a segment ends at its tensor."""
    steps = (step for segment in joint.segments for step in segment.steps)
    if joint.trace.recorder.mode.has_hooks and any(map(is_effect, steps)):
        raise UntraceableError("random numbers or checks in the backward of a graph with hooks")


def ends_behind_hooks(joint: Joint) -> list[GradientEdge]:
    """What autograd has to compute, too, where the graph has hooks.

    Autograd calls the hooks of a tensor before it takes the gradient there, unless gradients go on behind it.
    But a hook on a slot belongs to the slot's own segment.
    """
    return edges_to(joint.inputs) if joint.trace.recorder.mode.has_hooks else []


def grads_of(joint: Joint, segment: Segment, number: int, live: set[Place]) -> SegmentGrads | None:
    """Traces the gradients of a segment; None where no gradient reaches it.

    Raises for a result that requires grad and whose gradient reaches no input, such as a norm that counts
    elements: it would have no node.
    """
    slots = [i for i, place in enumerate(segment.slots) if place in live]
    if not slots:
        return None
    recorder = joint.trace.recorder
    values = tangents_of(segment, slots, joint.results, recorder.mode)
    names = (f"tangent_{number}_{i}" for i in slots)
    tangents = [recorder.placeholder(name, value) for name, value in zip(names, values)]
    recorder.steps = {}
    with recorder, autocast.switched(False):
        wanted = [*edges_to(segment.edges), *ends_behind_hooks(joint)]
        grads = run_autograd(edges_to(segment.slots[i] for i in slots), values, wanted)
    steps, recorder.steps = recorder.steps, None
    grads = grads[: len(segment.edges)]
    edges = [i for i, grad in enumerate(grads) if grad is not None]
    if not edges:
        raise UntraceableError("a result that requires grad, whose gradient reaches no input")
    return SegmentGrads(
        number=number,
        slots=slots,
        results=[segment.results[i] for i in slots],
        places=[segment.slots[i] for i in slots],
        tangents=tangents,
        edge_numbers=edges,
        edges=[segment.edges[i] for i in edges],
        grads=[recorder.node_of(grads[i]) for i in edges],
        steps={node: segment.ways.get(step, 0) for node, step in steps.items()},
    )


def close_forward(joint: Joint, leaves: list[bool]) -> list[torch.Tensor]:
    """Ends the forward part and returns the results that have a gradient."""
    traced = joint.trace
    number = classify_outputs(joint)
    if joint.differentiable():
        check_unseen_writes(traced)
    written = differentiable_writes(traced)
    for tracked in written:
        place = next((i for i, value in enumerate(traced.inputs) if value is tracked.tensor), None)
        if place is None or leaves[place]:
            raise UntraceableError("a write to an input that requires grad")
        joint.writes.append((place, number(tracked.tensor)))
    traced.copy_back(outside=written)
    joint.boundary = len(traced.graph.nodes)
    return [joint.results[i] for i in joint.differentiable()]


def check_unseen_writes(traced: Trace) -> None:
    """Raises where a write that autograd does not see may change a saved tensor.

    Eager's backward refuses some of these graphs; the traced one would not notice.
    """
    if traced.recorder.memories.written_as_data:
        raise UntraceableError(
            "a write through Tensor.data, which autograd does not see, among operations that it records"
        )
    hidden = [
        tracked
        for tracked in traced.written
        if tracked.tensor.requires_grad and not tracked.memory.written_with_grad
    ]
    if hidden and torch.is_grad_enabled():
        raise UntraceableError(
            "a write without grad mode to an input that requires grad, among operations that autograd records"
        )


def wanted_inputs(traced: Trace, leaves: list[bool]) -> dict[int, torch.Tensor]:
    """The inputs that get a gradient, by their position; then those of the module's own tensors that do."""
    wanted = {i: value for i, (value, is_leaf) in enumerate(zip(traced.inputs, leaves)) if is_leaf}
    own = enumerate(lifted_fakes(traced), len(traced.inputs))
    return wanted | {i: fake for i, fake in own if fake.requires_grad}
