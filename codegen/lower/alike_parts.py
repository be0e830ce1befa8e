"""Parts of a graph that do the same on different memory: one of them is lowered for all.

In:  a functional graph, before it is lowered.
Out: `AlikeParts`: for each kind of part a first one, which is lowered, and its twins, which are not. The
     passes make kernels for the first one, and `codegen.passes.steps.twins` repeats them on other buffers.

    a0 = g0 * g0 + s0; copy_(s0, a0)         ->    lowered
    a1 = g1 * g1 + s1; copy_(s1, a1)         ->    the kernels of the first one with g1 for g0, s1 for s0

Steps of optimizers and averages of weights are loops over dozens of parameters. Values are in one part if one
of them needs the other one, or both need the same. A hub is no such link: it is a single element that many
parts read, for instance a learning rate. Results of the graph are in no part with twins.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import torch
from torch import fx

from capture_records import dataclass
from codegen.lower.registry import LOWERINGS
from codegen.lower.sums_of_parts import SumsOfParts

aten = torch.ops.aten
FEWEST = 4  # parts of one kind, readers of a hub

Nodes = list[fx.Node]
PartOf = Callable[[fx.Node], fx.Node]  # equal for all nodes of a part


class NotAlike(Exception):
    """The kernels of a part are not its own, so they can't be repeated."""


@dataclass(frozen=True, slots=True)
class Part:
    """`nodes`: inputs and operations of the first part. `twins`: for each other part its nodes, in the same
    order.
    """

    nodes: Nodes
    twins: list[Nodes] = field(default_factory=list)


class AlikeParts:
    """The parts that have twins. `skipped`: the operations of the twins."""

    def __init__(self, parts: Sequence[Part] = ()) -> None:
        self.parts = parts
        twins = (node for part in parts for twin in part.twins for node in twin)
        self.skipped = {node for node in twins if node.op == "call_function"}


NO_PARTS = AlikeParts()


def alike_parts(graph: fx.Graph, sums: SumsOfParts) -> AlikeParts:
    """The parts with twins. Operations that have no lowering have no twins."""
    nodes = list(graph.nodes)
    inputs = [node for node in nodes if node.op == "placeholder"]
    if len(inputs) < FEWEST or not all(map(_has_fixed_size, inputs)):
        return NO_PARTS
    part_of = _Links(nodes).find
    by_part: dict[fx.Node, Nodes] = {}
    for node in nodes:
        if node.op == "call_function":
            by_part.setdefault(part_of(node), []).append(node)
    refused = {*sums.sums, *sums.skipped, *nodes[-1].all_input_nodes}
    alike: dict[Any, Part] = {}
    for calls in by_part.values():
        if all(_can_have_twins(node, refused, part_of) for node in calls):
            form = _Form(part_of, calls)
            first = alike.setdefault(form.key, Part(form.nodes))
            if first.nodes is not form.nodes:
                first.twins.append(form.nodes)
    return AlikeParts([part for part in alike.values() if len(part.twins) >= FEWEST - 1])


def _has_fixed_size(node: fx.Node) -> bool:
    val = node.meta.get("val")
    return not (
        val._has_symbolic_sizes_strides if isinstance(val, torch.Tensor) else isinstance(val, torch.SymInt)
    )


def _can_have_twins(node: fx.Node, refused: set[fx.Node], part_of: PartOf) -> bool:
    """Whether it has a lowering, is used by its part alone, and neither it nor an operand is a result."""
    known = node.target is operator.getitem or node.target in LOWERINGS
    if not known or node in refused or not refused.isdisjoint(node.all_input_nodes):
        return False
    return all(part_of(user) is part_of(node) for user in node.users)


def _is_element(node: fx.Node) -> bool:
    val = node.meta.get("val")
    return isinstance(val, torch.Tensor) and not val._has_symbolic_sizes_strides and val.numel() == 1


class _Links:
    """Which nodes are in one part: a union of what is linked."""

    def __init__(self, nodes: Nodes) -> None:
        self._above: dict[fx.Node, fx.Node] = {node: node for node in nodes}
        hubs = [node for node in nodes if _may_be_hub(node)]
        cut = set(hubs)
        for node in nodes:
            if node.op != "output":
                for operand in node.all_input_nodes:
                    if operand not in cut:
                        self._join(operand, node)
        while few := [node for node in hubs if not self._is_hub(node)]:
            hubs = [node for node in hubs if node not in few]
            for node in few:
                self._join(node, *node.users)

    def find(self, node: fx.Node) -> fx.Node:
        above = self._above
        while above[node] is not node:
            above[node] = node = above[above[node]]
        return node

    def _join(self, node: fx.Node, *others: fx.Node) -> None:
        for other in others:
            self._above[self.find(other)] = self.find(node)

    def _is_hub(self, node: fx.Node) -> bool:
        return len({self.find(user) for user in node.users}) >= FEWEST


def _may_be_hub(node: fx.Node) -> bool:
    return (
        len(node.users) >= FEWEST
        and _is_element(node)
        and not any(user.target is aten.copy_.default and user.args[0] is node for user in node.users)
    )


class _Form:
    """What a part does. Two parts with equal `key` do the same on their `nodes`."""

    def __init__(self, part_of: PartOf, calls: Nodes) -> None:
        self.nodes: Nodes = []
        self._places: dict[fx.Node, int] = {}
        self._part_of, self._own = part_of, part_of(calls[0])
        self.key: Any = tuple(self._call(node) for node in calls)

    def _call(self, node: fx.Node) -> Any:
        key = node.target, self._argument(node.args), self._argument(node.kwargs)
        self._note(node)
        return key

    def _argument(self, value: Any) -> Any:
        if isinstance(value, fx.Node):
            is_outside = value.op == "get_attr" or self._part_of(value) is not self._own
            return (value,) if is_outside else self._place(value)
        if isinstance(value, (tuple, list)):
            return tuple(map(self._argument, value))
        if isinstance(value, dict):
            return tuple((name, self._argument(item)) for name, item in value.items())
        return repr(value)  # 0.0 and -0.0 are two numbers, and so are 1 and True

    def _place(self, node: fx.Node) -> Any:
        place = self._places.get(node)
        if place is not None:
            return place
        self._note(node)
        return _layout(node.meta.get("val"))

    def _note(self, node: fx.Node) -> None:
        self._places[node] = len(self.nodes)
        self.nodes.append(node)


def _layout(val: Any) -> Any:
    if not isinstance(val, torch.Tensor):
        return repr(val)
    return val.dtype, val.shape, val.stride() if val.layout is torch.strided else val.layout, val.device
