"""The backward of a segment: what its nodes of autograd's graph run.

In:  a `BackwardPart`, and its `SegmentForm`.
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

from codegen.autograd.batched_tangents import gradients_of_batches
from codegen.autograd.derivatives import DerivativeRecipe, backward_for
from codegen.autograd.orders import NextOrder, call_by_call, zeros_for
from codegen.autograd.partial_arguments import Have, set_of
from codegen.autograd.partial_backward import CompiledPartials, Partials
from codegen.autograd.partition import BackwardPart
from codegen.autograd.segment_form import SegmentForm, give, ignore
from codegen.kernel.watching import not_for_torch_compile
from codegen.launch.compiled import CompiledGraph

Strides = tuple[tuple[int, ...], ...]
#: strides of tangents for which the backward of one segment is compiled
MOST_LAYOUTS = 4


class SegmentBackward:
    """`backward` is None until the first gradient is needed."""

    def __init__(
        self,
        part: BackwardPart,
        form: SegmentForm,
        recipe: DerivativeRecipe,
        make_backward: Callable[[fx.Graph], CompiledGraph],
        kernels: bool = True,
    ) -> None:
        self.part = part
        self.form = form
        self.next = NextOrder(recipe, part, (), kernels)
        self.make_backward = make_backward
        self.lock = threading.Lock()
        #: the first one; None until it is compiled, for tangents of these strides
        self.backward: CompiledGraph | None = None
        self.strides: list[tuple[int, ...]] = []
        self.by_strides: dict[Strides, CompiledGraph] = {}  # of the tangents
        self.usual: CompiledGraph | None = None  # for tangents that lie as the results
        self.on_compiled: Callable[[SegmentBackward], None] = ignore

    def tell_compiled(self, listener: Callable[[SegmentBackward], None]) -> None:
        """It is called when `backward` or one of `partials` has been compiled."""
        self.on_compiled = listener
        self.partials.on_compiled = lambda: listener(self)

    @functools.cached_property
    def partials(self) -> Partials:
        return self.new_partials()

    def new_partials(self) -> Partials:
        return CompiledPartials(lambda: self.by_calls, len(self.part.slots), call_by_call, self.make_backward)

    @functools.cached_property
    def stand_ins(self) -> list[torch.Tensor | None]:
        """For each slot without a result, a tensor with the size and type of the gradient."""
        if None not in self.part.slots:
            return [None] * len(self.part.slots)
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
        """For the strides of these tangents, as far as these decide about the gradients."""
        with self.lock:
            strides = tuple(tangent.stride() for tangent in tangents)
            found = self.by_strides.get(strides)
            if found is None:
                found = self.backward
                is_full = len(self.by_strides) >= MOST_LAYOUTS  # then they are copied
                if found is None or not (is_full or found.expects(tuple(tangents))):
                    found = self.by_strides[strides] = self.compiled_for(tangents)
            if self.backward is None:
                self.backward, self.strides = found, [*strides]
                self.on_compiled(self)
            return found

    def compiled_for(self, tangents: Sequence[torch.Tensor]) -> CompiledGraph:
        graph = backward_for(self.next.recipe, self.part, tangents)
        if graph is not self.part.graph:
            return self.make_backward(graph)
        if self.usual is None:
            self.usual = self.make_backward(graph)
        return self.usual

    @not_for_torch_compile
    def run(
        self, native: Any, saved: tuple[Any, ...], tangents: Sequence[Any], edges: Sequence[torch.Tensor]
    ) -> tuple[Any, ...]:
        """The gradients for all edges. `native` (`SegmentForm.native`) gets the compiled backward.

        Autograd comes here the first time, under create_graph, where tangents or saved values are missing
        (None), and where tangents are not plain tensors. A saved value is missing where it was written or
        freed, and the gradients that are asked for do not need it. `edges`: under create_graph, tensors that
        stand for the places where the edges lead in autograd's graph.
        """
        have = set_of(saved), set_of(tangents)
        if not all(_capture.is_plain(tangent) for tangent in tangents if tangent is not None):
            batches = gradients_of_batches(lambda each: self.run(native, saved, each, edges), tangents)
            return self.run_by_calls(have, saved, tangents) if batches is None else batches
        with torch.no_grad():
            grads = self.grads(native, have, saved, tangents)
        if not torch.is_grad_enabled():
            return grads
        return tuple(self.next.join(grads, saved, zeros_for(tangents, self.tangent_layouts), edges))

    def grads(
        self, native: Any, have: Have, saved: tuple[Any, ...], tangents: Sequence[Any]
    ) -> tuple[Any, ...]:
        grads: tuple[Any, ...]
        if not have[1]:
            return (None,) * len(self.part.edges)
        if have == self.form.have_all:
            backward = self.compiled_backward(tangents)
            grads = backward(*saved, *tangents)
            give(native, backward)
            return grads
        return self.partials.run(have, saved, tangents)

    def run_by_calls(self, have: Have, saved: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
        if have == self.form.have_all:
            return call_by_call(self.by_calls, (*saved, *tangents))
        return self.partials.run_by_calls(have, saved, tangents)

    def compiled(self) -> list[CompiledGraph]:
        """What is compiled by now."""
        whole = [] if self.backward is None else [self.backward]
        return [*whole, *self.partials.compiled.values()]
