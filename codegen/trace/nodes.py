"""Nodes of a traced graph: functions for all code that reads or changes such a graph.

In:  nodes of a functional ATen graph.
Out: whether a node has an effect; the graph without unused nodes; numbers that depend on sizes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

from capture_records import dataclass
from codegen.kernel.foreign import is_foreign
from codegen.trace.behaviour import is_check
from codegen.trace.draws import draw


@dataclass(frozen=True, slots=True)
class Symbolic:
    """A number that depends on sizes, as an argument of a node. fx refuses a bare one."""

    value: Any


def as_argument(value: Any) -> Any:
    return Symbolic(value) if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) else value


#: operators that take a position on a dim, which may count from the end -> its place among the arguments
POSITION: dict[Any, int] = {
    torch.ops.aten.slice.Tensor: 2,
    torch.ops.aten.select.int: 2,
    torch.ops.aten.slice_scatter.default: 3,
    torch.ops.aten.select_scatter.default: 3,
}


def counted_from_the_front(func: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a node. A position that depends on sizes is no negative number."""
    place = POSITION.get(func)
    if place is None or len(args) <= place or not isinstance(args[place], torch.SymInt):
        return args
    tensor, dim, position = args[0].meta["val"], args[place - 1], args[place]
    if position >= 0:
        return args
    position = position + tensor.shape[dim]
    return (*args[:place], position if position >= 0 else 0, *args[place + 1 :])


def drop_unused(graph: fx.Graph) -> None:
    for node in reversed(graph.nodes):
        if node.op in ("call_function", "get_attr") and not node.users and not is_effect(node):
            graph.erase_node(node)


def is_effect(node: fx.Node) -> bool:
    """Whether the node writes, draws random numbers, or raises: it stays in the graph, in order.

    An operator that torch does not define may do anything.
    """
    target = node.target
    if target is draw or is_check(target) or is_foreign(target):
        return True
    return isinstance(target, OpOverload) and (
        target._schema.is_mutable or torch.Tag.nondeterministic_seeded in target.tags
    )
