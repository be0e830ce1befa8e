"""The known values of a graph's nodes.

In:  a graph, the values of some of its placeholders.
Out: node -> value; new constants as `get_attr` nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import fx

from codegen.fake.twins import to_fake


class Constants:
    """The known values of a graph's nodes."""

    def __init__(self, graph: fx.Graph, values: Mapping[fx.Node, torch.Tensor]) -> None:
        self.graph = graph
        self.values = {node: value.detach() for node, value in values.items()}

    def get(self, value: Any) -> torch.Tensor | None:
        return self.values.get(value) if isinstance(value, fx.Node) else None

    def add(self, tensor: torch.Tensor, twin: fx.Node, before: fx.Node) -> fx.Node:
        """A node of the tensor. `twin`: any tensor node. `before`: the first node that needs it."""
        root: Any = self.graph.owning_module
        name = f"frozen_{len(root._buffers)}"
        root.register_buffer(name, tensor)
        with self.graph.inserting_before(before):
            node = self.graph.get_attr(name)
        like = tensor if tensor.layout is torch.strided else tensor.to_dense()
        node.meta["val"] = to_fake(twin.meta["val"].fake_mode, like)
        self.values[node] = tensor
        return node
