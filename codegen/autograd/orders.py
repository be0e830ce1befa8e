"""Gradients that have derivatives themselves.

In:  the gradients of a compiled backward that is run in grad mode.
Out: the same gradients as results of one more node of autograd's graph. The backward of this node computes
     the next derivative (`codegen/autograd/derivatives.py` has its graph).

    (g,) = torch.autograd.grad(f(x), x, create_graph=True)   ->   g.grad_fn is <GradientsBackward>
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

try:
    import _capture
except ImportError:
    _capture = None

from capture_records import dataclass
from codegen.autograd.batched_tangents import gradients_of_batches
from codegen.autograd.derivatives import Derivative, DerivativeRecipe, Layout, Required
from codegen.autograd.partial_arguments import set_of
from codegen.autograd.partial_backward import CompiledPartials, Partials
from codegen.autograd.partition import BackwardPart
from codegen.autograd.segments import place_of
from codegen.kernel.watching import not_for_torch_compile
from codegen.launch.assembly import assemble
from codegen.launch.compiled import CompiledGraph
from codegen.trace.module_runner import fetch

log = logging.getLogger("capture.codegen")

NO_DERIVATIVE = (
    "the backward of a captured graph can't be differentiated: {reason}. Run this part without capture "
    "(capture.disable) to take its derivative."
)


class Order:
    """The gradients of one order."""

    def __init__(
        self,
        recipe: DerivativeRecipe,
        part: BackwardPart,
        required: Required,
        found: Derivative,
        kernels: bool,
    ) -> None:
        self.found = found
        self.differentiable = found.differentiable
        self.reach = found.reach
        self.layouts = found.tangent_layouts()
        self.kernels = kernels
        self.lock = threading.Lock()
        self.compiled: Callable[..., tuple[Any, ...]] | None = found.compiled
        self.is_compiled = found.compiled is not None or recipe.may_compile()
        self.partials = found.partials() or self.new_partials()
        self.next = NextOrder(recipe, part, required, kernels)

    @property
    def graph(self) -> fx.Graph:
        return self.found.graph

    def compile(self) -> Callable[..., tuple[Any, ...]]:
        with self.lock:
            if self.compiled is None:
                self.compiled = self.assembled(self.graph) if self.is_compiled else self.by_operators
            return self.compiled

    def by_operators(self, *args: Any) -> tuple[Any, ...]:
        return call_by_call(self.graph, args)

    def new_partials(self) -> Partials:
        common = (lambda: self.graph), len(self.layouts), call_by_call
        return CompiledPartials(*common, self.assembled) if self.is_compiled else Partials(*common)

    def assembled(self, graph: fx.Graph) -> CompiledGraph:
        def run_checked(*args: Any) -> tuple[Any, ...]:
            """By eager's operators where a check of a kernel failed: the operator raises its own error."""
            return call_by_call(graph, args)

        return assemble(graph, kernels=self.kernels, conform=True, fallback=run_checked)

    def run(
        self, saved: Sequence[Any], tangents: Sequence[Any], edges: Sequence[torch.Tensor]
    ) -> Sequence[Any]:
        """`saved`: the tensors that the forward saved, then the tangents of the earlier orders."""
        have = set_of(saved), set_of(tangents)
        whole = zeros_for(tangents, self.layouts)
        if not all(map(_capture.is_plain, whole)):  # such as the batches of `is_grads_batched`
            batches = gradients_of_batches(lambda members: self.run(saved, members, edges), whole)
            return call_by_call(self.graph, (*saved, *whole)) if batches is None else batches
        with torch.no_grad():
            if have[1] == (1 << len(whole)) - 1:
                grads: Sequence[Any] = self.compile()(*saved, *whole)
            else:
                grads = self.with_zeros(self.partials.run(have, saved, tangents), edges)
        return self.next.join(grads, saved, whole, edges) if torch.is_grad_enabled() else grads

    def with_zeros(self, grads: Sequence[Any], edges: Sequence[torch.Tensor]) -> list[Any]:
        """Zeros where only missing tangents lead: the node leads there too, and hooks expect a tensor.

        A leaf without hooks keeps its `grad`, as in eager.
        """
        results = self.found.result_layouts()
        leaves = [is_leaf_without_hooks(edge) for edge in edges]
        leaves += [False] * (len(results) - len(leaves))
        return [
            torch.zeros(result[0], dtype=result[1])
            if grad is None and result is not None and not leaf
            else grad
            for grad, result, leaf in zip(grads, results, leaves, strict=True)
        ]

    def groups(self, edges: Sequence[torch.Tensor]) -> list[Group]:
        """The gradients, divided by where they lead: a backward through some of them calls no hooks of what
        only others lead to. Only leaves without hooks make no difference: no gradient can be told from none.
        """
        ignored = sum(1 << i for i, edge in enumerate(edges) if is_leaf_without_hooks(edge))
        reach = iter(self.reach)
        found: dict[int, Group] = {}
        for i, has in enumerate(self.differentiable):
            if has:
                bits = next(reach)
                group = found.setdefault(bits & ~ignored, Group([], 0))
                group.grads.append(i)
                group.reach |= bits
        return list(found.values())


@dataclass
class Group:
    """The gradients that one node gives: their positions; where they lead, as bits."""

    grads: list[int]
    reach: int

    def led_to(self, sources: Sequence[Any]) -> list[Any]:
        return [source for i, source in enumerate(sources) if self.reach >> i & 1]


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
            found = self.recipe.derivative(self.part, required)
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
        result = apart(grads, tangents)
        if isinstance(order, str):
            joined: Sequence[Any] = join_refusal(order, result, *sources)
            return joined
        for group in order.groups(edges):
            own = [result[i] for i in group.grads]
            for i, grad in zip(group.grads, join(order, group, saved, edges, own, *group.led_to(sources))):
                result[i] = grad
        return result


class Gradients(torch.autograd.Function):
    """Computed gradients of a group as results of a node of autograd's graph."""

    @staticmethod
    def forward(
        ctx: Any, order: Order, group: Group, saved: list[Any], edges: Any, grads: list[Any], *sources: Any
    ) -> tuple[Any, ...]:
        ctx.order, ctx.group, ctx.edges = order, group, edges
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*saved)
        return tuple(grads)

    @staticmethod
    @not_for_torch_compile
    def backward(ctx: Any, *sent: Any) -> Any:
        given = dict(zip(ctx.group.grads, sent, strict=True))
        tangents = [given.get(i) for i, has in enumerate(ctx.order.differentiable) if has]
        grads = ctx.order.run(ctx.saved_tensors, tangents, ctx.edges)
        return None, None, None, None, None, *ctx.group.led_to(grads)


class Refusal(torch.autograd.Function):
    """Gradients that have no derivative: it says why."""

    @staticmethod
    def forward(ctx: Any, why: str, grads: list[Any], *sources: Any) -> tuple[Any, ...]:
        ctx.why = why
        return tuple(grads)

    @staticmethod
    @not_for_torch_compile
    def backward(ctx: Any, *sent: Any) -> Any:
        raise RuntimeError(ctx.why)


#: skips `torch.autograd.Function.apply`, whose checks are for functorch
join = super(torch.autograd.Function, Gradients).apply
join_refusal = super(torch.autograd.Function, Refusal).apply


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


def zeros_for(tangents: Sequence[Any], layouts: Sequence[Layout]) -> Sequence[torch.Tensor]:
    """Zeros in place of the tangents that are missing."""
    pairs = zip(tangents, layouts, strict=True)
    return [torch.zeros(shape, dtype=dtype) if t is None else t for t, (shape, dtype) in pairs]


def call_by_call(graph: fx.Graph, args: Sequence[Any]) -> tuple[Any, ...]:
    """Runs a closed graph of gradients by eager's operators, on tensors of any kind."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            NO_DERIVATIVE.format(reason="its gradients come in batches of batches, or are not plain tensors")
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


def is_leaf_without_hooks(edge: torch.Tensor) -> bool:
    """`edge` stands for a place in autograd's graph."""
    variable = getattr(place_of(edge)[0], "variable", None)
    return variable is not None and not variable._backward_hooks
