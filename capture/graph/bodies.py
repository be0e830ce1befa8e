"""Bodies of loops and branches, as the graph shows them to a backend and to a reader.

In:  a finished graph. Nodes of loops and branches have their bodies in `meta["bodies"]`, by name.
Out: its module, with the bodies as submodules.

    cond = cond(gt, x)    ->    gm.cond_true_0: a GraphModule; gm.cond_false_0
"""

from __future__ import annotations

import torch
import torch.fx

from codegen.kernel.graph_module import GraphModule

BODIES = "bodies"


def module_of(graph: torch.fx.Graph, class_name: str = "GraphModule") -> GraphModule:
    module = GraphModule(torch.nn.Module(), graph, class_name=class_name)
    for node in graph.nodes:
        for name, body in node.meta.get(BODIES, {}).items():
            module.add_module(name, body)
    return module
