"""A `torch.fx.Graph` that takes nodes quickly.

In:  calls, one by one.
Out: the graph, as torch.fx makes it.

For each node torch.fx walks through all arguments, only to warn about symbolic sizes among them. That walk
takes half of the time. Symbolic sizes are nodes in the graphs of capture.
"""

from __future__ import annotations

from typing import Any

import torch.fx


class Graph(torch.fx.Graph):
    """A graph as in torch.fx."""

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> torch.fx.Node:
        node = super().create_node(op, target, (), {}, name, type_expr)
        if args or kwargs:
            node._update_args_kwargs(args or (), kwargs or {})
        return node
