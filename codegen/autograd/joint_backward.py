"""The backward part of a joint graph.

In:  a joint graph whose forward has been traced.
Out: its outputs by kind, and the traced gradients of each segment (`codegen.autograd.segments`).

Autograd itself computes the gradients: `torch.autograd.grad` runs on the fake outputs while the recorder is
on.
"""

from __future__ import annotations

import torch
from torch.autograd.graph import GradientEdge

from codegen.autograd.joint_graph import Joint, SegmentGrads, differentiable_writes
from codegen.autograd.outputs import classify_outputs, lifted_fakes
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
from codegen.kernel.errors import UntraceableError
from codegen.trace import autocast
from codegen.trace.functionalise import UNSEEN
from codegen.trace.nodes import is_effect
from codegen.trace.trace import Trace


def add_backward(joint: Joint, leaves: list[bool]) -> None:
    """`leaves`: which inputs required grad before the graph ran."""
    targets = close_forward(joint, leaves)
    joint.enables_grad = bool(targets) and not torch.is_grad_enabled()
    if not targets:
        joint.has_views = True
        return
    views = view_places(joint)
    segments = segments_of(joint, leaves, views)
    live = {place for segment in segments for place in segment.result_places()}
    with borders(segments, views) as border:
        for number in reversed(range(len(segments))):
            border.running = segments[number]
            found = grads_of(joint, segments[number], number, live)
            if found is not None:
                joint.segments.insert(0, found)
                live.update(found.edges)
    if len(segments) > 1:
        check_effects(joint)
    join_views(joint, views)


def segments_of(joint: Joint, leaves: list[bool], views: dict[Place, int]) -> list[Segment]:
    check_hooks(joint)
    wanted = wanted_inputs(joint.trace, leaves)
    joint.inputs = {place_of(value): i for i, value in wanted.items()}
    behind = {place: place_of(base_of(joint, number)) for place, number in views.items()}
    return find_segments({i: joint.results[i] for i in joint.differentiable()}, set(joint.inputs), behind)


def view_places(joint: Joint) -> dict[Place, int]:
    """The places in autograd's graph of the outputs that are views, with their numbers.

    In eager, gradients of other results come to these views. So the segments end there, too: also at the
    other results of a call that gives several views.
    """
    found: dict[Place, int] = {}
    for number, (view, tensor) in enumerate(zip(joint.views, joint.viewed)):
        if tensor.requires_grad and tensor.grad_fn is not None and not view.detach:
            step, own = place_of(tensor)
            found[step, own] = number
            for other in range(len(step._input_metadata)):
                found.setdefault((step, other), number)
    return found


def base_of(joint: Joint, number: int) -> torch.Tensor:
    view = joint.views[number]
    bases = {"input": joint.trace.inputs + lifted_fakes(joint.trace), "result": joint.results}
    base: torch.Tensor = bases.get(view.source, joint.viewed)[view.base]
    return base


def join_views(joint: Joint, views: dict[Place, int]) -> None:
    """Numbers the views that segments lead to. The nodes of these are made behind the views."""
    own = {place_of(joint.viewed[number]) for number in views.values()}
    for place in dict.fromkeys(place for segment in joint.segments for place in segment.edges):
        number = views.get(place)
        if number is None:
            continue
        if place not in own:
            joint.views.append(joint.views[number].beside(place[1]))
            number = len(joint.views) - 1
        joint.joined[place] = number
    if joint.joined and joint.writes:
        raise UntraceableError(
            "a result computed from a view that is an output, and a write that autograd sees"
        )


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
    if not segment.edges:
        raise UntraceableError("a result that requires grad, whose gradient reaches no input")
    recorder = joint.trace.recorder
    values = tangents_of(segment, slots, joint.results, recorder.mode)
    names = (f"tangent_{number}_{i}" for i in slots)
    tangents = [recorder.placeholder(name, value) for name, value in zip(names, values)]
    recorder.steps, recorder.memories.in_backward = {}, True
    with recorder, autocast.switched(False):
        wanted = [*edges_to(segment.edges), *ends_behind_hooks(joint)]
        grads = run_autograd(edges_to(segment.slots[i] for i in slots), values, wanted)
    steps, recorder.steps, recorder.memories.in_backward = recorder.steps, None, False
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
    memories = traced.recorder.memories
    if any(tracked.memory.written_as_data and tracked.tensor.requires_grad for tracked in memories.written):
        raise UntraceableError(UNSEEN)
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
