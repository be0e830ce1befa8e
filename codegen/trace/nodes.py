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
