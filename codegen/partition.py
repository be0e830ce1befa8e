"""Cut a joint graph into the forward's and the backward's.

In:  `Joint`.
Out: `Parts`: two closed graphs, and what passes from the first to the second.

    y = relu(x * w).exp()   ->   forward: mul, relu, exp -> (y);  saved: x, w, y;  backward: mul again, le, where, mul, ...

Saved are the values that the gradients use. What can be computed again at the cost of a pass over memory, from values that are saved anyway, is
computed again in the backward instead. Never again: products, reductions, random draws, and nothing from inputs that the gradients do
not use themselves (eager would not keep them, so that the user may have written to them since).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

from codegen.joint_graph import Joint
from codegen.memory import UntraceableError
from codegen.trace import drop_unused

aten = torch.ops.aten
PARTS = frozenset((aten.slice.Tensor, aten.select.int))
VIEWS = PARTS | frozenset((
    aten.view.default, aten._unsafe_view.default, aten.t.default, aten.transpose.int, aten.permute.default, aten.unsqueeze.default,
    aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims, aten.expand.default, aten.alias.default,
))  # fmt: skip
CHEAP_VIEWS = VIEWS | frozenset((
    aten.reshape.default, aten._to_copy.default, aten.clone.default, aten.copy.default, aten.full.default, aten.full_like.default,
    aten.zeros_like.default, aten.ones_like.default, aten.scalar_tensor.default, aten.zeros.default, aten.ones.default,
))  # fmt: skip


def is_cheap(node: fx.Node) -> bool:
    """Elementwise, or a change of layout: fuses into whatever reads it."""
    target = node.target
    if not isinstance(target, OpOverload) or torch.Tag.nondeterministic_seeded in target.tags:
        return False
    return target in CHEAP_VIEWS or torch.Tag.pointwise in target.tags


@dataclass(slots=True)
class Parts:
    """The forward gives `results` first (what the module's outputs are made of), then `extra` values that only the backward needs. The
    backward takes `saved_inputs` (positions of inputs), `saved_results` (positions in all that the forward gives), and one tangent for each
    of `differentiable`; it gives a gradient for each input that is `wanted`, None for the others."""

    forward: fx.Graph
    backward: fx.Graph
    input_count: int
    result_count: int
    forward_size: int  # nodes of the forward as it was traced
    saved_places: list[int]  # of what the backward takes, among those nodes
    saved_inputs: list[int]
    saved_results: list[int]
    differentiable: list[int]
    wanted: list[int]


def partition(joint: Joint) -> Parts:
    """Raises UntraceableError where a value that the backward needs does not survive the forward (an input that the forward writes to)."""
    nodes = list(joint.trace.graph.nodes)
    forward, backward = nodes[: joint.boundary], nodes[joint.boundary + len(joint.tangents) :]
    placeholders = [node for node in forward if node.op == "placeholder"]
    results = [joint.trace.recorder.node_of(tensor) for tensor in joint.results]
    live = needed(backward, joint.grads)
    frontier = frontier_of(forward, live)
    written = {tracked.memory.placeholder for tracked in joint.trace.written}
    frontier += [node for node in decomposed(forward) if node not in frontier and node not in written]
    saved, again = choose_saved(frontier, results)
    if written & set(saved):
        raise UntraceableError("a write to an input whose value from before is needed by the backward")
    kept = [node for node in saved if node.op != "get_attr"]
    extra = [node for node in kept if node.op != "placeholder" and node not in results]
    given = [*results, *extra]
    inputs = [node for node in kept if node.op == "placeholder"]
    computed = [node for node in kept if node.op != "placeholder"]
    return Parts(
        forward=copy_graph(joint, forward, placeholders, given),
        backward=copy_graph(joint, [*again, *live], [*inputs, *computed, *joint.tangents], joint.grads),
        input_count=len(placeholders),
        result_count=len(results),
        forward_size=len(forward),
        saved_places=[forward.index(node) for node in (*inputs, *computed)],
        saved_inputs=[placeholders.index(node) for node in inputs],
        saved_results=[given.index(node) for node in computed],
        differentiable=joint.differentiable(),
        wanted=[i for i, grad in enumerate(joint.grads) if grad is not None],
    )


def needed(backward: list[fx.Node], grads: list[fx.Node | None]) -> list[fx.Node]:
    """The nodes of the backward part that lead to a gradient, in order."""
    wanted = {grad for grad in grads if grad is not None}
    live = []
    for node in reversed(backward):
        if node in wanted:
            live.append(node)
            wanted.update(node.all_input_nodes)
    return live[::-1]


def frontier_of(forward: list[fx.Node], live: list[fx.Node]) -> list[fx.Node]:
    """Values of the forward that the backward reads, in order. Of a call with several results: the results."""
    read = {argument for node in live for argument in node.all_input_nodes}
    return [node for node in forward if node in read and not isinstance(node.meta["val"], (tuple, list))]


def decomposed(forward: list[fx.Node]) -> list[fx.Node]:
    """Operands of decompositions of matrices (svd, eig, lu): a second derivative needs results that the first one does not, or the matrix itself.
    Eager keeps it, too."""
    calls = (node for node in forward if str(node.target).startswith(("aten.linalg_", "aten._linalg_")))
    operands = (argument for call in calls for argument in call.all_input_nodes)
    return [node for node in dict.fromkeys(operands) if isinstance(node.meta["val"], torch.Tensor)]


def base_of(node: fx.Node) -> fx.Node:
    """What `node` is a view of, through any number of views; itself where it is none, or a part of something that need not be stored whole."""
    base, is_part = node, False
    while base.target in VIEWS:
        is_part |= base.target in PARTS
        base = base.all_input_nodes[0]
    return node if is_part and is_cheap(base) else base


def choose_saved(frontier: list[fx.Node], results: list[fx.Node]) -> tuple[list[fx.Node], list[fx.Node]]:
    """Of the values that the backward reads: those to save, and the nodes to compute again (in order). A view is made again from its
    base: the memory is the same, and so are its writes."""
    saved: list[fx.Node] = []
    again: list[fx.Node] = []
    bases = dict.fromkeys(base_of(node) for node in frontier)
    available = {node for node in bases if not is_cheap(node) or node in results}
    for node in sorted({*bases, *frontier}):
        chain = None if node in available else recipe(node, available)
        if chain is None:
            saved.append(node)
            available.add(node)
        else:
            again += [step for step in chain if step not in again]
    return saved, again


MAX_RECIPE = 8


def recipe(node: fx.Node, available: set[fx.Node]) -> list[fx.Node] | None:
    """The cheap nodes that compute `node` from what is available; None if there is no such way, or a long one."""
    order: list[fx.Node] = []

    def visit(current: fx.Node) -> bool:
        if current in available or current in order:
            return True
        if not is_cheap(current) or current.target is operator.getitem or len(order) >= MAX_RECIPE:
            return False
        if not all(visit(argument) for argument in current.all_input_nodes):
            return False
        order.append(current)
        return len(order) <= MAX_RECIPE

    return order if visit(node) else None


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
