"""One compilation of forward and backward for many sizes.

In:  a joint graph that was traced on symbolic sizes and partitioned.
Out: `SymbolicTraining`: the kernels of forward and backward take sizes at run time. `graph_for(ints)` is a
     `TrainingGraph` whose launch plans are filled with these ints.

    graph(s0, x[s0, 4], w) -> (x * w).sum()     graph_for([7]), graph_for([9]): other plans, the same kernels

Rare requests need numbers for sizes, and get them at the first request. Where gradients are missing or come
in batches, a part of the backward runs operator by operator. For gradients of gradients, the module is traced
once more on symbols, and then these ints replace the symbols.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from codegen.autograd.derivatives import DerivativeRecipe, Differentiated
from codegen.autograd.joint_graph import Joint
from codegen.autograd.orders import call_by_call
from codegen.autograd.partition import partition
from codegen.autograd.replay import Replay
from codegen.autograd.segment_backward import SegmentBackward
from codegen.autograd.training import TrainingGraph
from codegen.dynamic.symbolic_graph import Closed, OpenInputs, value_of
from codegen.fake.fake import FakeMode, fake_mode
from codegen.fake.shapes.spec import Spec
from codegen.kernel import events
from codegen.kernel.errors import NotSymbolic
from codegen.kernel.fx_graph import Graph
from codegen.launch.compiled import refuse
from codegen.trace.nodes import Symbolic

if TYPE_CHECKING:
    import _capture

    from codegen.autograd.partition import BackwardPart, Parts
    from codegen.dynamic.symbolic_graph import SymbolicGraph
    from codegen.launch.compiled import CompiledGraph

TEMPLATES = 8  # most templates of each graph; the newest are kept


def compile_training(
    gm: fx.GraphModule,
    example_inputs: Sequence[Any],
    joint: Joint,
    opened: OpenInputs,
    store: Any,
    fallback: Any,
) -> SymbolicTraining:
    """Raises NotSymbolic.

    All is compiled at once, because the conditions of the backward are conditions of the forward,
    too.
    """
    if joint.enables_grad:
        raise NotSymbolic("results that require grad, while grad mode is off around the graph")
    if joint.writes or any(isinstance(kind, Replay) or is_number(kind) for kind in joint.outputs):
        raise NotSymbolic("outputs that are made outside of the graph")
    with opened.mode:
        parts = partition(joint)
    backwards = [Closed(part.graph, [], conform=True) for part in parts.backward]
    forward, *backward = opened.graphs([Closed(parts.forward, opened.placeholders), *backwards], store)
    forward.changes, forward.fallback = joint.trace.changes, refuse
    return SymbolicTraining(
        joint, parts, DerivativeRecipe(gm, example_inputs, parts), forward, backward, fallback
    )


def is_number(kind: Any) -> bool:
    return kind[0] == "constant" and isinstance(kind[1], (torch.SymInt, torch.SymFloat, torch.SymBool))


class SymbolicTraining:
    def __init__(
        self,
        joint: Joint,
        parts: Parts,
        recipe: DerivativeRecipe,
        forward: SymbolicGraph,
        backward: Sequence[SymbolicGraph],
        fallback: Any,
    ) -> None:
        self.joint = joint
        self.parts = parts
        self.recipe = recipe
        self.names = forward.symbols
        self.forward, self.backward = Plans(forward), [Plans(graph, "backward") for graph in backward]
        self.fallback = fallback

    def graph_for(self, key: Sequence[int], add_template: Any) -> TrainingGraph | None:
        """As `SymbolicGraph.graph_for`. It keeps its own templates: there are several for each graph."""
        forward, *backward = (plans.graph(key) for plans in (self.forward, *self.backward))
        if forward is None or any(graph is None for graph in backward):
            return None
        sizes = {name: size for name, size in zip(self.names, key) if name is not None}
        recipe = SizedRecipe(self.recipe, key, sizes)
        parts = self.parts.backward
        segments = [
            SizedSegment(part, parts[i + 1 :], recipe, graph, sizes)
            for i, (part, graph) in enumerate(zip(parts, backward, strict=True))
            if graph is not None
        ]
        return TrainingGraph(
            self.joint.outputs, self.joint.writes, self.parts, forward, segments, self.fallback
        )


class Plans:
    """The launch plans of the forward, or of a part of the backward."""

    def __init__(self, symbolic: SymbolicGraph, role: str = "forward") -> None:
        self.symbolic = symbolic
        self.subject = events.subject()._replace(role=role)
        self.templates: list[_capture.PlanTemplate] = []

    def graph(self, key: Sequence[int]) -> CompiledGraph | None:
        for template in self.templates:
            graph: CompiledGraph | None = template.graph(*key)
            if graph is not None:
                return graph
        with events.about(self.subject):
            made = self.symbolic.plan(key)
        if made is None:
            return None
        self.templates = [made, *self.templates[: TEMPLATES - 1]]
        first: CompiledGraph | None = made.graph(*key)
        return first


class SizedSegment(SegmentBackward):
    """`sizes` are the values of the symbols in its part; `backward` is compiled for them."""

    def __init__(
        self,
        part: BackwardPart,
        later: Sequence[BackwardPart],
        recipe: DerivativeRecipe,
        backward: CompiledGraph,
        sizes: Mapping[str, int],
    ) -> None:
        self.sizes = sizes
        super().__init__(part, later, recipe, lambda graph: backward)
        self.partials.most = 0  # operator by operator: they would be compiled again for each size
        backward.fallback = self.after_failed_check

    def graph_for(self, tangents: Sequence[torch.Tensor]) -> fx.Graph:
        """The backward for all sizes and strides."""
        return self.part.graph

    def after_failed_check(self, *args: Any) -> tuple[Any, ...]:
        """The operator raises its own error."""
        return call_by_call(self.by_calls, args)

    def graph_in_numbers(self) -> fx.Graph:
        return in_numbers(self.part.graph, self.sizes)

    def shape_in_numbers(self, shape: torch.Size) -> torch.Size:
        return torch.Size([number(size, self.sizes) for size in shape])


class SizedRecipe(DerivativeRecipe):
    """`recipe` for the ints `key` in place of its own."""

    def __init__(self, recipe: DerivativeRecipe, key: Sequence[int], sizes: Mapping[str, int]) -> None:
        for name, value in vars(recipe).items():
            setattr(self, name, value)
        rest = iter(key)
        self.inputs = [next(rest) if type(value) is int else value for value in recipe.inputs]
        self.sizes = sizes

    @contextmanager
    def surroundings(self) -> Iterator[None]:
        with super().surroundings(), torch._C._EnablePythonDispatcher():
            yield

    def fakes(self, mode: FakeMode) -> list[Any]:
        return OpenInputs(self.module, self.inputs, mode).fakes

    def finished(self, found: Differentiated) -> Differentiated:
        tangents = [tensor_in_numbers(tangent, self.sizes, fake_mode()) for tangent in found.tangents]
        return Differentiated(
            in_numbers(found.graph, self.sizes), found.differentiable, found.reach, tangents
        )


# --- numbers in place of symbols --------------------------------------------------------------------------


def in_numbers(graph: fx.Graph, sizes: Mapping[str, int]) -> fx.Graph:
    """A copy of a closed graph for these values of the symbols in it."""
    mode = fake_mode()
    result = Graph(graph.owning_module)
    copies: dict[fx.Node, fx.Node] = {}

    def argument(value: Any) -> Any:
        return number(value.value, sizes) if isinstance(value, Symbolic) else value

    for node in graph.nodes:
        copies[node] = made = result.node_copy(node, copies.__getitem__)
        made.args = fx.node.map_aggregate(made.args, argument)
        made.kwargs = fx.node.map_aggregate(made.kwargs, argument)
        made.meta = copy.copy(node.meta)
        if "val" in node.meta:
            made.meta["val"] = value_in_numbers(node.meta["val"], sizes, mode)
    return result


def number(value: Any, sizes: Mapping[str, int]) -> Any:
    if isinstance(value, torch.SymFloat):
        known = {symbol: sizes[symbol.name] for symbol in value.node.expr.free_symbols}
        return float(value.node.expr.subs(known))
    return value_of(value.node.expr, sizes) if isinstance(value, (torch.SymInt, torch.SymBool)) else value


def value_in_numbers(value: Any, sizes: Mapping[str, int], mode: FakeMode) -> Any:
    if isinstance(value, torch.Tensor):
        return tensor_in_numbers(value, sizes, mode)
    if isinstance(value, (list, tuple)):
        return type(value)(value_in_numbers(item, sizes, mode) for item in value)
    return number(value, sizes)


def tensor_in_numbers(fake: torch.Tensor, sizes: Mapping[str, int], mode: FakeMode) -> torch.Tensor:
    shape = tuple(number(size, sizes) for size in fake.shape)
    strides = tuple(number(stride, sizes) for stride in fake.stride())
    return mode.new(Spec(shape, strides, fake.dtype), fake.device)
