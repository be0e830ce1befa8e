"""Which values pass from the forward to the backward, and which the backward computes again.

In:  the values of the forward that the backward reads, and the forward's results.
Out: the saved values, and the steps that compute the other values from them.

    a = x @ w; b = a.float(); y = gelu(b)     a in bfloat16 is saved, b computed again: half of the bytes

There are two plans. The plan that keeps fewer bytes is taken, or the first where both keep the same:

* The values that the backward reads are saved, except those that a few cheap steps compute from saved values.
* The cheapest cut of the graph between values that can't be computed again and values that the backward
  reads. A saved value costs the bytes that are written and read; a repeated step costs its computation.

The cut follows Jain and others, "Checkmate: Breaking the memory wall with optimal tensor rematerialization",
2020. The largest flow solves the problem, because each step is repeated once at most.

Some values are never computed again: matrix products, reductions, random numbers, and values computed from
inputs that the gradients do not use themselves. The plans save no value that the program could write to
(inputs, results, and views of them) unless eager saves it, too.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable
from math import prod

import torch
from torch import fx
from torch._ops import OpOverload

from codegen.autograd.minimum_cut import Edge, minimum_cut
from codegen.lower.nodes import all_known
from codegen.lower.registry import LOWERINGS

aten = torch.ops.aten
PARTS = frozenset((aten.slice.Tensor, aten.select.int))
VIEWS = PARTS | frozenset((
    aten.view.default, aten._unsafe_view.default, aten.t.default, aten.transpose.int, aten.permute.default,
    aten.unsqueeze.default, aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims, aten.expand.default,
    aten.alias.default,
))  # fmt: skip
CHEAP_VIEWS = VIEWS | frozenset((
    aten.reshape.default, aten._to_copy.default, aten.clone.default, aten.copy.default, aten.full.default,
    aten.full_like.default, aten.zeros_like.default, aten.ones_like.default, aten.scalar_tensor.default,
    aten.zeros.default, aten.ones.default, aten.empty_strided.default,
))  # fmt: skip


def is_cheap(node: fx.Node) -> bool:
    """Whether the node is elementwise or changes a layout: it fuses with the code that reads it.

    Operators on complex numbers, and those without a lowering, fuse with nothing: each is a call.
    """
    target = node.target
    if not isinstance(target, OpOverload) or torch.Tag.nondeterministic_seeded in target.tags:
        return False
    if target in VIEWS:
        return True
    is_plain = target in CHEAP_VIEWS or torch.Tag.pointwise in target.tags
    return is_plain and target in LOWERINGS and all_known(node)


#: elementwise operators that cost almost nothing compared with the reading of their operands
SIMPLE = frozenset((
    "add", "sub", "rsub", "mul", "neg", "abs", "relu", "where", "sign", "maximum", "minimum", "clamp",
    "clamp_min", "clamp_max", "threshold_backward", "eq", "ne", "lt", "le", "gt", "ge", "logical_not",
    "logical_and", "logical_or", "bitwise_not", "bitwise_and", "bitwise_or",
))  # fmt: skip
UNKNOWN = 256
EXPENSIVE = 3  # bytes that are read in the time of one element of another elementwise operator


def base_of(node: fx.Node) -> fx.Node:
    """The base of `node`, through any number of views.

    It is `node` itself where that is no view, or a part of a value that need not be saved as a whole.
    """
    base, is_part = node, False
    while base.target in VIEWS:
        is_part |= base.target in PARTS
        base = base.all_input_nodes[0]
    return node if is_part and is_cheap(base) else base


def choose_saved(frontier: list[fx.Node], results: list[fx.Node]) -> tuple[list[fx.Node], list[fx.Node]]:
    """The values to save, and the nodes to compute again (in order), for the values that the backward reads.

    A view is made again from its base: it has the same memory, and the same writes.
    """
    plain = follow(frontier, results, set())
    other = follow(frontier, results, cheapest_cut(frontier, results))
    return min(plain, other, key=lambda way: bytes_kept(way[0], results))


def bytes_kept(saved: list[fx.Node], results: list[fx.Node]) -> int:
    """The bytes of the saved values. Inputs and results exist anyway."""
    return sum(bytes_of(node) for node in saved if node.op != "placeholder" and node not in results)


def bytes_of(node: fx.Node) -> int:
    value = node.meta["val"]
    return count_of(value) * value.element_size() if isinstance(value, torch.Tensor) else 0


def count_of(value: torch.Tensor) -> int:
    """The number of elements, for the present sizes.

    A size that is known only when the graph runs counts as a few hundred: it counts the same in both plans.
    """
    return prod(size if isinstance(size, int) else size.node._hint or UNKNOWN for size in value.shape)


def follow(
    frontier: list[fx.Node], results: list[fx.Node], chosen: set[fx.Node]
) -> tuple[list[fx.Node], list[fx.Node]]:
    """Saves the `chosen` values, and the values that a few steps can't compute from saved values."""
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
    """The values that are saved in any case, or exist anyway."""
    return {node for node in bases if not is_cheap(node) or node in results}


MAX_RECIPE = 8


def recipe(node: fx.Node, available: set[fx.Node]) -> list[fx.Node] | None:
    """The cheap nodes that compute `node` from the available nodes; None if there are none, or too many."""
    order: list[fx.Node] = []
    return order if _add_steps(node, available, order) else None


def _add_steps(node: fx.Node, available: set[fx.Node], order: list[fx.Node]) -> bool:
    """Add the steps to `node` to a recipe. False where it has none."""
    if node in available or node in order:
        return True
    if not is_cheap(node) or node.target is operator.getitem or len(order) >= MAX_RECIPE:
        return False
    if not all(_add_steps(argument, available, order) for argument in node.all_input_nodes):
        return False
    order.append(node)
    return len(order) <= MAX_RECIPE


# --- the cheapest cut -------------------------------------------------------------------------------------

SOURCE, SINK = "source", "sink"


def cheapest_cut(frontier: list[fx.Node], results: list[fx.Node]) -> set[fx.Node]:
    """The values to save in addition to the values that are saved in any case."""
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
    """The cost of saving it, in bytes that are moved; None where it must not be saved."""
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
    """The node that owns the memory of a view, through parts too."""
    while node.target in VIEWS or node.target is aten.reshape.default:
        node = node.all_input_nodes[0]
    return node


def step_cost(node: fx.Node) -> int:
    """The cost of computing it again, in bytes that could be read in the same time."""
    value = node.meta["val"]
    if node.target in CHEAP_VIEWS or not isinstance(value, torch.Tensor):
        return 0
    assert isinstance(node.target, OpOverload)
    simple = node.target._schema.name.removeprefix("aten::") in SIMPLE
    return count_of(value) // 2 if simple else EXPENSIVE * count_of(value)
