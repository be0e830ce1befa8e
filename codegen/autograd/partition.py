"""Cuts a joint graph into the graph of the forward and the graphs of the backward.

In:  `Joint`.
Out: `Parts`: closed graphs, one for the forward and one for each segment of the backward, and the values that
     pass from the first to the others.

    y = relu(x * w).exp()   ->   forward: mul, relu, exp -> (y);  saved: x, w, y
                                 backward: mul again, le, where, mul, ...

The saved values are the ones that the gradients of a segment use, except those that it computes again
(`codegen.autograd.recompute`). Nothing is computed from an input that these gradients do not use themselves:
eager would not save this input, so the user may have written to it in between.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import fx

from capture_records import dataclass
from codegen.autograd.joint_graph import Joint, SegmentGrads
from codegen.autograd.recompute import choose_saved
from codegen.kernel.errors import UntraceableError
from codegen.kernel.fx_graph import Graph
from codegen.trace.nodes import drop_unused, is_effect


@dataclass
class BackwardPart:
    """The backward of one segment as a closed graph.

    It takes `saved_inputs` (positions of inputs), `saved_results` (positions in all that the forward returns)
    and a tangent for each slot. It returns a gradient for each edge. `slots`: for each slot the result that
    is there, or None. `edges`: below the number of inputs an input, then a view (`Parts.view_count`), above
    these a slot, counted through all parts. `needed_by`: for each saved value the edges whose gradients need
    it, as bits. `number`, `slot_numbers`, `edge_numbers`: its segment, and which of the segment's slots and
    edges it has.
    """

    graph: fx.Graph
    saved_places: list[int]  # positions of the saved values among the nodes of the forward as it was traced
    saved_inputs: list[int]
    saved_results: list[int]
    slots: list[int | None]
    edges: list[int]
    needed_by: list[int]
    tangent_values: list[torch.Tensor]
    number: int
    slot_numbers: list[int]
    edge_numbers: list[int]

    @property
    def saved_slots(self) -> list[int]:
        """The slots whose results are saved.

        A derivative of the gradients goes through these results, as in eager: their nodes and hooks see it.
        """
        return [i for i, result in enumerate(self.slots) if result in self.saved_results]

    @property
    def saved_slot_values(self) -> list[int]:
        """Their places among the saved values."""
        places = {result: place for place, result in enumerate(self.saved_results, len(self.saved_inputs))}
        return [places[result] for result in self.slots if result is not None and result in places]

    def given_results(self) -> list[fx.Node]:
        """The placeholders of the saved results."""
        placeholders = [node for node in self.graph.nodes if node.op == "placeholder"]
        return placeholders[len(self.saved_inputs) : len(self.saved_places)]


@dataclass
class Parts:
    """Forward and backward as closed graphs.

    The forward returns `results` first (the module's outputs are made of them), then values that only the
    backward needs. The parts of the backward stand in an order in which each comes after those that its edges
    lead to.
    """

    forward: fx.Graph
    backward: list[BackwardPart]
    input_count: int
    result_count: int
    view_count: int  # of the views that edges lead to, with all others; 0: no edge leads to one
    forward_size: int  # number of nodes of the forward as it was traced


@dataclass
class Choice:
    """What the part for `source` saves, and the nodes that it computes: some of the forward's again."""

    source: SegmentGrads
    steps: list[fx.Node]
    saved: list[fx.Node]


def partition(joint: Joint) -> Parts:
    """Cuts the graph.

    Raises UntraceableError where a value that the backward needs does not survive the forward (an input that
    the forward writes to).
    """
    nodes = list(joint.trace.graph.nodes)
    forward = nodes[: joint.boundary]
    placeholders = [node for node in forward if node.op == "placeholder"]
    results = [joint.trace.recorder.node_of(tensor) for tensor in joint.results]
    behind = nodes[joint.boundary :]
    choices = [choose(joint, source, forward, behind, results) for source in joint.segments]
    is_result: Callable[[fx.Node], bool] = set(results).__contains__
    saved = {node: None for choice in choices for node in choice.saved}
    extra = sorted(node for node in saved if node.op != "placeholder" and not is_result(node))
    given = [*results, *extra]
    numbering = Numbering(
        places=positions(forward),
        inputs=positions(placeholders),
        given=positions(given),
        edges=edge_numbers(joint, len(placeholders)),
    )
    return Parts(
        forward=copy_graph(joint, forward, placeholders, given),
        backward=[part_of(joint, choice, numbering) for choice in choices],
        input_count=len(placeholders),
        result_count=len(results),
        view_count=view_count(joint),
        forward_size=len(forward),
    )


def choose(
    joint: Joint, source: SegmentGrads, forward: list[fx.Node], behind: list[fx.Node], results: list[fx.Node]
) -> Choice:
    live = needed(behind, source)
    frontier = frontier_of(forward, live)
    written = {tracked.memory.placeholder for tracked in joint.trace.written}
    known = written.union(frontier)
    several = len(joint.segments) > 1
    frontier += [node for node in decomposed(forward, frontier if several else None) if node not in known]
    saved, again = choose_saved(frontier, results)
    if written & set(saved):
        raise UntraceableError("a write to an input whose former value the backward needs")
    kept = [node for node in saved if node.op != "get_attr"]
    return Choice(source, [*again, *live], kept)


@dataclass
class Numbering:
    """Positions of nodes in the traced forward, among its inputs, among all that it returns; of edges."""

    places: dict[fx.Node, int]
    inputs: dict[fx.Node, int]
    given: dict[fx.Node, int]
    edges: dict[Any, int]


def view_count(joint: Joint) -> int:
    return len(joint.views) if joint.joined else 0


def edge_numbers(joint: Joint, input_count: int) -> dict[Any, int]:
    slots = (place for source in joint.segments for place in source.places)
    numbers = {place: number for number, place in enumerate(slots, input_count + view_count(joint))}
    views = {place: input_count + number for place, number in joint.joined.items()}
    return numbers | views | joint.inputs


def part_of(joint: Joint, choice: Choice, numbering: Numbering) -> BackwardPart:
    source = choice.source
    inputs = [node for node in choice.saved if node.op == "placeholder"]
    computed = [node for node in choice.saved if node.op != "placeholder"]
    return BackwardPart(
        graph=copy_graph(joint, choice.steps, [*inputs, *computed, *source.tangents], source.grads),
        saved_places=[numbering.places[node] for node in (*inputs, *computed)],
        saved_inputs=[numbering.inputs[node] for node in inputs],
        saved_results=[numbering.given[node] for node in computed],
        slots=source.results,
        edges=[numbering.edges[place] for place in source.edges],
        needed_by=needed_by(source, [*inputs, *computed]),
        tangent_values=[node.meta["val"] for node in source.tangents],
        number=source.number,
        slot_numbers=source.slots,
        edge_numbers=source.edge_numbers,
    )


def needed_by(source: SegmentGrads, saved: list[fx.Node]) -> list[int]:
    """For each saved value, the edges whose gradients need it, or that lie behind a step which reads it.

    Eager's operation checks all that it saved. A value that no gradient is computed from is for all edges.
    """
    needs = dict.fromkeys(source.grads, 0)
    for number, grad in zip(source.edge_numbers, source.grads, strict=True):
        needs[grad] |= 1 << number
    every = (1 << max(source.edge_numbers, default=0) + 1) - 1
    order = sorted(closure((*source.grads, *filter(is_effect, source.steps)), saved))
    incoming = set(source.tangents)  # and what is computed from them: a step does not save its gradients
    for node in order:
        if not incoming.isdisjoint(node.all_input_nodes):
            incoming.add(node)
    for node in reversed(order):
        own = every if is_effect(node) else needs.get(node, 0)
        for item in node.all_input_nodes:
            read = 0 if item in incoming else source.steps.get(node, 0)
            needs[item] = needs.get(item, 0) | own | read
    found = [needs.get(node) or every for node in saved]
    places = list(enumerate(source.edge_numbers))
    if all(place == number for place, number in places):
        return found
    return [sum((bits >> number & 1) << place for place, number in places) for bits in found]


def closure(nodes: Iterable[fx.Node], given: list[fx.Node]) -> set[fx.Node]:
    """`nodes`, and what they are computed from, up to the values that are given."""
    stop, found, pending = set(given), set[fx.Node](), [*nodes]
    while pending:
        node = pending.pop()
        if node not in found and node not in stop:
            found.add(node)
            pending += node.all_input_nodes
    return found


def positions(nodes: list[fx.Node]) -> dict[fx.Node, int]:
    """For each node, its first position."""
    return {node: place for place, node in reversed(list(enumerate(nodes)))}


def needed(backward: list[fx.Node], source: SegmentGrads) -> list[fx.Node]:
    """The nodes that lead to a gradient of the segment, or check something for it, in order."""
    wanted = set(source.grads)
    own = set(source.steps)
    live = []
    for node in reversed(backward):
        if node in wanted or (node in own and is_effect(node)):
            live.append(node)
            wanted.update(node.all_input_nodes)
    return live[::-1]


def frontier_of(forward: list[fx.Node], live: list[fx.Node]) -> list[fx.Node]:
    """The forward's values that the backward reads, in order; for calls with several results, the results."""
    read = {argument for node in live for argument in node.all_input_nodes}
    return [node for node in forward if node in read and not isinstance(node.meta["val"], (tuple, list))]


def decomposed(forward: list[fx.Node], read: list[fx.Node] | None) -> list[fx.Node]:
    """Operands of matrix decompositions (svd, eig, lu), which eager saves too.

    A second derivative needs results that the first derivative does not, or the matrix itself. `read`: only
    of those whose operands or results are read.
    """
    calls = [node for node in forward if str(node.target).startswith(("aten.linalg_", "aten._linalg_"))]
    if read is not None:
        bases = {item for node in read for item in (node, *node.all_input_nodes)}
        calls = [call for call in calls if call in bases or not bases.isdisjoint(call.all_input_nodes)]
    operands = (argument for call in calls for argument in call.all_input_nodes)
    return [node for node in dict.fromkeys(operands) if isinstance(node.meta["val"], torch.Tensor)]


def copy_graph(
    joint: Joint, nodes: list[fx.Node], placeholders: list[fx.Node], outputs: list[Any]
) -> fx.Graph:
    """A closed graph of copies of `nodes`; `placeholders` become its inputs in that order."""
    graph = Graph(joint.trace.recorder.root)
    copied = _Copies(graph)
    for node in placeholders:
        copied.made[node] = graph.placeholder(node.name)
        copied.made[node].meta["val"] = node.meta["val"]
    members: Callable[[fx.Node], bool] = set(nodes).__contains__
    for node in nodes:
        if node.op != "placeholder" and members(node):
            copied(node)
    graph.output(tuple(copied(item) if isinstance(item, fx.Node) else item for item in outputs))
    drop_unused(graph)
    return graph


class _Copies:
    """Gives the copy in `graph` of a node; makes it where there is none yet."""

    def __init__(self, graph: fx.Graph) -> None:
        self.graph = graph
        self.made: dict[fx.Node, fx.Node] = {}

    def __call__(self, node: fx.Node) -> fx.Node:
        if node not in self.made:
            if node.op not in ("get_attr", "call_function"):
                raise UntraceableError(f"the value of {node.name} does not reach the backward")
            if node.op == "call_function" and node.target is operator.getitem:
                self(node.all_input_nodes[0])
            self.made[node] = self.graph.node_copy(node, self)
        return self.made[node]
