"""A `torch.fx.GraphModule` whose source is written when it is first read, and goes when its code goes.

In:  a module and a graph.
Out: the GraphModule. Its generated source is in `linecache` as long as the code object of its forward lives.

    GraphModule(torch.nn.Module(), graph, class_name="Captured_f")

A compiled graph reads no source: it only serves where the graph runs call by call. To write it takes a tenth
of a capture. torch.fx keeps the source of each generated forward in two tables, for tracebacks, until the
process ends. A program that makes functions and drops them would grow without an end.
"""

from __future__ import annotations

import contextlib
import linecache
import weakref
from collections.abc import Iterator
from typing import Any

import torch.fx
from torch.fx import graph_module
from torch.fx.graph import PythonCode
from torch.fx.node import map_aggregate

from codegen.kernel.watching import unwatched


class _WrittenWhenRead:
    """`forward` of a module whose source is not written yet."""

    def __get__(self, module: GraphModule | None, cls: type) -> Any:
        if module is None:
            return self
        module.write()
        return module.forward


class GraphModule(torch.fx.GraphModule):
    """A graph as a module, as in torch.fx."""

    forward = _WrittenWhenRead()  # of a module's own class once it is written

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Hooks for all modules are for the program's own: they don't see this one."""
        if self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks:
            return super().__call__(*args, **kwargs)  # a function that compiles graphs has registered them
        return self.forward(*args, **kwargs)

    def recompile(self) -> PythonCode | None:  # type: ignore[override]
        """Write the source. The call of the constructor does not: it notes that there is a graph."""
        if "_has_graph" not in vars(self):
            vars(self)["_has_graph"] = True
            return None
        with written_exactly(self.graph):
            generated = super().recompile()
        code = type(self).forward.__code__
        if code.co_filename.startswith(
            "<eval_with_key>"
        ):  # other names are made of the text: many may share it
            finalizer = weakref.finalize(code, _forget, graph_module._loader.eval_cache, code.co_filename)
            finalizer.atexit = False
        return generated

    @property
    def is_written(self) -> bool:
        return not isinstance(type(self).forward, _WrittenWhenRead)

    def write(self) -> None:
        """Write the source if that was not done yet."""
        if not self.is_written:
            with unwatched():
                self.recompile()

    @property
    def code(self) -> str:
        self.write()
        return super().code

    def __str__(self) -> str:
        self.write()
        return super().__str__()

    def __reduce__(self) -> Any:
        self.write()
        return super().__reduce__()


class _Written(complex):
    """A complex number whose text is an expression for it.

    `-1j` is (-0-1j), but the expression "-0-1j" is 0-1j, and "infj" is a name.
    """

    def __repr__(self) -> str:
        return f"complex({self.real!r}, {self.imag!r})"


@contextlib.contextmanager
def written_exactly(graph: torch.fx.Graph) -> Iterator[None]:
    """The source of `graph` that is written in this block has the complex numbers to the sign of a zero."""
    kept = [(node, node.args, node.kwargs) for node in graph.nodes if _names_complex(node)]
    for node, args, kwargs in kept:
        node.args, node.kwargs = map_aggregate(args, _written), map_aggregate(kwargs, _written)
    try:
        yield
    finally:
        for node, args, kwargs in kept:
            node.args, node.kwargs = args, kwargs


def _names_complex(node: torch.fx.Node) -> bool:
    kinds = set()
    map_aggregate((node.args, node.kwargs), lambda leaf: kinds.add(type(leaf)))
    return complex in kinds


def _written(leaf: Any) -> Any:
    return _Written(leaf) if type(leaf) is complex else leaf


def _forget(sources: dict[str, str], name: str) -> None:
    sources.pop(name, None)
    linecache.cache.pop(name, None)
