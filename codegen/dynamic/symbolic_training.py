"""One compilation of forward and backward for many sizes.

In:  a joint graph that was traced on symbolic sizes and partitioned.
Out: `SymbolicTraining`: the kernels of forward and backward take sizes at run time. `graph_for(ints)` is a
     `TrainingGraph` whose launch plans are filled with these ints.

    graph(s0, x[s0, 4], w) -> (x * w).sum()     graph_for([7]), graph_for([9]): other plans, the same kernels

Where gradients are missing, a part of the backward is compiled for all sizes when it is first needed
(`codegen.dynamic.partial_training`), and so are gradients of gradients (`codegen.dynamic.open_orders`). Rare
requests need numbers for sizes, and get them at the first request. Where gradients come in batches, the
backward runs operator by operator.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from codegen.autograd.derivatives import DerivativeRecipe
from codegen.autograd.joint_graph import Joint
from codegen.autograd.orders import call_by_call
from codegen.autograd.partition import partition
from codegen.autograd.segment_backward import SegmentBackward
from codegen.autograd.segment_form import SegmentForm, forms_of
from codegen.autograd.training import TrainingGraph
from codegen.dynamic.in_numbers import all_in_numbers, in_numbers
from codegen.dynamic.open_orders import OpenOrders, SizedRecipe
from codegen.dynamic.partial_training import OpenPartials, SizedPartials
from codegen.dynamic.plans import Plans
from codegen.dynamic.symbolic_graph import Closed, OpenInputs
from codegen.kernel import events
from codegen.kernel.errors import NotSymbolic
from codegen.launch.compiled import refuse

if TYPE_CHECKING:
    from codegen.autograd.partial_backward import Partials
    from codegen.autograd.partition import BackwardPart, Parts
    from codegen.launch.compiled import CompiledGraph


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
    if joint.views or any(map(is_number, joint.outputs)):
        raise NotSymbolic("outputs that are made outside of the graph")
    with opened.mode:
        parts = partition(joint)
    backwards = [Closed(part.graph, [], conform=True) for part in parts.backward]
    forward, *backward = opened.graphs([Closed(parts.forward, opened.placeholders), *backwards], store)
    forward.changes, forward.fallback = joint.trace.changes, refuse
    subject = events.subject()._replace(role="backward")
    return SymbolicTraining(
        joint,
        parts,
        OpenOrders(DerivativeRecipe(gm, example_inputs, parts), store, subject),
        Plans(forward, subject._replace(role="forward")),
        [Plans(graph, subject) for graph in backward],
        [OpenPartials(part.graph, len(part.slots), opened, store, subject) for part in parts.backward],
        fallback,
    )


def is_number(kind: Any) -> bool:
    return kind[0] == "constant" and isinstance(kind[1], (torch.SymInt, torch.SymFloat, torch.SymBool))


class SymbolicTraining:
    def __init__(
        self,
        joint: Joint,
        parts: Parts,
        orders: OpenOrders,
        forward: Plans,
        backward: Sequence[Plans],
        partials: Sequence[OpenPartials],
        fallback: Any,
    ) -> None:
        """`backward`, `partials`: for each part of it."""
        self.joint = joint
        self.parts = parts
        self.orders = orders
        self.names = forward.symbolic.symbols
        self.forward, self.backward, self.partials = forward, backward, partials
        self.forms = forms_of(parts.backward)
        self.fallback = fallback

    def graph_for(self, key: Sequence[int], add_template: Any) -> TrainingGraph | None:
        """As `SymbolicGraph.graph_for`. It keeps its own templates: there are several for each graph."""
        forward, *backward = (plans.graph(key) for plans in (self.forward, *self.backward))
        if forward is None or any(graph is None for graph in backward):
            return None
        sizes = {name: size for name, size in zip(self.names, key) if name is not None}
        recipe = SizedRecipe(self.orders, key, sizes)
        rows = zip(self.parts.backward, self.forms, backward, self.partials, strict=True)
        segments = [
            SizedSegment(part, form, recipe, graph, partials, key, sizes)
            for part, form, graph, partials in rows
            if graph is not None
        ]
        return TrainingGraph(
            self.joint.outputs, self.joint.writes, self.parts, forward, segments, self.fallback
        )


class ByCalls:
    """The backward of a part for these values of the symbols in it, operator by operator."""

    def __init__(self, part: BackwardPart, sizes: Mapping[str, int]) -> None:
        self.part, self.sizes = part, sizes

    @functools.cached_property
    def graph(self) -> fx.Graph:
        return in_numbers(self.part.graph, self.sizes)

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        """After a failed check: the operator raises its own error."""
        return call_by_call(self.graph, args)


class SizedSegment(SegmentBackward):
    """`sizes` are the values of the symbols in its part; `backward` is compiled for them, and for tangents
    that lie as the results.

    Where sizes never come again, each step makes some. None is part of a cycle, so that they die young.
    """

    def __init__(
        self,
        part: BackwardPart,
        form: SegmentForm,
        recipe: SizedRecipe,
        backward: CompiledGraph,
        partials: OpenPartials,
        key: Sequence[int],
        sizes: Mapping[str, int],
    ) -> None:
        self.open_partials, self.key, self.sizes = partials, key, sizes
        self.calls = backward.fallback = ByCalls(part, sizes)
        super().__init__(part, form, recipe, lambda graph: backward)
        self.backward = backward
        self.recipe = recipe

    def compiled_for(self, tangents: Sequence[torch.Tensor]) -> CompiledGraph:
        found = self.recipe.backward_for(self.part, tangents) or self.backward
        assert found is not None
        found.fallback = self.calls
        return found

    def new_partials(self) -> Partials:
        calls = self.calls
        return SizedPartials(lambda: calls.graph, self.open_partials, self.key, self.sizes)

    def graph_in_numbers(self) -> fx.Graph:
        return self.calls.graph

    def shape_in_numbers(self, shape: torch.Size) -> torch.Size:
        return torch.Size(all_in_numbers(shape, self.sizes))
