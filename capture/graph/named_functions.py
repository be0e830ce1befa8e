"""Graphs whose code calls exactly the functions that their nodes hold.

For a node with the target `torch.sin`, torch.fx writes `torch.sin(x)`, and looks the name up when the code
runs. The name may then give another function, because the program has replaced it since. Or the program
replaced it before, the interpreter went through the replacement, and the node is the call of the original in
it.

In:  the nodes of a graph.
Out: the code that torch.fx writes for them. The name `torch` in it gives an object that has these functions
     in their places, and everything else of the real module.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.graph import PythonCode, _is_from_torch
from torch.fx.node import _get_qualified_name

from codegen.kernel.fx_graph import Graph, TextOfGraph

LEFT_ALONE = ("torch.Tensor.", "torch.ops.")


def new_graph() -> torch.fx.Graph:
    graph = Graph()
    graph.set_codegen(CallsItsTargets())
    return graph


class CallsItsTargets(TextOfGraph):
    def _gen_python_code(self, nodes: Any, *args: Any, **kwargs: Any) -> PythonCode:
        code = super()._gen_python_code(nodes, *args, **kwargs)
        code.globals["torch"] = Names(torch, [node.target for node in nodes if node.op == "call_function"])
        return code


class Names:
    """A module as the code of the graph sees it."""

    def __init__(self, module: Any, targets: list[Any]) -> None:
        self._module = module
        for target in targets:
            if _is_from_torch(target):
                self._hold(_get_qualified_name(target), target)

    def _hold(self, path: str, target: Any) -> None:
        if path.startswith(LEFT_ALONE):
            return
        place = self
        *parents, name = path.split(".")[1:]
        for parent in parents:
            inner = vars(place).get(parent)
            if not isinstance(inner, Names):
                inner = vars(place)[parent] = Names(getattr(place._module, parent), [])
            place = inner
        vars(place)[name] = target

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_module"], name)
