"""The backward of a segment: what its nodes of autograd's graph run.

In:  a `BackwardPart`.
Out: `SegmentBackward`: (saved, tangents) -> a gradient for each edge.

It is compiled when it is first needed. Rare requests are met here, too: gradients that autograd did not send,
gradients that are no plain tensors, and gradients of gradients (`codegen.autograd.orders`).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

try:
    import _capture
except ImportError:
    _capture = None

from codegen.autograd.derivatives import DerivativeRecipe, backward_for
from codegen.autograd.orders import NextOrder, call_by_call, zeros_for
from codegen.autograd.partial_arguments import Have, set_of
from codegen.autograd.partial_backward import CompiledPartials, Partials
from codegen.autograd.partition import BackwardPart
from codegen.autograd.training import native_segment
from codegen.kernel.watching import not_for_torch_compile
from codegen.launch.compiled import CompiledGraph


class SegmentBackward:
    """`native` is what the nodes see of it; its `backward` is None until the first gradient is needed."""

    def __init__(
        self,
        part: BackwardPart,
        later: Sequence[BackwardPart],
        recipe: DerivativeRecipe,
        make_backward: Callable[[fx.Graph], CompiledGraph],
        kernels: bool = True,
    ) -> None:
        """`later`: the parts that come after it."""
        self.part = part
        self.next = NextOrder(recipe, part, (), kernels)
        self.make_backward = make_backward
        self.partials = self.new_partials()
        self.lock = threading.Lock()
        #: the strides of the tangents that `native.backward` was compiled for
        self.strides: list[tuple[int, ...]] = []
        #: is called when `native.backward` or one of `partials` has been compiled
        self.on_compiled: Callable[[SegmentBackward], None] = lambda segment: None
        self.partials.on_compiled = lambda: self.on_compiled(self)
        self.have_all: Have = (1 << len(part.needed_by)) - 1, (1 << len(part.slots)) - 1
        self.apart = saved_apart(part, later)
        self.native = native_segment(self)

    def new_partials(self) -> Partials:
        return CompiledPartials(lambda: self.by_calls, len(self.part.slots), call_by_call, self.make_backward)

    @functools.cached_property
    def stand_ins(self) -> list[torch.Tensor | None]:
        """For each slot without a result, a tensor with the size and type of the gradient."""
        pairs = zip(self.part.slots, self.tangent_layouts, strict=True)
        return [
            torch.empty_strided(shape, (0,) * len(shape), dtype=dtype) if result is None else None
            for result, (shape, dtype) in pairs
        ]

    @functools.cached_property
    def tangent_layouts(self) -> list[tuple[torch.Size, torch.dtype]]:
        return [(self.shape_in_numbers(value.shape), value.dtype) for value in self.part.tangent_values]

    def shape_in_numbers(self, shape: torch.Size) -> torch.Size:
        return shape

    @functools.cached_property
    def by_calls(self) -> fx.Graph:
        """The backward, for calls operator by operator."""
        return self.graph_in_numbers()

    def by_operators(self, *args: Any) -> tuple[Any, ...]:
        return call_by_call(self.by_calls, args)

    def graph_in_numbers(self) -> fx.Graph:
        return self.part.graph

    def compiled_backward(self, tangents: Sequence[torch.Tensor]) -> CompiledGraph:
        with self.lock:
            if self.native.backward is None:
                self.native.backward = self.make_backward(self.graph_for(tangents))
                self.strides = [tangent.stride() for tangent in tangents]
                self.on_compiled(self)
            compiled: CompiledGraph = self.native.backward
            return compiled

    def graph_for(self, tangents: Sequence[torch.Tensor]) -> fx.Graph:
        """The first tangents decide the strides that it is compiled for; others are copied into these."""
        return backward_for(self.next.recipe, self.part, tangents)

    @not_for_torch_compile
    def run(
        self, saved: tuple[Any, ...], tangents: Sequence[Any], edges: Sequence[torch.Tensor]
    ) -> tuple[Any, ...]:
        """The gradients for all edges.

        Autograd comes here the first time, under create_graph, where tangents or saved values are missing
        (None), and where tangents are not plain tensors. A saved value is missing where it was written or
        freed, and the gradients that are asked for do not need it. `edges`: under create_graph, tensors that
        stand for the places where the edges lead in autograd's graph.
        """
        have = set_of(saved), set_of(tangents)
        if not all(_capture.is_plain(tangent) for tangent in tangents if tangent is not None):
            return self.run_by_calls(have, saved, tangents)
        with torch.no_grad():
            grads = self.grads(have, saved, tangents)
        if not torch.is_grad_enabled():
            return grads
        return tuple(self.next.join(grads, saved, zeros_for(tangents, self.tangent_layouts), edges))

    def grads(self, have: Have, saved: tuple[Any, ...], tangents: Sequence[Any]) -> tuple[Any, ...]:
        grads: tuple[Any, ...]
        if not have[1]:
            return (None,) * len(self.part.edges)
        if have == self.have_all:
            grads = self.compiled_backward(tangents)(*saved, *tangents)
            return grads
        return self.partials.run(have, saved, tangents)

    def run_by_calls(self, have: Have, saved: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
        if have == self.have_all:
            return call_by_call(self.by_calls, (*saved, *tangents))
        return self.partials.run_by_calls(have, saved, tangents)

    def compiled(self) -> list[CompiledGraph]:
        """What is compiled by now."""
        whole = [] if self.native.backward is None else [self.native.backward]
        return [*whole, *self.partials.compiled.values()]


def saved_apart(part: BackwardPart, later: Sequence[BackwardPart]) -> list[bool]:
    """For each saved result, whether it would hold the part's own node.

    It does if it is in a slot of the part, or of a part behind that leads to it.
    """
    holding = {result for each in (part, *later) for result in each.slots}
    return [result in holding for result in part.saved_results]
