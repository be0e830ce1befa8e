"""Forward and backward in one graph, and what each output of the module is.

In:  `fx.GraphModule` at the level of torch calls and its inputs.
Out: `Joint`: the functional ATen graph of the forward, followed (from node number `boundary` on) by the graph
     of the gradients of each segment (`codegen.autograd.segments`).

    y = (x * w).sum()   ->   mul, sum | tangent_0, expand, mul_1 (for w)

The backward part comes from `codegen.autograd.joint_backward`, where an output requires grad.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from capture_records import dataclass
from codegen.autograd.replay import Replay
from codegen.fake.fake import FakeMode
from codegen.kernel.errors import UntraceableError
from codegen.trace.functionalise import Tracked
from codegen.trace.trace import Trace, trace

if TYPE_CHECKING:
    from codegen.autograd.segments import Place


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
    output of the module is: an input (`("input", i)`), a result (`("result", i)`), a view (`("view", i)`), or
    a constant (`("constant", value)`). `views` say how the views are made, outside of the compiled code, and
    `viewed` are the traced ones.
    """

    trace: Trace
    results: list[torch.Tensor] = field(default_factory=list)
    views: list[Replay] = field(default_factory=list)  # each after the one that it is a view of
    viewed: list[torch.Tensor] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    segments: list[SegmentGrads] = field(default_factory=list)  # each after those that its edges lead to
    inputs: dict[Place, int] = field(default_factory=dict)  # places of the inputs that get gradients
    joined: dict[Place, int] = field(default_factory=dict)  # places of the views that other results lead to
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
    # before the trace: a write may give an input a gradient
    leaves = [isinstance(value, torch.Tensor) and value.requires_grad for value in inputs]
    joint = Joint(trace(module, inputs, mode))
    check_outputs(joint.trace)
    check_flags(joint.trace, leaves)
    outputs = [value for value in joint.trace.outputs if isinstance(value, torch.Tensor)]
    if differentiable_writes(joint.trace) or any(concerns_autograd(joint.trace, value) for value in outputs):
        from codegen.autograd.joint_backward import add_backward  # lazy: import time

        with mode:
            add_backward(joint, leaves)
    if switches_grad(module):
        check_switches(joint)
    return joint


def check_outputs(traced: Trace) -> None:
    outputs = [value for value in traced.outputs if isinstance(value, torch.Tensor)]
    if any(value.is_conj() or value.is_neg() for value in outputs):
        raise UntraceableError("a lazily conjugated or negated output")
    if any(value.requires_grad and is_of_new_leaf(traced.recorder.find(value)) for value in outputs):
        raise UntraceableError("an output that the graph makes a leaf, or a view of one")


def is_of_new_leaf(tracked: Tracked | None) -> bool:
    """Whether it is a tensor for which the graph calls `requires_grad_`, or a view of one."""
    while tracked is not None and not (tracked.memory.placeholder and tracked.parent is None):
        if tracked.tensor.is_leaf and tracked.tensor.requires_grad and not looks_like_leaf(tracked):
            return True
        tracked = tracked.parent
    return False


def looks_like_leaf(tracked: Tracked) -> bool:
    """Whether it is a view without grad mode of a tensor that requires grad. Such a view says that, too."""
    if tracked.parent is None or tracked.view is None or tracked.with_grad:
        return False
    return tracked.parent.tensor.requires_grad


def check_flags(traced: Trace, leaves: list[bool]) -> None:
    """Raises where the graph changes the `requires_grad` of an input that is a leaf."""
    for value, is_leaf in zip(traced.inputs, leaves):
        if isinstance(value, torch.Tensor) and value.is_leaf and value.requires_grad != is_leaf:
            raise UntraceableError("a graph that changes whether an input requires grad")


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
    """`torch.autograd.grad` computes its gradients in a mode of its own."""
    return any(
        node.target in (torch._C._set_grad_enabled, torch.autograd.grad) for node in module.graph.nodes
    )


def check_switches(joint: Joint) -> None:
    """Raises where grad mode changes around views, or between writes, that autograd sees.

    These are made outside of the graph, in the grad mode of its caller. All writes to an input are one there.
    """
    around = frozenset([joint.enables_grad or torch.is_grad_enabled()])
    if any(not view.cut_off and not view.modes <= around for view in joint.views):
        raise UntraceableError("a view of an input or result, made in another grad mode than the graph")
    written = joint.trace.seen_writes
    if (around != {True} and written) or any(each.memory.written_without_grad for each in written):
        raise UntraceableError("writes in another grad mode than the graph, to a tensor that requires grad")


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
