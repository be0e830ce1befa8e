"""The graphs of derivatives of a compiled backward, which `create_graph=True` needs.

In:  a training graph and a part of its backward.
Out: the graph of the next derivative (`codegen/autograd/orders.py` runs it).

    (g,) = torch.autograd.grad(f(x), x, create_graph=True);  g.square().sum().backward()

The module is traced once more on fake tensors, and autograd itself differentiates it as often as needed. So
`detach`, custom functions and hooks do the same to derivatives as in eager. Only the last derivative is
compiled. It starts from the tensors that the forward saved: everything else that it reads has to be
computable from these.

    order 1: saved, tangents  ->  gradients                       (codegen/autograd/training.py)
    order 2: saved, tangents, tangents of those gradients  ->  gradients of the inputs and of the first
        tangents
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import fx

from capture_records import dataclass
from codegen.autograd.joint_backward import close_forward, ends_behind_hooks, segments_of, view_places
from codegen.autograd.joint_graph import Joint
from codegen.autograd.partial_backward import Partials
from codegen.autograd.partition import BackwardPart, Parts, copy_graph
from codegen.autograd.segments import borders, edges_to, place_of, run_autograd, tangents_of
from codegen.fake.fake import FakeMode, fake_mode, mode_of_a_trace
from codegen.fake.shapes.spec import Spec, is_dense, like, same_layout
from codegen.fake.twins import make_fake, step_name, to_fake
from codegen.kernel.errors import UntraceableError
from codegen.kernel.watching import unwatched
from codegen.trace import autocast
from codegen.trace.nodes import is_effect
from codegen.trace.trace import trace

log = logging.getLogger("capture.codegen")

#: for each earlier order: which of its tangents require grad
Required = tuple[tuple[bool, ...], ...]


class DerivativeRecipe:
    """How to trace a module again: its inputs without their data, and the process state of the trace."""

    def __init__(self, module: fx.GraphModule, inputs: Sequence[Any], parts: Parts) -> None:
        mode = fake_mode()
        self.module = module
        self.inputs = [to_fake(mode, value) if isinstance(value, torch.Tensor) else value for value in inputs]
        mode.forget_tensors()
        self.leaves = [isinstance(value, torch.Tensor) and value.requires_grad for value in inputs]
        self.parts = parts
        self.grad_mode = torch.is_grad_enabled()
        self.default_dtype = torch.get_default_dtype()
        self.autocast = torch.autocast(
            "cpu", torch.get_autocast_dtype("cpu"), autocast.is_on(), torch.is_autocast_cache_enabled()
        )

    @contextmanager
    def surroundings(self) -> Iterator[None]:
        default = torch.get_default_dtype()
        torch.set_default_dtype(self.default_dtype)
        try:
            with torch.autocast("cpu", enabled=False), torch.set_grad_enabled(self.grad_mode):
                yield
        finally:
            torch.set_default_dtype(default)

    def fakes(self, mode: FakeMode) -> list[Any]:
        return [make_fake(mode, v) if isinstance(v, torch.Tensor) else v for v in self.inputs]

    def forward(self, mode: FakeMode) -> Joint:
        """Traces the forward once more."""
        with self.autocast:
            joint = Joint(trace(self.module, self.fakes(mode), mode))
        with mode:
            close_forward(joint, self.leaves)
        if joint.boundary != self.parts.forward_size:
            raise UntraceableError("its second trace has another result")
        return joint

    def derivative(self, part: BackwardPart, required: Required) -> Derivative:
        """The next derivative of a part of the backward."""
        return differentiate(self, part, required)

    def finished(self, found: Differentiated) -> Differentiated:
        """The traced graphs, as far as this recipe is for given sizes."""
        return found

    def may_compile(self) -> bool:
        """Whether a derivative without code is compiled. Otherwise it runs operator by operator."""
        return True


Layout = tuple[Sequence[int], torch.dtype]  # sizes and dtype


class Derivative(Protocol):
    """What `Differentiated` has. `compiled`: its code, where it is compiled already."""

    differentiable: list[bool]
    reach: list[int]
    compiled: Any

    def partials(self) -> Partials | None:
        """For some of its tangents, where these are compiled otherwise than the whole."""

    @property
    def graph(self) -> fx.Graph: ...

    def tangent_layouts(self) -> list[Layout]: ...

    def result_layouts(self) -> list[Layout | None]:
        """Of the gradients; None where there is none."""


@dataclass(slots=True)
class Differentiated:
    """The graph of one order, and what the next order has to know of it.

    `graph`: (saved, tangents of all orders) -> a gradient or None for each wanted input, then for each
    tangent of the earlier orders that requires grad. `differentiable`: which gradients of the order before
    have a derivative. `reach`: for each of these, to which of the wanted inputs and earlier tangents it
    leads, as bits. In eager a backward runs no hook of the others.
    """

    graph: fx.Graph
    differentiable: list[bool]
    reach: list[int]
    tangents: list[torch.Tensor]  # of this order, as fakes
    compiled: Any = None

    def tangent_layouts(self) -> list[Layout]:
        return [(tangent.shape, tangent.dtype) for tangent in self.tangents]

    def result_layouts(self) -> list[Layout | None]:
        results: Any = self.graph.output_node().args[0]
        values = [None if result is None else result.meta["val"] for result in results]
        return [None if value is None else (value.shape, value.dtype) for value in values]

    def partials(self) -> Partials | None:
        return None


#: for each tangent of the first order its strides, of its sizes; None: it lies as its result
Layouts = Sequence[Callable[[tuple[Any, ...]], tuple[Any, ...]] | None]


@unwatched()
def differentiate(
    recipe: DerivativeRecipe, part: BackwardPart, required: Required, layouts: Layouts | None = None
) -> Differentiated:
    """The graph of order `len(required) + 1` for a part of the backward."""
    with mode_of_a_trace() as mode, recipe.surroundings():
        joint = recipe.forward(mode)
        with mode, torch.enable_grad():
            found = Orders(joint, recipe, part, mode).graph(required, layouts)
    return recipe.finished(found)


class Orders:
    """A forward that was traced again, and the gradients of a part of its backward."""

    def __init__(self, joint: Joint, recipe: DerivativeRecipe, part: BackwardPart, mode: FakeMode) -> None:
        self.joint = joint
        self.mode = mode
        self.views = view_places(joint)
        self.segments = segments_of(joint, recipe.leaves, self.views)
        self.segment = self.segments[part.number]
        self.slots = part.slot_numbers
        self.targets: list[Any] = edges_to(self.segment.slots[i] for i in part.slot_numbers)
        self.sources: list[Any] = edges_to(self.segment.edges[i] for i in part.edge_numbers)
        nodes = list(joint.trace.graph.nodes)
        self.available = [nodes[place] for place in part.saved_places]
        self.saved_slots = [self.segment.slots[part.slot_numbers[i]] for i in part.saved_slots]

    def graph(self, required: Required, layouts: Layouts | None) -> Differentiated:
        recorder = self.joint.trace.recorder
        differentiable: list[bool] = []
        ends = ends_behind_hooks(self.joint)
        with borders(self.segments, self.views, bool(self.saved_slots)) as border:
            border.running = self.segment
            for order, requires in enumerate((*required, None)):
                tangents = self.tangents(order, requires, layouts)
                with recorder:
                    wanted = [*self.sources, *ends]
                    grads = run_autograd(self.targets, tangents, wanted, requires is not None)
                grads = grads[: len(self.sources)]
                if order == 0:
                    border.closed.update(self.saved_slots)
                    self.sources += edges_to(self.saved_slots)
                if requires is not None:
                    check_no_refusal(grads)
                    differentiable = [grad is not None and grad.requires_grad for grad in grads]
                    self.targets = [grad for grad in grads if grad is not None and grad.requires_grad]
                    self.sources += [tangent for tangent in tangents if tangent.requires_grad]
        outputs = [None if grad is None else recorder.node_of(grad) for grad in grads]
        steps = steps_to(outputs, set(self.available))
        graph = copy_graph(self.joint, steps, self.available, outputs)
        reach = led_to(self.targets, self.sources) if required else []
        return Differentiated(graph, differentiable, reach, tangents)

    def tangents(
        self, order: int, requires: tuple[bool, ...] | None, layouts: Layouts | None
    ) -> list[torch.Tensor]:
        """Tangents like the targets. Those that `requires` names require grad."""
        if order == 0:
            made = tangents_of(self.segment, self.slots, self.joint.results, self.mode)
        else:
            made = [self.mode.new(like(target), target.device) for target in self.targets]
        if layouts is not None and order == 0:
            made = [
                tangent if own is None else self.laid_out(tangent, own) for tangent, own in zip(made, layouts)
            ]
        for i, tangent in enumerate(made):
            self.available.append(self.joint.trace.recorder.placeholder(f"tangent_{order}_{i}", tangent))
            tangent.requires_grad_(requires is not None and requires[i])
        return made

    def laid_out(
        self, tangent: torch.Tensor, own: Callable[[tuple[Any, ...]], tuple[Any, ...]]
    ) -> torch.Tensor:
        shape = tuple(tangent.shape)
        return self.mode.new(Spec(shape, own(shape), tangent.dtype), tangent.device)


def backward_for(recipe: DerivativeRecipe, part: BackwardPart, tangents: Sequence[torch.Tensor]) -> fx.Graph:
    """The backward for tangents with these strides, where they differ from the strides of the results.

    Its gradients have the strides that eager gives them, and nothing is copied first. The existing backward
    is returned where this one can't be made: some tangents are expanded, it makes checks, or the forward
    saved too little.
    """
    expected = part.tangent_values
    strides = tuple(tangent.stride() for tangent in tangents)
    if all(map(laid_out_like, tangents, expected)):
        return part.graph
    if any(
        tangent.shape != other.shape or tangent.dtype != other.dtype
        for tangent, other in zip(tangents, expected)
    ):
        return part.graph
    if any(not is_dense(tangent.shape, own) for tangent, own in zip(tangents, strides)):
        return part.graph
    if any(is_effect(node) for node in part.graph.nodes):
        return part.graph
    try:
        layouts = [lambda _, own=own: own for own in strides]
        return differentiate(recipe, part, (), layouts).graph
    except Exception as error:  # the existing one copies the tangents
        log.info("there is no backward for gradients of other strides: %s: %s", type(error).__name__, error)
        return part.graph


def laid_out_like(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether both have the same strides; the stride of a dim of size 1 does not matter.

    It matters in tensors of one element or none, because their layout has nothing else.
    """
    if tensor.numel() < 2:
        return tensor.stride() == other.stride()
    return same_layout(tensor.shape, tensor.stride(), other.stride())


def check_no_refusal(grads: Sequence[torch.Tensor | None]) -> None:
    """Raises where a custom function is marked with `once_differentiable`.

    Such a function leaves a node that raises. The node leads nowhere, so autograd does not run it here.
    """
    pending = [grad.grad_fn for grad in grads if grad is not None]
    seen = set()
    while pending:
        step = pending.pop()
        if step is None or step in seen:
            continue
        if step_name(step) == "torch::autograd::Error":
            raise UntraceableError(
                "trying to differentiate twice a function that was marked with @once_differentiable"
            )
        seen.add(step)
        pending += [following for following, _ in step.next_functions]


def led_to(targets: Sequence[torch.Tensor], sources: Sequence[Any]) -> list[int]:
    """To which of the sources, tensors or edges, each target leads in autograd's graph, as bits."""
    places = [place_of(s) if isinstance(s, torch.Tensor) else (s.node, s.output_nr) for s in sources]
    bits: dict[Any, int] = {}
    for i, place in enumerate(places):
        bits[place] = bits.get(place, 0) | 1 << i
    reach: dict[Any, int] = {None: 0}  # of steps

    def through(place: Any) -> int:
        return bits[place] if place in bits else reach[place[0]]

    tops = [place_of(target) for target in targets]
    for step in producers_first([step for step, _ in tops]):
        found = 0
        for place in step.next_functions:
            found |= through(place)
        reach[step] = found
    return [through(place) for place in tops]


def producers_first(tops: Sequence[Any]) -> list[Any]:
    """The steps of autograd's graph from these on, each after those that it leads to."""
    ordered: dict[Any, None] = {}
    pending = [(step, False) for step in tops if step is not None]
    opened = set()
    while pending:
        step, is_done = pending.pop()
        if is_done:
            ordered[step] = None
        elif step not in opened:
            opened.add(step)
            pending.append((step, True))
            pending += [(after, False) for after, _ in step.next_functions if after is not None]
    return list(ordered)


def steps_to(outputs: Sequence[fx.Node | None], available: set[fx.Node]) -> list[fx.Node]:
    """The calls that compute `outputs` from the available nodes, in order."""
    steps: set[fx.Node] = set()
    pending = [node for node in outputs if node is not None]
    while pending:
        node = pending.pop()
        if node in available or node in steps:
            continue
        if node.op == "placeholder" or is_effect(node):
            raise UntraceableError(f"it needs the value of {node.name}, which the forward does not keep")
        steps.add(node)
        pending += node.all_input_nodes
    return sorted(steps)
