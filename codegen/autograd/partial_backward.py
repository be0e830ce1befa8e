"""The backward of a segment where only some of its slots have a gradient, or saved values are missing.

In:  the backward's graph: (saved, tangents) -> gradients.
Out: `Tangents`: for each node, the tangents that it is computed from. `Partial`: the backward without the
     nodes that lead only to missing tangents, and without the gradients that need missing saved values.
     `Partials`: those of one backward; `CompiledPartials` compiles them when they are first needed.

    a, b = torch.var_mean(x);  a.backward()     one node of autograd's graph, and one of its two gradients

`partial_arguments` says what such a backward takes of the arguments of the whole one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

try:
    import _capture
except ImportError:
    _capture = None

from codegen.autograd.partial_arguments import Have, PartialArguments
from codegen.kernel.fx_graph import Graph
from codegen.kernel.watching import unwatched
from codegen.launch.compiled import CompiledGraph
from codegen.trace.nodes import drop_unused

MOST_COMPILED = 8  # sets of values for which the backward of one segment is compiled


class Tangents:
    def __init__(self, graph: fx.Graph, count: int) -> None:
        """`count`: the number of tangents that the graph takes, after the saved values."""
        self.graph = graph
        self.count = count
        self.all = (1 << count) - 1
        placeholders = [node for node in graph.nodes if node.op == "placeholder"]
        self.saved = placeholders[: len(placeholders) - count]
        self.given = placeholders[len(placeholders) - count :]
        self.of = {node: 1 << number for number, node in enumerate(self.given)}
        for node in graph.nodes:
            found = 0
            for item in node.all_input_nodes:
                found |= self.of[item]
            self.of.setdefault(node, found)


class Partial:
    """The backward for the saved values and tangents in `have`.

    `graph` takes `arguments`. Steps need zeros where they combine a sent tangent with a missing one, and are
    not plain additions.
    """

    def __init__(self, tangents: Tangents, have: Have) -> None:
        source = tangents.graph
        saved, sent = have
        self.absent = {node for node, of in tangents.of.items() if of and not of & sent}
        self.lost = {node for place, node in enumerate(tangents.saved) if not saved >> place & 1}
        for node in source.nodes:
            if not self.lost.isdisjoint(node.all_input_nodes):
                self.lost.add(node)
        steps = [node for node in source.nodes if self.is_step(node)]
        same = {node: addend for node in steps if (addend := self.only_addend(node)) is not None}
        lacking = [item for node in steps if node not in same for item in node.all_input_nodes]
        zeros = [node for node in dict.fromkeys(lacking) if node in self.absent]
        self.graph = graph = Graph(source.owning_module)
        copies: dict[fx.Node, fx.Node] = {}
        for node in (*tangents.saved, *(node for node in tangents.given if node not in self.absent), *zeros):
            copies[node] = graph.placeholder(node.name)
            copies[node].meta["val"] = node.meta["val"]
        for node in steps:
            copies[node] = copies[same[node]] if node in same else graph.node_copy(node, copies.__getitem__)
        results: Any = source.output_node().args[0]
        graph.output(tuple(None if item is None or self.is_out(item) else copies[item] for item in results))
        drop_unused(graph)
        used = [place for place, node in enumerate(tangents.saved) if copies[node].users]
        for node in tangents.saved:
            if not copies[node].users:
                graph.erase_node(copies[node])
        values = [node.meta["val"] for node in zeros]
        self.arguments = PartialArguments(used, [(v.shape, v.stride(), v.dtype) for v in values])

    def is_step(self, node: fx.Node) -> bool:
        return node.op in ("call_function", "get_attr") and not self.is_out(node)

    def is_out(self, node: fx.Node) -> bool:
        return node in self.absent or node in self.lost

    def only_addend(self, node: fx.Node) -> fx.Node | None:
        """The other addend, where `node` adds a missing value to it."""
        if node.target is not torch.ops.aten.add.Tensor or len(node.all_input_nodes) != 2 or node.kwargs:
            return None
        there = [item for item in node.all_input_nodes if item not in self.absent]
        if len(there) != 1:
            return None
        (value,) = there
        like, result = value.meta["val"], node.meta["val"]
        same = like.shape == result.shape and like.dtype == result.dtype and like.stride() == result.stride()
        return value if same else None


class Partials:
    """The backwards for sets of saved values and sent tangents. Here they run operator by operator."""

    def __init__(
        self,
        whole: Callable[[], fx.Graph],
        count: int,
        by_calls: Callable[[fx.Graph, Sequence[Any]], tuple[Any, ...]],
    ) -> None:
        """`whole` gives the graph of the backward, whose last `count` arguments are tangents; `by_calls` runs
        a graph operator by operator.
        """
        self.whole = whole
        self.count = count
        self.by_calls = by_calls
        self.lock = threading.Lock()
        self.graphs: dict[Have, Partial] = {}
        self.compiled: dict[Have, CompiledGraph] = {}
        #: is called when one has been compiled
        self.on_compiled: Callable[[], None] = lambda: None

    def run(self, have: Have, saved: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
        return self.run_by_calls(have, saved, tangents)

    def run_by_calls(self, have: Have, saved: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
        partial = self.of(have)
        return self.by_calls(partial.graph, partial.arguments.of(saved, tangents))

    def by_operators(self, have: Have, given: Sequence[Any]) -> tuple[Any, ...]:
        """As `run_by_calls`, with the arguments of the compiled backward."""
        return self.by_calls(self.of(have).graph, given)

    def of(self, have: Have) -> Partial:
        with self.lock:
            if have not in self.graphs:
                with unwatched():
                    self.graphs[have] = Partial(Tangents(self.whole(), self.count), have)
            return self.graphs[have]


class CompiledPartials(Partials):
    """`make` compiles a graph."""

    def __init__(
        self,
        whole: Callable[[], fx.Graph],
        count: int,
        by_calls: Callable[[fx.Graph, Sequence[Any]], tuple[Any, ...]],
        make: Callable[[fx.Graph], CompiledGraph],
    ) -> None:
        super().__init__(whole, count, by_calls)
        self.make = make

    def run(self, have: Have, saved: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
        partial = self.of(have)
        given = partial.arguments.of(saved, tangents)
        graph = self.compiled_of(have, partial)
        if graph is None or not all(map(_capture.is_plain, given)):
            return self.by_calls(partial.graph, given)
        grads: tuple[Any, ...] = graph(*given)
        return grads

    def compiled_of(self, have: Have, partial: Partial) -> CompiledGraph | None:
        """The compiled backward for these values; None (operator by operator) after many combinations."""
        with self.lock:
            if have not in self.compiled and len(self.compiled) < MOST_COMPILED:
                self.compiled[have] = self.make(partial.graph)
                self.on_compiled()
            return self.compiled.get(have)
