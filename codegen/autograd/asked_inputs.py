"""A graph that calls `torch.autograd.grad` for gradients of its own inputs.

In:  a compiled graph, and which of its inputs it asks for a gradient.
Out: the same graph, which refuses inputs with hooks: eager calls these with the gradient.

    x.register_hook(print);  graph(x)    ->    CheckFailed; Python runs the frame
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import torch

from codegen.kernel.errors import UntraceableError
from codegen.kernel.wrapper import GraphWrapper

if TYPE_CHECKING:
    from codegen.trace.trace import Trace


class AsksForGradients(GraphWrapper):
    """`places`: positions of these inputs. `fallback` runs instead of the graph."""

    def __init__(self, graph: Any, places: Iterable[int], fallback: Callable[..., Any]) -> None:
        super().__init__(graph)
        self.places = tuple(places)
        self.fallback = fallback

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        for place in self.places:
            tensor = args[place]
            if tensor._backward_hooks or tensor.retains_grad:
                return self._otherwise(args)
        if torch.is_anomaly_enabled():
            return self._otherwise(args)
        results: tuple[Any, ...] = self.graph(*args)
        return results

    def _otherwise(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        results: tuple[Any, ...] = self.fallback(*args)
        return results


def asked_places(traced: Trace) -> list[int]:
    """The positions of the inputs for whose gradients the graph calls `torch.autograd.grad`."""
    nodes = [node for node in traced.graph.nodes if node.op == "placeholder"]
    found = [place for place, node in enumerate(nodes) if node in traced.recorder.asked]
    if any(place >= len(traced.inputs) for place in found):
        raise UntraceableError("torch.autograd.grad of a tensor that the module holds")
    return found
