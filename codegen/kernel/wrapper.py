"""A compiled graph, and something around each call of it.

In:  a compiled graph.
Out: a callable for the same arguments, with the attributes of the graph.

    InInferenceMode(graph)(x)    ->    with torch.inference_mode(): graph(x)
"""

from __future__ import annotations

from typing import Any


class GraphWrapper:
    def __init__(self, graph: Any) -> None:
        self.graph = graph

    @property
    def direct_call(self) -> GraphWrapper:
        """Not that of the graph, which has nothing around it."""
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.graph, name)
