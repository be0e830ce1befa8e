"""Chooses the memory layout of images: row-major as in eager, or channels-last where convolutions gain by it.

In:  the functional ATen graphs of a forward and its backward, or one graph.
Out: the same graphs. Some images in them are channels-last, with copies at the borders.

    conv(relu(conv(x, v)), w)   ->   clone(conv(relu(conv(clone(x, channels_last), v)), w), row-major)

Images that are connected by convolutions, or by operators that keep a layout (`keepers.py`), are a region:
all of them have one layout. A region becomes channels-last where its convolutions gain more (`gains.py`) than
the copies at its borders cost. What leaves the graphs has eager's layout: a clone stands in front of each
node that is not in the region. The passes fuse most of these clones with the code around them. Such a graph
still runs operator by operator.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterator, Sequence, Set
from typing import Any

import torch
from torch import fx

from codegen.convolutions import BACKWARD, FORWARD
from codegen.convolutions.gains import COPY, gain_of, is_plain, is_row_major
from codegen.convolutions.keepers import CALLED, SLICE, followed, is_image, reads_any
from codegen.convolutions.one_pixel import as_products
from codegen.convolutions.own import as_own, as_own_for_all_sizes
from codegen.fake.shapes.spec import Spec, channels_last, contiguous
from codegen.launch.levels import host_level

CLONE, PERMUTE = torch.ops.aten.clone.default, torch.ops.aten.permute.default
ROWS = {"memory_format": torch.contiguous_format}
#: operator -> the positions of the images among its operands
CONVOLUTIONS: dict[Any, tuple[int, ...]] = {FORWARD: (0,), BACKWARD: (0, 1)}

#: members that are not left out where they alone are at a border
FIXED = {*CONVOLUTIONS, SLICE, operator.getitem}

LEVELS = ("x86-64-v3", "x86-64-v4")

#: a value that the forward gives to the backward: its nodes in both graphs
Passed = Sequence[tuple[fx.Node, fx.Node]]


def lay_out(graphs: Sequence[fx.Graph], passed: Passed = (), fixed: Set[fx.Node] = frozenset()) -> None:
    """Changes the graphs in place, and the values of the `passed` nodes. `fixed`: placeholders that are
    channels-last.
    """
    has_images = fixed or any(node.target in CONVOLUTIONS for graph in graphs for node in graph.nodes)
    if not has_images or not has_gains():
        return
    regions = Regions(graphs, passed, fixed)
    chosen = regions.chosen()
    for graph in graphs:
        if chosen:
            Relayout(graph, regions, chosen).apply()
        as_products(graph, chosen)
        as_own(graph, chosen)


def lay_out_for_all_sizes(graphs: Sequence[fx.Graph]) -> None:
    """The same for graphs with symbolic sizes, whose images stay row-major."""
    if any(node.target in CONVOLUTIONS for graph in graphs for node in graph.nodes) and has_gains():
        for graph in graphs:
            as_own_for_all_sizes(graph)


def has_gains() -> bool:
    """Whether oneDNN computes convolutions, on a machine for which it has channels-last kernels."""
    return torch._C._has_mkldnn and torch._C._get_mkldnn_enabled() and host_level() in LEVELS


def lay_out_as(graph: fx.Graph, other: fx.Graph, saved: int) -> None:
    """Lays out another backward of the forward that gives its values to `other`: the first `saved`
    placeholders. Those of tangents have the same names, and may have other strides.
    """
    placeholders = other.find_nodes(op="placeholder")[:saved]
    theirs = {node.name: node.meta["val"] for node in placeholders}
    fixed = {
        node
        for node in graph.find_nodes(op="placeholder")
        if node.name in theirs and is_image(node) and is_turned(node.meta["val"], theirs[node.name])
    }
    if fixed:
        lay_out([graph], fixed=fixed)


class Regions:
    """`members`: node -> another one of the same region, or itself. `operands`: those of each member whose
    layout it takes.
    """

    def __init__(self, graphs: Sequence[fx.Graph], passed: Passed, fixed: Set[fx.Node]) -> None:
        self.gains: dict[fx.Node, float] = {}  # of the convolutions
        self.fixed = fixed
        self.given = {placeholder: node for node, placeholder in passed}
        self.passed = {node for node, _ in passed}
        self.members: dict[fx.Node, fx.Node] = {}
        self.operands: dict[fx.Node, list[fx.Node]] = {}
        for graph in graphs:
            for node in graph.nodes:
                if self._is_member(node):
                    self.members[node] = node
        self._trim()
        for node in self.members:
            for other in self._linked(node):
                if other in self.members:
                    self.members[self.root(other)] = self.root(node)

    def _is_member(self, node: fx.Node) -> bool:
        if node.op == "placeholder":
            return node in self.fixed or self.given.get(node) in self.members
        if node.target is operator.getitem:
            return node.args[0] in self.members and not is_of_weights(node)
        if node.target in CONVOLUTIONS:
            gain = gain_of(node)
            if gain is None:
                return False
            self.gains[node] = gain
            self.operands[node] = images_of(node)
            return True
        if node.op != "call_function" or (not is_in_rows(node) and node.target is not SLICE):
            return False
        self.operands[node] = operands = followed(node)
        return bool(operands) and (
            node.target is not SLICE or (is_image(node) and operands[0] in self.members)
        )

    def _linked(self, node: fx.Node) -> list[Any]:
        """What has to be in the region of a member."""
        if node.op == "placeholder":
            return [self.given.get(node)]
        return [node.args[0]] if node.target is operator.getitem else self.operands[node]

    def root(self, node: fx.Node) -> fx.Node:
        while self.members[node] is not node:
            self.members[node] = node = self.members[self.members[node]]
        return node

    def takes(self, user: fx.Node, node: fx.Node, inside: Container[fx.Node]) -> bool:
        """Whether `user` reads `node` in any layout. `inside`: the members that change."""
        if user.op == "output":
            return node in self.passed
        if user.target is operator.getitem:
            return True
        if user in inside:
            return node in self.operands[user]
        return user.op == "call_function" and reads_any(user)

    def is_left(self, node: fx.Node) -> bool:
        """Whether it is read outside of its region."""
        return not all(self.takes(user, node, self.members) for user in node.users)

    # --- the choice

    def _trim(self) -> None:
        """Leaves out the operators at the borders that have fewer elements on their other side."""
        pending = [node for node in self.members if is_trimmable(node)]
        while pending:
            node = pending.pop()
            if node in self.members and self._is_better_outside(node):
                del self.members[node]
                around = (*self.operands[node], *node.users)
                pending += [item for item in around if item in self.members and is_trimmable(item)]

    def _is_better_outside(self, node: fx.Node) -> bool:
        operands = self.operands[node]
        inside = [item for item in operands if item in self.members]
        readers = [user for user in node.users if user in self.members]
        if any(user.target is SLICE for user in readers):
            return False
        now = sum(size_of(item) for item in operands if item not in self.members)
        then = sum(size_of(item) for item in inside if len(item.users) == 1)
        now += size_of(node) if self.is_left(node) else 0
        return then + (size_of(node) if readers else 0) < now

    def chosen(self) -> set[fx.Node]:
        """The members of all regions that gain."""
        totals: dict[fx.Node, float] = {}
        for node, gain in self.gains.items():
            totals[self.root(node)] = totals.get(self.root(node), 0.0) + gain - COPY * of_weights(node)
        for root, size in self._borders():
            if root in totals:
                totals[root] -= COPY * size
        for node in self.members:
            if node in self.fixed:
                totals[self.root(node)] = 1.0
        return {node for node in self.members if totals.get(self.root(node), 0.0) > 0}

    def _borders(self) -> Iterator[tuple[fx.Node, int]]:
        """Regions, and the elements that have to be copied at their borders."""
        entering: set[tuple[fx.Node, fx.Node]] = set()
        for node in self.members:
            root, operands = self.root(node), self.operands.get(node, ())
            entering.update((root, item) for item in operands if item not in self.members)
            if is_image(node) and self.is_left(node):
                yield root, size_of(node)
        for root, item in entering:
            yield root, size_of(item)


def images_of(node: fx.Node) -> list[Any]:
    return [node.args[place] for place in CONVOLUTIONS[node.target]]


def is_trimmable(node: fx.Node) -> bool:
    return node.op == "call_function" and node.target not in FIXED and is_image(node)


def size_of(node: fx.Node) -> int:
    return int(node.meta["val"].numel())


def is_in_rows(node: fx.Node) -> bool:
    value = node.meta.get("val")
    value = value[0] if isinstance(value, tuple) and value else value
    return isinstance(value, torch.Tensor) and is_plain(value) and is_row_major(value)


def is_of_weights(node: fx.Node) -> bool:
    """Whether it is a gradient of weights or of a bias."""
    base, place = node.args
    return isinstance(base, fx.Node) and base.target is BACKWARD and place in (1, 2)


def of_weights(node: fx.Node) -> int:
    """The elements of the gradient of its weights."""
    gradient = node.meta["val"][1] if node.target is BACKWARD else None
    return 0 if gradient is None else int(gradient.numel())


class Relayout:
    """Makes the chosen members of a graph channels-last."""

    def __init__(self, graph: fx.Graph, regions: Regions, chosen: set[fx.Node]) -> None:
        self.graph = graph
        self.regions = regions
        self.chosen = chosen
        self.turned: dict[fx.Node, fx.Node] = {}  # copies
        self.as_before: dict[fx.Node, fx.Node] = {}

    def apply(self) -> None:
        for node in list(self.graph.nodes):
            before = node.meta.get("val")
            if node in self.chosen:
                self._convert(node)
                readers = [user for user in node.users if not self.regions.takes(user, node, self.chosen)]
            elif node.target is operator.getitem and node.args[0] in self.chosen:  # a gradient of weights
                node.meta["val"] = item_of(node)
                readers = list(node.users) if before is not None else []
            else:
                continue
            for reader in readers:
                reader.replace_input_with(node, self._restored(node, before))

    def _convert(self, node: fx.Node) -> None:
        if node.target in CONVOLUTIONS or node.target in CALLED:
            for operand in self.regions.operands[node]:
                node.replace_input_with(operand, self._converted(operand, node))
        if node.target is operator.getitem:
            node.meta["val"] = item_of(node)
        elif node.target is SLICE:
            base, *rest = node.args
            with base.meta["val"].fake_mode:  # type: ignore[union-attr]
                node.meta["val"] = SLICE(base.meta["val"], *rest)  # type: ignore[union-attr]
        else:
            value = node.meta["val"]
            node.meta["val"] = tuple(map(turned, value)) if isinstance(value, tuple) else turned(value)

    def _converted(self, node: fx.Node, reader: fx.Node) -> fx.Node:
        """`node`, or a channels-last copy."""
        value = node.meta["val"]
        if value.stride() == channels_last(value.shape, value.dtype).strides:
            return node
        if node not in self.turned:
            with self.graph.inserting_before(reader):  # in steps that a batch of gradients can go through
                rows = self._call(PERMUTE, (node, [0, 2, 3, 1]), {}, node, with_channels_behind(value))
                rows = self._call(CLONE, (rows,), ROWS, node, laid_out(rows.meta["val"], contiguous))
                self.turned[node] = self._call(PERMUTE, (rows, [0, 3, 1, 2]), {}, node, turned(value))
        return self.turned[node]

    def _restored(self, node: fx.Node, value: Any) -> fx.Node:
        """A row-major copy of `node`. A part is the part of a copy, because it shares memory in eager."""
        found = self.as_before.get(node)
        if found is None:
            base: Any = node.args[0] if node.target is SLICE else None
            if base is not None:
                base = self._restored(base, laid_out(base.meta["val"], contiguous))
            with self.graph.inserting_before(behind(node)):
                if base is None:
                    found = self._call(CLONE, (node,), ROWS, node, value)
                else:
                    found = self._call(SLICE, (base, *node.args[1:]), {}, node, value)
            self.as_before[node] = found
        return found

    def _call(self, target: Any, args: Any, kwargs: Any, like: fx.Node, value: Any) -> fx.Node:
        """A call that stands for the node `like`."""
        made = self.graph.call_function(target, args, kwargs)
        made.meta.update(like.meta)
        made.meta["val"] = value
        return made


def behind(node: fx.Node) -> fx.Node:
    """The first place behind a node for a call."""
    node = node.next
    while node.op == "placeholder":
        node = node.next
    return node


def item_of(node: fx.Node) -> Any:
    base, place = node.args
    return base.meta["val"][place]  # type: ignore[union-attr]


def is_turned(value: Any, other: Any) -> bool:
    """Whether `other` is the row-major image `value` in channels-last layout."""
    is_same = is_row_major(value) and value.shape == other.shape
    return is_same and bool(other.stride() == turned(value).stride())


def turned(value: Any) -> Any:
    """The same tensor in channels-last layout; a vector stays."""
    return laid_out(value, channels_last) if is_plain(value) else value


def with_channels_behind(value: Any) -> Any:
    """value.permute(0, 2, 3, 1)"""
    shape, strides = ((n, h, w, c) for n, c, h, w in (value.shape, value.stride()))
    return value.fake_mode.new(Spec(shape, strides, value.dtype), value.device)


def laid_out(value: Any, layout: Callable[..., Spec]) -> Any:
    return value.fake_mode.new(layout(tuple(value.shape), value.dtype), value.device)
