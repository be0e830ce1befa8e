"""Derivatives of a compiled backward, which `create_graph=True` needs.

In:  a training graph whose backward is run in grad mode.
Out: its gradients as the results of one more node of autograd's graph. The backward of this node computes the
     next derivative.

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
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import fx

from codegen.kernel.records import dataclass

try:
    import _capture
except ImportError:
    _capture = None

from codegen.autograd.joint_graph import Joint, close_forward, ends_behind_hooks, segments_of
from codegen.autograd.partition import BackwardPart, Parts, copy_graph
from codegen.autograd.segments import borders, edges_to, place_of, run_autograd, tangents_of
from codegen.fake.fake import FakeMode, fake_mode, mode_of_a_trace
from codegen.fake.shapes.spec import Spec, is_dense, like, same_layout
from codegen.fake.twins import make_fake, to_fake
from codegen.kernel.errors import UntraceableError
from codegen.kernel.watching import not_for_torch_compile, unwatched
from codegen.launch.assembly import assemble
from codegen.launch.compiled import CompiledGraph
from codegen.trace import autocast
from codegen.trace.module_runner import fetch
from codegen.trace.nodes import is_effect
from codegen.trace.trace import trace

log = logging.getLogger("capture.codegen")

#: for each earlier order: which of its tangents require grad
Required = tuple[tuple[bool, ...], ...]

NO_DERIVATIVE = (
    "the backward of a captured graph can't be differentiated: {reason}. Run this part without capture "
    "(capture.disable) to take its derivative."
)


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

    def finished(self, found: Differentiated) -> Differentiated:
        """The traced graphs, with numbers in place of symbols."""
        return found


@dataclass(slots=True)
class Differentiated:
    """The graph of one order, and what the next order has to know of it.

    `graph`: (saved, tangents of all orders) -> a gradient or None for each wanted input, then for each
    tangent of the earlier orders that requires grad. `differentiable`: which gradients of the order before
    have a derivative. `reached`: to which of the wanted inputs and earlier tangents these lead. In eager a
    backward runs no hook of the others.
    """

    graph: fx.Graph
    differentiable: list[bool]
    reached: list[bool]
    tangents: list[torch.Tensor]  # of this order, as fakes


Strides = tuple[tuple[int, ...], ...]


@unwatched()
def differentiate(
    recipe: DerivativeRecipe, part: BackwardPart, required: Required, strides: Strides | None = None
) -> Differentiated:
    """The graph of order `len(required) + 1` for a part of the backward.

    `strides`: the strides of the tangents of the first order, where they differ from the strides of the
    results.
    """
    with mode_of_a_trace() as mode, recipe.surroundings():
        joint = recipe.forward(mode)
        with mode, torch.enable_grad():
            found = Orders(joint, recipe, part, mode).graph(required, strides)
    return recipe.finished(found)


class Orders:
    """A forward that was traced again, and the gradients of a part of its backward."""

    def __init__(self, joint: Joint, recipe: DerivativeRecipe, part: BackwardPart, mode: FakeMode) -> None:
        self.joint = joint
        self.mode = mode
        self.segments = segments_of(joint, recipe.leaves)
        self.segment = self.segments[part.number]
        self.slots = part.slot_numbers
        self.targets: list[Any] = edges_to(self.segment.slots[i] for i in part.slot_numbers)
        self.sources: list[Any] = edges_to(self.segment.edges[i] for i in part.edge_numbers)
        nodes = list(joint.trace.graph.nodes)
        self.available = [nodes[place] for place in part.saved_places]
        self.saved_slots = [self.segment.slots[part.slot_numbers[i]] for i in part.saved_slots]

    def graph(self, required: Required, strides: Strides | None) -> Differentiated:
        recorder = self.joint.trace.recorder
        differentiable: list[bool] = []
        ends = ends_behind_hooks(self.joint)
        with borders(self.segments, bool(self.saved_slots)) as border:
            border.running = self.segment
            for order, requires in enumerate((*required, None)):
                tangents = self.tangents(order, requires, strides)
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
        reached = led_to(self.targets, self.sources) if required else [True] * len(self.sources)
        return Differentiated(graph, differentiable, reached, tangents)

    def tangents(
        self, order: int, requires: tuple[bool, ...] | None, strides: Strides | None
    ) -> list[torch.Tensor]:
        """Tangents like the targets. Those that `requires` names require grad."""
        if order == 0:
            made = tangents_of(self.segment, self.slots, self.joint.results, self.mode)
        else:
            made = [self.mode.new(like(target), target.device) for target in self.targets]
        if strides is not None and order == 0:
            specs = [Spec(tuple(t.shape), own, t.dtype) for t, own in zip(made, strides)]
            made = [self.mode.new(spec, tangent.device) for spec, tangent in zip(specs, made)]
        for i, tangent in enumerate(made):
            self.available.append(self.joint.trace.recorder.placeholder(f"tangent_{order}_{i}", tangent))
            tangent.requires_grad_(requires is not None and requires[i])
        return made


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
        return differentiate(recipe, part, (), strides).graph
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
        if step.name() == "torch::autograd::Error":
            raise UntraceableError(
                "trying to differentiate twice a function that was marked with @once_differentiable"
            )
        seen.add(step)
        pending += [following for following, _ in step.next_functions]


def led_to(targets: Sequence[torch.Tensor], sources: Sequence[Any]) -> list[bool]:
    """To which of the sources, tensors or edges, a way leads from the targets in autograd's graph."""
    places = [place_of(s) if isinstance(s, torch.Tensor) else (s.node, s.output_nr) for s in sources]
    pending = [place_of(target) for target in targets]
    found = set()
    followed = set()
    while pending:
        place = step, _ = pending.pop()
        if place in places:
            found.add(place)
        elif step is not None and step not in followed:
            followed.add(step)
            pending += step.next_functions
    return [place in found for place in places]


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


# --- at run time ------------------------------------------------------------------------------------------


class Order:
    """The gradients of one order."""

    def __init__(
        self,
        recipe: DerivativeRecipe,
        part: BackwardPart,
        required: Required,
        found: Differentiated,
        kernels: bool,
    ) -> None:
        self.graph = found.graph
        self.differentiable = found.differentiable
        self.reached = found.reached
        self.layouts = [(tangent.shape, tangent.dtype) for tangent in found.tangents]
        self.kernels = kernels
        self.lock = threading.Lock()
        self.compiled: CompiledGraph | None = None
        self.next = NextOrder(recipe, part, required, kernels)

    def compile(self) -> CompiledGraph:
        with self.lock:
            if self.compiled is None:
                self.compiled = assemble(
                    self.graph, kernels=self.kernels, conform=True, fallback=self.run_checked
                )
            return self.compiled

    def run_checked(self, *args: Any) -> tuple[Any, ...]:
        """Runs by eager's operators where a check of a kernel failed: the operator raises its own error."""
        return call_by_call(self.graph, args)

    def run(
        self, saved: Sequence[Any], tangents: Sequence[Any], edges: Sequence[torch.Tensor]
    ) -> Sequence[Any]:
        """`saved`: the tensors that the forward saved, then the tangents of the earlier orders."""
        tangents = zeros_for(tangents, self.layouts)
        if not all(map(_capture.is_plain, tangents)):  # such as the batches of `is_grads_batched`
            return call_by_call(self.graph, (*saved, *tangents))
        with torch.no_grad():
            grads = self.compile()(*saved, *tangents)
        return self.next.join(grads, saved, tangents, edges) if torch.is_grad_enabled() else grads


class NextOrder:
    """The derivatives of gradients. `required` says which tangents of the earlier orders require grad."""

    def __init__(
        self, recipe: DerivativeRecipe, part: BackwardPart, required: Required, kernels: bool
    ) -> None:
        self.recipe = recipe
        self.part = part
        self.required = required
        self.kernels = kernels
        self.orders: dict[tuple[bool, ...], Order | str] = {}

    def order(self, requires: tuple[bool, ...]) -> Order | str:
        """The order for tangents of which these require grad, or the reason why there is none.

        It is traced at its first use.
        """
        found = self.orders.get(requires)
        if found is None:
            found = self.orders[requires] = self.make((*self.required, requires))
        return found

    def make(self, required: Required) -> Order | str:
        try:
            found = differentiate(self.recipe, self.part, required)
            return Order(self.recipe, self.part, required, found, self.kernels)
        except Exception as error:  # any error of autograd is raised where the derivative is used
            log.info("a backward has no derivative: %s: %s", type(error).__name__, error)
            return NO_DERIVATIVE.format(reason=error)

    def join(
        self,
        grads: Sequence[Any],
        saved: Sequence[Any],
        tangents: Sequence[Any],
        edges: Sequence[torch.Tensor],
    ) -> Sequence[Any]:
        """The gradients as results of a node that leads to the edges, the saved slots, and the tangents.

        `edges`: tensors that stand for the places of the edges in autograd's graph.
        """
        order: Order | str = NO_DERIVATIVE.format(reason="this build of torch is not known")
        if not self.required:
            edges = [*edges, *(_capture.edge_to(saved[place]) for place in self.part.saved_slot_values)]
        if any(edge is None for edge in edges):
            edges = [torch.empty(0, requires_grad=True)]
        else:
            order = self.order(tuple(tangent.requires_grad for tangent in tangents))
        saved = [*saved, *tangents]
        later = [tensor for tensor in saved[len(self.part.saved_places) :] if tensor.requires_grad]
        sources = [*edges, *later]
        if isinstance(order, Order):
            sources = of_reached(order, sources)
        joined: Sequence[Any] = join(order, saved, edges, apart(grads, tangents), *sources)
        return joined


class Gradients(torch.autograd.Function):
    """Computed gradients as results of a node of autograd's graph."""

    @staticmethod
    def forward(
        ctx: Any, order: Order | str, saved: list[Any], edges: Any, grads: list[Any], *sources: Any
    ) -> tuple[Any, ...]:
        ctx.order = order
        ctx.set_materialize_grads(False)
        if isinstance(order, Order):
            ctx.edges = edges
            ctx.save_for_backward(*saved)
            pairs = zip(grads, order.differentiable, strict=True)
            ctx.mark_non_differentiable(*(grad for grad, has in pairs if grad is not None and not has))
        return tuple(grads)

    @staticmethod
    @not_for_torch_compile
    def backward(ctx: Any, *sent: Any) -> Any:
        if isinstance(ctx.order, str):
            raise RuntimeError(ctx.order)
        tangents = [tangent for tangent, has in zip(sent, ctx.order.differentiable, strict=True) if has]
        grads = ctx.order.run(ctx.saved_tensors, tangents, ctx.edges)
        return None, None, None, None, *of_reached(ctx.order, grads)


def of_reached(order: Order, values: Sequence[Any]) -> list[Any]:
    """The values of the inputs and earlier tangents to which the gradients lead."""
    return [value for value, reached in zip(values, order.reached, strict=True) if reached]


#: skips `torch.autograd.Function.apply`, whose checks are for functorch
join = super(torch.autograd.Function, Gradients).apply


def apart(grads: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """Each gradient as a separate tensor.

    Without this, it may be a tangent, or the gradient of another input.
    """
    seen = {id(tangent) for tangent in tangents}
    result = []
    for grad in grads:
        if grad is not None and id(grad) in seen:
            grad = grad.detach()
        seen.add(id(grad))
        result.append(grad)
    return result


def zeros_for(
    tangents: Sequence[Any], layouts: Sequence[tuple[torch.Size, torch.dtype]]
) -> Sequence[torch.Tensor]:
    """Zeros in place of the tangents that are missing."""
    pairs = zip(tangents, layouts, strict=True)
    return [torch.zeros(shape, dtype=dtype) if t is None else t for t, (shape, dtype) in pairs]


def call_by_call(graph: fx.Graph, args: Sequence[Any]) -> tuple[Any, ...]:
    """Runs a closed graph of gradients by eager's operators, on tensors of any kind."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            NO_DERIVATIVE.format(reason="its gradients come in batches, or are not plain tensors")
        )
    values: dict[fx.Node, Any] = {}
    rest = iter(args)
    for node in graph.nodes:
        if node.op == "placeholder":
            values[node] = next(rest)
        elif node.op == "get_attr":
            assert graph.owning_module is not None
            values[node] = fetch(graph.owning_module, str(node.target))
        elif node.op == "call_function":
            given, options = fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
            values[node] = node.target(*given, **options)
    results: Any = graph.output_node().args[0]
    outputs: tuple[Any, ...] = fx.node.map_arg(results, values.__getitem__)
    return outputs
