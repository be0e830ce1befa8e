"""A `torch.fx.GraphModule` whose source goes when its code goes.

In:  a module and a graph.
Out: the GraphModule. Its generated source is in `linecache` as long as the code object of its forward lives.

    GraphModule(torch.nn.Module(), graph, class_name="Captured_f")

torch.fx keeps the source of each generated forward in two tables, for tracebacks, until the process ends. A
program that makes functions and drops them would grow without an end.
"""

from __future__ import annotations

import linecache
import weakref

import torch.fx
from torch.fx import graph_module
from torch.fx.graph import PythonCode


class GraphModule(torch.fx.GraphModule):
    """A graph as a module, as in torch.fx."""

    def recompile(self) -> PythonCode:
        generated = super().recompile()
        code = type(self).forward.__code__
        if code.co_filename.startswith(
            "<eval_with_key>"
        ):  # other names are made of the text: many may share it
            finalizer = weakref.finalize(code, _forget, graph_module._loader.eval_cache, code.co_filename)
            finalizer.atexit = False
        return generated


def _forget(sources: dict[str, str], name: str) -> None:
    sources.pop(name, None)
    linecache.cache.pop(name, None)
