"""A graph that calls `torch.autograd.grad` for gradients of its own inputs.

In:  a compiled graph, and which of its inputs it asks for a gradient.
Out: the same graph. It refuses inputs with hooks: eager calls these with the gradient. It also refuses inputs
     that were computed from those: in eager, a part of the gradient comes that way.

    x.register_hook(print);  graph(x)    ->    CheckFailed; Python runs the frame
    y = x.sin();  graph(x, y)            ->    the same
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from codegen.kernel.errors import UntraceableError
from codegen.kernel.wrapper import GraphWrapper

if TYPE_CHECKING:
    from codegen.trace.trace import Trace

#: the position of an input, and those of the inputs that its history may not lead to
Apart = tuple[int, tuple[int, ...]]
#: steps of a history that is looked at in each call (0.3 us for each)
LONGEST = 64


class AsksForGradients(GraphWrapper):
    """`places`: positions of these inputs. `apart`: positions of other inputs, each with those of the inputs
    that its history may not lead to. `fallback` runs instead of the graph.
    """

    def __init__(
        self, graph: Any, places: Iterable[int], apart: Iterable[Apart], fallback: Callable[..., Any]
    ) -> None:
        super().__init__(graph)
        self.places = tuple(places)
        self.apart = tuple(apart)
        self.fallback = fallback

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        for place in self.places:
            tensor = args[place]
            if tensor._backward_hooks or tensor.retains_grad:
                return self._otherwise(args)
        for place, others in self.apart:
            if leads_to(args[place], [args[other] for other in others]):
                return self._otherwise(args)
        if torch.is_anomaly_enabled():
            return self._otherwise(args)
        results: tuple[Any, ...] = self.graph(*args)
        return results

    def _otherwise(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        results: tuple[Any, ...] = self.fallback(*args)
        return results


def leads_to(tensor: torch.Tensor, others: Sequence[torch.Tensor]) -> bool:
    """Whether the history of the tensor leads to one of the others, or is too long to say."""
    wanted = {other.grad_fn for other in others}
    leaves = {id(other) for other in others if other.grad_fn is None}
    pending = [tensor.grad_fn]
    seen = {None, *pending}
    while pending:
        step = pending.pop()
        if step is None:
            continue
        for following, _ in step.next_functions:
            if following in seen:
                continue
            is_wanted = following in wanted or id(getattr(following, "variable", None)) in leaves
            if is_wanted or len(seen) > LONGEST:
                return True
            seen.add(following)
            pending.append(following)
    return False


def apart_places(traced: Trace) -> list[Apart]:
    """The positions of `Recorder.apart`."""
    nodes = [node for node in traced.graph.nodes if node.op == "placeholder"]
    places = {node: place for place, node in enumerate(nodes)}
    return [
        (places[node], tuple(sorted(places[other] for other in others)))
        for node, others in traced.recorder.apart.items()
    ]


def asked_places(traced: Trace) -> list[int]:
    """The positions of the inputs for whose gradients the graph calls `torch.autograd.grad`."""
    nodes = [node for node in traced.graph.nodes if node.op == "placeholder"]
    found = [place for place, node in enumerate(nodes) if node in traced.recorder.asked]
    if any(place >= len(traced.inputs) for place in found):
        raise UntraceableError("torch.autograd.grad of a tensor that the module holds")
    return found
