"""Cuts a joint graph into the graph of the forward and the graph of the backward.

In:  `Joint`.
Out: `Parts`: two closed graphs, and the values that pass from the first to the second.

    y = relu(x * w).exp()   ->   forward: mul, relu, exp -> (y);  saved: x, w, y
                                 backward: mul again, le, where, mul, ...

The saved values are the ones that the gradients use, except those that the backward computes again
(`codegen.autograd.recompute`). Nothing is computed from an input that the gradients do not use themselves:
eager would not save this input, so the user may have written to it in between.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from codegen.autograd.joint_graph import Joint
from codegen.autograd.partial_backward import Tangents
from codegen.autograd.recompute import choose_saved
from codegen.kernel.errors import UntraceableError
from codegen.trace.nodes import drop_unused, is_effect


@dataclass
class Parts:
    """Forward and backward as closed graphs.

    The forward returns `results` first (the module's outputs are made of them), then `extra` values that only
    the backward needs. The backward takes `saved_inputs` (positions of inputs), `saved_results` (positions in
    all results of the forward), and one tangent for each of `differentiable`. It returns a gradient for each
    input that is `wanted`, None for the others.
    """

    forward: fx.Graph
    backward: fx.Graph
    input_count: int
    result_count: int
    forward_size: int  # number of nodes of the forward as it was traced
    saved_places: list[int]  # positions of the saved values among those nodes
    saved_inputs: list[int]
    saved_results: list[int]
    differentiable: list[int]
    wanted: list[int]

    @functools.cached_property
    def tangents(self) -> Tangents:
        """The tangents are the same for all sizes that the parts are used for."""
        return Tangents(self.backward, len(self.differentiable))


def partition(joint: Joint) -> Parts:
    """Cuts the graph.

    Raises UntraceableError where a value that the backward needs does not survive the forward (an input that
    the forward writes to).
    """
    nodes = list(joint.trace.graph.nodes)
    forward, backward = nodes[: joint.boundary], nodes[joint.boundary + len(joint.tangents) :]
    placeholders = [node for node in forward if node.op == "placeholder"]
    results = [joint.trace.recorder.node_of(tensor) for tensor in joint.results]
    live = needed(backward, joint.grads)
    frontier = frontier_of(forward, live)
    written = {tracked.memory.placeholder for tracked in joint.trace.written}
    known = written.union(frontier)
    frontier += [node for node in decomposed(forward) if node not in known]
    saved, again = choose_saved(frontier, results)
    if written & set(saved):
        raise UntraceableError("a write to an input whose former value the backward needs")
    kept = [node for node in saved if node.op != "get_attr"]
    is_result: Callable[[fx.Node], bool] = set(results).__contains__
    extra = [node for node in kept if node.op != "placeholder" and not is_result(node)]
    given = [*results, *extra]
    inputs = [node for node in kept if node.op == "placeholder"]
    computed = [node for node in kept if node.op != "placeholder"]
    places, arguments, results_at = (positions(found) for found in (forward, placeholders, given))
    return Parts(
        forward=copy_graph(joint, forward, placeholders, given),
        backward=copy_graph(joint, [*again, *live], [*inputs, *computed, *joint.tangents], joint.grads),
        input_count=len(placeholders),
        result_count=len(results),
        forward_size=len(forward),
        saved_places=[places[node] for node in (*inputs, *computed)],
        saved_inputs=[arguments[node] for node in inputs],
        saved_results=[results_at[node] for node in computed],
        differentiable=joint.differentiable(),
        wanted=[i for i, grad in enumerate(joint.grads) if grad is not None],
    )


def positions(nodes: list[fx.Node]) -> dict[fx.Node, int]:
    """For each node, its first position."""
    return {node: place for place, node in reversed(list(enumerate(nodes)))}


def needed(backward: list[fx.Node], grads: list[fx.Node | None]) -> list[fx.Node]:
    """The nodes of the backward part that lead to a gradient, or check something, in order."""
    wanted = {grad for grad in grads if grad is not None}
    live = []
    for node in reversed(backward):
        if node in wanted or is_effect(node):
            live.append(node)
            wanted.update(node.all_input_nodes)
    return live[::-1]


def frontier_of(forward: list[fx.Node], live: list[fx.Node]) -> list[fx.Node]:
    """The forward's values that the backward reads, in order; for calls with several results, the results."""
    read = {argument for node in live for argument in node.all_input_nodes}
    return [node for node in forward if node in read and not isinstance(node.meta["val"], (tuple, list))]


def decomposed(forward: list[fx.Node]) -> list[fx.Node]:
    """Operands of matrix decompositions (svd, eig, lu), which eager saves too.

    A second derivative needs results that the first derivative does not, or the matrix itself.
    """
    calls = (node for node in forward if str(node.target).startswith(("aten.linalg_", "aten._linalg_")))
    operands = (argument for call in calls for argument in call.all_input_nodes)
    return [node for node in dict.fromkeys(operands) if isinstance(node.meta["val"], torch.Tensor)]


def copy_graph(
    joint: Joint, nodes: list[fx.Node], placeholders: list[fx.Node], outputs: list[Any]
) -> fx.Graph:
    """A closed graph of copies of `nodes`; `placeholders` become its inputs in that order."""
    graph = fx.Graph(joint.trace.recorder.root)  # type: ignore[arg-type]  # any module will do
    copies: dict[fx.Node, fx.Node] = {}
    for node in placeholders:
        copies[node] = graph.placeholder(node.name)
        copies[node].meta["val"] = node.meta["val"]

    def copied(node: fx.Node) -> fx.Node:
        if node not in copies:
            if node.op not in ("get_attr", "call_function"):
                raise UntraceableError(f"the value of {node.name} does not reach the backward")
            if node.op == "call_function" and node.target is operator.getitem:
                copied(node.all_input_nodes[0])
            copies[node] = graph.node_copy(node, copied)
        return copies[node]

    members: Callable[[fx.Node], bool] = set(nodes).__contains__
    for node in nodes:
        if node.op != "placeholder" and members(node):
            copied(node)
    graph.output(tuple(copied(item) if isinstance(item, fx.Node) else item for item in outputs))
    drop_unused(graph)
    return graph
