"""Drops nodes without a visible effect before a graph goes to the backend.

In:  the graph, and the nodes that are its outputs.
Out: the same graph with fewer nodes.

    top = topk(x, 2); values = top[0]; indices = top[1]   ->   without `indices`, if no node reads them
"""

from __future__ import annotations

import operator
from typing import Any

import torch
import torch.fx

#: in the `meta` of a node: it computes a whole number of NumPy from such, with no other effect
IS_WHOLE = "is_whole"


def drop_unread_items(graph: torch.fx.Graph, outputs: set[torch.fx.Node]) -> None:
    """Drops what no node reads: parts of results, items of tensors at fixed places, and NumPy's whole numbers
    that were read as symbols.
    """
    for node in reversed(graph.nodes):
        is_item = node.target is operator.getitem and len(node.all_input_nodes) == 1
        if (is_item or IS_WHOLE in node.meta) and not node.users and node not in outputs:
            graph.erase_node(node)


def drop_unread_numbers(graph: torch.fx.Graph) -> None:
    """Drops floats and sizes that became constants in the end."""
    for node in reversed(graph.nodes):
        is_number = isinstance(node.meta.get("example_value"), torch.SymFloat | torch.Size)
        if is_number and not node.users and "may_raise" not in node.meta:
            graph.erase_node(node)


def drop_idle_grad_changes(graph: torch.fx.Graph) -> None:
    """Drops calls that set the grad mode to its present value, or that another call follows at once."""
    setter = torch._C._set_grad_enabled
    kept: list[torch.fx.Node] = []
    modes: list[Any] = [torch.is_grad_enabled()]  # at the start, then after each setter that is kept
    for node in [n for n in graph.nodes if n.op.startswith("call_")]:
        if node.target is setter:
            if kept and kept[-1].target is setter:
                graph.erase_node(kept.pop())
                modes.pop()
            if node.args[0] == modes[-1]:
                graph.erase_node(node)
                continue
            modes.append(node.args[0])
        kept.append(node)
