"""Graphs whose code calls the very functions that their nodes hold.

torch.fx writes `torch.sin(x)` for a node with the target `torch.sin`, and finds the function by that name
when the code runs: another one, where the program has replaced it meanwhile, or where the program's
replacement was interpreted and the node is the call of the original in it.

In:  the nodes of a graph.
Out: its code as torch.fx writes it, with a `torch` that has these functions in their places, and everything
     else of the real one.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.graph import CodeGen, PythonCode, _is_from_torch
from torch.fx.node import _get_qualified_name

LEFT_ALONE = ("torch.Tensor.", "torch.ops.")


def new_graph() -> torch.fx.Graph:
    graph = torch.fx.Graph()
    graph.set_codegen(CallsItsTargets())
    return graph


class CallsItsTargets(CodeGen):
    def _gen_python_code(self, nodes: Any, *args: Any, **kwargs: Any) -> PythonCode:
        code = super()._gen_python_code(nodes, *args, **kwargs)
        code.globals["torch"] = Names(torch, [node.target for node in nodes if node.op == "call_function"])
        return code


class Names:
    """A module as the code sees it."""

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
