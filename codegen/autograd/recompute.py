"""Which values pass from the forward to the backward, and which the backward computes again.

In:  the values of the forward that the backward reads, and the forward's results.
Out: what is saved, and the steps that make the rest from it.

    a = x @ w; b = a.float(); y = gelu(b)     a in bfloat16 is saved, b computed again: half of the bytes

Two ways are tried, and the one that keeps fewer bytes is taken (the first where they are equal): what the
backward reads is saved, but for what a few cheap steps make from what is saved already; and the cheapest cut
of the graph between what can't be computed again and what the backward reads, where a value costs the bytes
that are written and read, and a step that is done again what it computes. Recomputation as a cut: Jain and
others, "Checkmate: Breaking the memory wall with optimal tensor rematerialization", 2020, has the problem;
the largest flow solves it where each step is done once more at most.

Never again: products, reductions, random draws, and nothing from inputs that the gradients do not use
themselves. Nothing is saved beyond what eager would keep that the program could write to: inputs, results and
their views.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable
from math import prod

import torch
from torch import fx
from torch._ops import OpOverload

from codegen.autograd.minimum_cut import Edge, minimum_cut

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


#: elementwise operators that cost next to nothing beside the reading of their operands
SIMPLE = frozenset((
    "add", "sub", "rsub", "mul", "neg", "abs", "relu", "where", "sign", "maximum", "minimum", "clamp", "clamp_min", "clamp_max", "threshold_backward",
    "eq", "ne", "lt", "le", "gt", "ge", "logical_not", "logical_and", "logical_or", "bitwise_not", "bitwise_and", "bitwise_or",
))  # fmt: skip
UNKNOWN = 256
DEAR = 3  # bytes that are read in the time of one element of another elementwise operator


def base_of(node: fx.Node) -> fx.Node:
    """What `node` is a view of, through any number of views; itself where it is none, or a part of something
    that need not be stored whole.
    """
    base, is_part = node, False
    while base.target in VIEWS:
        is_part |= base.target in PARTS
        base = base.all_input_nodes[0]
    return node if is_part and is_cheap(base) else base


def choose_saved(frontier: list[fx.Node], results: list[fx.Node]) -> tuple[list[fx.Node], list[fx.Node]]:
    """Of the values that the backward reads: those to save, and the nodes to compute again (in order). A view
    is made again from its base: the memory is the same, and so are its writes.
    """
    plain = follow(frontier, results, set())
    other = follow(frontier, results, cheapest_cut(frontier, results))
    return min(plain, other, key=lambda way: bytes_kept(way[0], results))


def bytes_kept(saved: list[fx.Node], results: list[fx.Node]) -> int:
    """Inputs and results are there anyway."""
    return sum(bytes_of(node) for node in saved if node.op != "placeholder" and node not in results)


def bytes_of(node: fx.Node) -> int:
    value = node.meta["val"]
    return count_of(value) * value.element_size() if isinstance(value, torch.Tensor) else 0


def count_of(value: torch.Tensor) -> int:
    """Elements, for the present sizes. A size that is not known before the graph runs counts as one of some
    hundred: it is the same for all.
    """
    return prod(size if isinstance(size, int) else size.node._hint or UNKNOWN for size in value.shape)


def follow(
    frontier: list[fx.Node], results: list[fx.Node], chosen: set[fx.Node]
) -> tuple[list[fx.Node], list[fx.Node]]:
    """Saved are the `chosen` values and what can't be made, or not in a few steps, from what is saved."""
    saved: list[fx.Node] = []
    again: dict[fx.Node, None] = {}
    bases = dict.fromkeys(base_of(node) for node in frontier)
    available = given(bases, results) | chosen
    for node in sorted({*bases, *frontier, *chosen}):
        chain = None if node in available else recipe(node, available)
        if chain is None:
            saved.append(node)
            available.add(node)
        else:
            again.update(dict.fromkeys(chain))
    return saved, list(again)


def given(bases: dict[fx.Node, None], results: list[fx.Node]) -> set[fx.Node]:
    """What is saved in any case, or is there anyway."""
    return {node for node in bases if not is_cheap(node) or node in results}


MAX_RECIPE = 8


def recipe(node: fx.Node, available: set[fx.Node]) -> list[fx.Node] | None:
    """The cheap nodes that compute `node` from what is available; None if there is no such way, or a long
    one.
    """
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


# --- the cheapest cut -------------------------------------------------------------------------------------

SOURCE, SINK = "source", "sink"


def cheapest_cut(frontier: list[fx.Node], results: list[fx.Node]) -> set[fx.Node]:
    """Values to save beside those that are saved in any case."""
    bases = dict.fromkeys(base_of(node) for node in frontier)
    there = given(bases, results)
    shown = {root_of(node) for node in results}
    edges: list[Edge] = []
    seen: set[fx.Node] = set()
    pending = [node for node in frontier if node not in there]
    edges += [((node, "made"), SINK, None) for node in pending]
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        edges.append(((node, "used"), (node, "made"), save_cost(node, bases, shown)))
        if not is_cheap(node):
            edges.append((SOURCE, (node, "used"), None))
            continue
        edges.append((SOURCE, (node, "used"), step_cost(node)))
        needed = [argument for argument in node.all_input_nodes if argument not in there]
        edges += [((argument, "made"), (node, "used"), None) for argument in needed]
        pending += needed
    before: set[Hashable] = minimum_cut(edges, SOURCE, SINK)
    return {node for node in seen if (node, "used") in before and (node, "made") not in before}


def save_cost(node: fx.Node, bases: dict[fx.Node, None], shown: set[fx.Node]) -> int | None:
    """In bytes that are moved; None where it must not be saved."""
    if node in bases:
        return 2 * bytes_of(node)
    root = root_of(node)
    private = root.op != "placeholder" and root not in shown
    if node.op == "get_attr":
        return 0
    return (
        2 * bytes_of(node)
        if private and base_of(node) is node and isinstance(node.meta["val"], torch.Tensor)
        else None
    )


def root_of(node: fx.Node) -> fx.Node:
    """The node whose memory a view is on, through parts too."""
    while node.target in VIEWS or node.target is aten.reshape.default:
        node = node.all_input_nodes[0]
    return node


def step_cost(node: fx.Node) -> int:
    """Of computing it again, in bytes that could be read meanwhile."""
    value = node.meta["val"]
    if node.target in CHEAP_VIEWS or not isinstance(value, torch.Tensor):
        return 0
    assert isinstance(node.target, OpOverload)
    simple = node.target._schema.name.removeprefix("aten::") in SIMPLE
    return count_of(value) // 2 if simple else DEAR * count_of(value)
