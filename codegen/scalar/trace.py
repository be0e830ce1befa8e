"""Traces a Python function with `torch.fx`, and keeps the line of each call.

In:  a function of numbers.
Out: `torch.fx.GraphModule`. `node.meta["line"]` is "train.py:3" where the program made the call.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import torch.fx

_TORCH = os.path.dirname(torch.__file__) + os.sep


class _Tracer(torch.fx.Tracer):
    def create_node(self, *args: Any, **kwargs: Any) -> torch.fx.Node:
        node = super().create_node(*args, **kwargs)
        node.meta["line"] = _line_of_the_program()
        return node


def _line_of_the_program() -> str:
    """The innermost frame outside of torch and of this file."""
    frame = sys._getframe()
    while frame.f_back and frame.f_code.co_filename.startswith((_TORCH, __file__)):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def trace(function: Callable[..., Any]) -> torch.fx.GraphModule:
    """Raises TraceError or TypeError where the function needs to know a number."""
    tracer = _Tracer()
    graph = tracer.trace(function)
    return torch.fx.GraphModule(tracer.root, graph)
