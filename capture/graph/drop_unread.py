"""What is dropped from a graph before it goes to the backend: nothing of it can be seen.

In:  the graph and the nodes that are its outputs.
Out: the same graph with fewer nodes.

    top = topk(x, 2); values = top[0]; indices = top[1]   ->   without `indices`, where nothing reads them
"""

from __future__ import annotations

import operator
from typing import Any

import torch
import torch.fx


def drop_unread_items(graph: torch.fx.Graph, outputs: set[torch.fx.Node]) -> None:
    """Parts of results, and items of tensors at fixed places, that nothing reads."""
    for node in reversed(graph.nodes):
        unread = not node.users and node not in outputs
        if node.target is operator.getitem and unread and len(node.all_input_nodes) == 1:
            graph.erase_node(node)


def drop_unread_numbers(graph: torch.fx.Graph) -> None:
    """Floats and sizes that became constants after all."""
    for node in reversed(graph.nodes):
        is_number = isinstance(node.meta.get("example_value"), torch.SymFloat | torch.Size)
        if is_number and not node.users and "may_raise" not in node.meta:
            graph.erase_node(node)


def drop_idle_grad_changes(graph: torch.fx.Graph) -> None:
    """Grad mode set to what it is, or set twice without an operation between."""
    setter = torch._C._set_grad_enabled
    kept: list[torch.fx.Node] = []
    modes: list[Any] = [torch.is_grad_enabled()]  # at the start, then behind each of those kept that set it
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
