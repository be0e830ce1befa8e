"""The backward of a training graph where only some of its results have a gradient.

In:  the backward's graph: (saved, tangents) -> gradients.
Out: `Tangents`: for each node, the tangents that it is computed from. `Partial`: the backward without the
     nodes that lead only to missing tangents.

    results (d, g), d.backward(), g.backward():   two parts of one node; the first frees the values that only
                                                  it reads, the second runs without them

A set of tangents is an int with one bit for each: the first is 1, the second is 2.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from codegen.trace.nodes import drop_unused, is_effect


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

    @functools.cached_property
    def needs(self) -> tuple[int, ...]:
        """For each saved value, the tangents whose path back reads it."""
        read: dict[fx.Node, int] = {}
        for node in reversed(self.graph.nodes):
            readers = -1 if is_effect(node) else self.of[node] or read.get(node, 0)
            for item in node.all_input_nodes:
                if not self.of[item]:
                    read[item] = read.get(item, 0) | readers
        return tuple(read.get(node, 0) & self.all for node in self.saved)

    @functools.cached_property
    def conflicts(self) -> tuple[int, ...]:
        """For each tangent, the tangents that exclude it after their backward (itself included).

        Their paths back share a step that reads a saved value: eager has freed that value after the first
        backward.
        """
        made = {node for node in self.graph.nodes if not self.of[node]}
        steps = {self.of[node] for node in self.graph.nodes if not made.isdisjoint(node.all_input_nodes)}
        found = [0] * self.count
        for step in steps:
            for number in range(self.count):
                if step >> number & 1:
                    found[number] |= step
        return tuple(found)

    def conflict(self, sent: int, spent: int) -> bool:
        """Whether the path back from `sent` reads a value that was freed after `spent`."""
        return any(sent >> number & 1 and mask & spent for number, mask in enumerate(self.conflicts))

    def left(self, spent: int) -> int:
        """The tangents that may still come."""
        numbers = range(self.count)
        return sum(1 << n for n in numbers if not spent >> n & 1 and not self.conflicts[n] & spent)


class Partial:
    """The backward for the tangents `sent`.

    `graph` takes the saved values at the positions `saved`, the sent tangents, and zeros like each of
    `zeros`. Steps need zeros where they combine a sent tangent with a missing one, and are not plain
    additions.
    """

    def __init__(self, tangents: Tangents, sent: int) -> None:
        source = tangents.graph
        self.absent = {node for node, of in tangents.of.items() if of and not of & sent}
        steps = [node for node in source.nodes if self.is_step(node)]
        same = {node: addend for node in steps if (addend := self.only_addend(node)) is not None}
        lacking = [item for node in steps if node not in same for item in node.all_input_nodes]
        zeros = [node for node in dict.fromkeys(lacking) if node in self.absent]
        self.graph = graph = fx.Graph(source.owning_module)
        copies: dict[fx.Node, fx.Node] = {}
        for node in (*tangents.saved, *(node for node in tangents.given if node not in self.absent), *zeros):
            copies[node] = graph.placeholder(node.name)
            copies[node].meta["val"] = node.meta["val"]
        for node in steps:
            copies[node] = copies[same[node]] if node in same else graph.node_copy(node, copies.__getitem__)
        results: Any = source.output_node().args[0]
        graph.output(tuple(None if item is None or item in self.absent else copies[item] for item in results))
        drop_unused(graph)
        self.saved = [place for place, node in enumerate(tangents.saved) if copies[node].users]
        for node in tangents.saved:
            if not copies[node].users:
                graph.erase_node(copies[node])
        self.zeros = [node.meta["val"] for node in zeros]

    def is_step(self, node: fx.Node) -> bool:
        return node.op in ("call_function", "get_attr") and node not in self.absent

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

    def arguments(self, saved: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """`saved`, `tangents`: all arguments of the whole backward; None for those that are not needed."""
        zeros = (torch.empty_strided(z.shape, z.stride(), dtype=z.dtype).zero_() for z in self.zeros)
        return [*(saved[place] for place in self.saved), *(t for t in tangents if t is not None), *zeros]


class Kept:
    """The saved tensors that a node made in Python still holds after a backward from some of its results.

    Autograd frees all of them then. (For nodes built in C, native/autograd/autograd_apply.c keeps the tensors
    that other results need.)
    """

    def __init__(self, tangents: Tangents) -> None:
        self.tangents = tangents
        self.spent = 0
        self.tensors: list[tuple[torch.Tensor, int] | None] | None = None

    def saved(self, ctx: Any, sent_tangents: Sequence[Any]) -> Sequence[Any]:
        """The saved tensors for these tangents. Raises eager's error where they were freed or written."""
        sent = sum(1 << number for number, tangent in enumerate(sent_tangents) if tangent is not None)
        free = not torch._C._autograd._get_current_graph_task_keep_graph()
        values: Sequence[Any]
        if self.tensors is None or self.tangents.conflict(sent, self.spent):
            values = ctx.saved_tensors
            kept: list[Any] = [(value.detach(), value._version) for value in values] if free else []
        else:
            kept = self.tensors
            values = [self.unpack(item, needed & sent) for item, needed in zip(kept, self.tangents.needs)]
        if free:
            self.spent |= sent
            left = self.tangents.left(self.spent)
            pairs = zip(kept, self.tangents.needs, strict=True)
            self.tensors = [item if needed & left else None for item, needed in pairs]
        return values

    @staticmethod
    def unpack(item: tuple[torch.Tensor, int] | None, needed: int) -> torch.Tensor | None:
        if item is None or not needed:
            return None
        tensor, version = item
        if tensor._version != version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace "
                f"operation: a tensor of {tuple(tensor.shape)} is at version {tensor._version}, "
                f"expected version {version}"
            )
        return tensor
