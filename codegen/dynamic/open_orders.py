"""Gradients of gradients for all sizes.

In:  the recipe of a training graph that was traced on symbols.
Out: `OpenOrders`: the derivative of a part of the backward for all sizes. It is traced and compiled when it
     is first needed. `SizedOrder`: the same for numbers in place of the symbols.

    (force,) = torch.autograd.grad(energy(x[s0, 3]), x, create_graph=True);  loss(force).backward()

Where it has no such form, it is traced for each combination of sizes. The first few of these are compiled,
others run operator by operator.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import fx

from codegen.autograd.derivatives import DerivativeRecipe, Differentiated, Layout, Required, differentiate
from codegen.autograd.orders import call_by_call
from codegen.dynamic.in_numbers import all_in_numbers, in_numbers, tensor_in_numbers
from codegen.dynamic.partial_training import OpenPartials, SizedPartials
from codegen.dynamic.plans import Plans
from codegen.dynamic.symbolic_graph import Closed, OpenInputs
from codegen.fake.fake import FakeMode, fake_mode
from codegen.fake.shapes.spec import fastest_first, is_dense, packed
from codegen.kernel import events
from codegen.kernel.watching import unwatched
from codegen.trace.nodes import is_effect

if TYPE_CHECKING:
    from codegen.autograd.partial_backward import Partials
    from codegen.autograd.partition import BackwardPart
    from codegen.dynamic.symbolic_graph import SymbolicGraph
    from codegen.launch.compiled import CompiledGraph

log = logging.getLogger("capture.codegen")

#: combinations of sizes for which a derivative without a form for all sizes is compiled, for each graph
MOST_COMPILED = 4


#: for each tangent its dims, the fastest first; None: it is not dense
DimOrders = tuple[tuple[int, ...] | None, ...]


def order_of(tensor: torch.Tensor) -> tuple[int, ...] | None:
    if not is_dense(tensor.shape, tensor.stride()):
        return None
    return tuple(fastest_first(tuple(tensor.shape), (tensor.stride(),)))


class OpenOrder(NamedTuple):
    """A derivative over symbols. `partials`: where only some of its tangents are there."""

    found: Differentiated
    plans: Plans
    partials: OpenPartials


class OpenRecipe(DerivativeRecipe):
    """`recipe` over symbols, whose values are the ints `key`. `opened`: the inputs of the last trace."""

    opened: OpenInputs

    def __init__(self, recipe: DerivativeRecipe, key: Sequence[int]) -> None:
        vars(self).update(vars(recipe))
        rest = iter(key)
        self.inputs = [next(rest) if type(value) is int else value for value in recipe.inputs]

    @contextmanager
    def surroundings(self) -> Iterator[None]:
        with super().surroundings(), torch._C._EnablePythonDispatcher():
            yield

    def fakes(self, mode: FakeMode) -> list[Any]:
        self.opened = OpenInputs(self.module, self.inputs, mode)
        return self.opened.fakes


class OpenOrders:
    def __init__(self, recipe: DerivativeRecipe, store: Any, subject: events.Subject) -> None:
        self.recipe = recipe
        self.store = store
        self.subject = subject
        self.compiled_for_sizes = 0
        self.lock = threading.Lock()
        self.found: dict[tuple[int, Required], OpenOrder | None] = {}
        self.laid_out: dict[tuple[int, DimOrders], Plans | None] = {}

    def of(self, part: BackwardPart, required: Required, key: Sequence[int]) -> OpenOrder | None:
        """None: it has no form for all sizes. `key` are the present ones."""
        with self.lock:
            place = part.number, required
            if place not in self.found:
                self.found[place] = self._compiled(part, required, key)
            return self.found[place]

    @unwatched()
    def _compiled(self, part: BackwardPart, required: Required, key: Sequence[int]) -> OpenOrder | None:
        recipe = OpenRecipe(self.recipe, key)
        try:
            found = differentiate(recipe, part, required)
            symbolic = self._symbolic(recipe, found.graph)
        except Exception as reason:  # whatever fails with symbols: numbers may work
            log.info("a derivative is traced for each size: %s: %s", type(reason).__name__, reason)
            return None
        partials = OpenPartials(found.graph, len(found.tangents), recipe.opened, self.store, self.subject)
        return OpenOrder(found, Plans(symbolic, self.subject), partials)

    def backward_for(self, part: BackwardPart, orders: DimOrders, key: Sequence[int]) -> Plans | None:
        """The backward for tangents with these orders of their dims. None: it has no form for all sizes."""
        with self.lock:
            place = part.number, orders
            if place not in self.laid_out:
                self.laid_out[place] = self._laid_out(part, orders, key)
            return self.laid_out[place]

    @unwatched()
    def _laid_out(self, part: BackwardPart, orders: DimOrders, key: Sequence[int]) -> Plans | None:
        if any(is_effect(node) for node in part.graph.nodes):
            return None
        recipe = OpenRecipe(self.recipe, key)
        layouts = [
            None if order is None else functools.partial(packed, order=order, empty=1) for order in orders
        ]
        try:
            graph = differentiate(recipe, part, (), layouts).graph
            return Plans(self._symbolic(recipe, graph), self.subject)
        except Exception as reason:  # whatever fails with symbols: the usual backward copies the tangents
            log.info("no backward for gradients of other strides: %s: %s", type(reason).__name__, reason)
            return None

    def _symbolic(self, recipe: OpenRecipe, graph: fx.Graph) -> SymbolicGraph:
        with events.about(self.subject), torch._C._EnablePythonDispatcher():
            [symbolic] = recipe.opened.graphs([Closed(graph, [], conform=True)], self.store)
        return symbolic

    def may_compile(self) -> bool:
        """Whether one more derivative for given sizes is compiled."""
        with self.lock:
            self.compiled_for_sizes += 1
            return self.compiled_for_sizes <= MOST_COMPILED


class SizedRecipe(OpenRecipe):
    """The recipe for the ints `key`; `sizes` are the values of the symbols."""

    def __init__(self, orders: OpenOrders, key: Sequence[int], sizes: Mapping[str, int]) -> None:
        super().__init__(orders.recipe, key)
        self.orders, self.key, self.sizes = orders, key, sizes

    def derivative(self, part: BackwardPart, required: Required) -> Differentiated | SizedOrder:
        order = self.orders.of(part, required, self.key)
        graph = None if order is None else order.plans.graph(self.key)
        if order is None or graph is None:
            return differentiate(self, part, required)
        return SizedOrder(order, graph, self.key, self.sizes)

    def backward_for(self, part: BackwardPart, tangents: Sequence[torch.Tensor]) -> CompiledGraph | None:
        """The backward for tangents that lie like these; None: the usual one copies them."""
        plans = self.orders.backward_for(part, tuple(map(order_of, tangents)), self.key)
        return None if plans is None else plans.graph(self.key)

    def finished(self, found: Differentiated) -> Differentiated:
        """The traced graphs, with numbers in place of symbols."""
        tangents = [tensor_in_numbers(tangent, self.sizes, fake_mode()) for tangent in found.tangents]
        graph = in_numbers(found.graph, self.sizes)
        return Differentiated(graph, found.differentiable, found.reach, tangents)

    def may_compile(self) -> bool:
        return self.orders.may_compile()


class SizedOrder:
    """A derivative for the ints `key`; `sizes` are the values of the symbols. `compiled`: its code."""

    def __init__(
        self, order: OpenOrder, compiled: CompiledGraph, key: Sequence[int], sizes: Mapping[str, int]
    ) -> None:
        self.order, self.compiled, self.key, self.sizes = order, compiled, key, sizes
        self.differentiable, self.reach = order.found.differentiable, order.found.reach
        compiled.fallback = self.by_operators

    @functools.cached_property
    def graph(self) -> fx.Graph:
        return in_numbers(self.order.found.graph, self.sizes)

    def tangent_layouts(self) -> list[Layout]:
        return [self._in_numbers(layout) for layout in self.order.found.tangent_layouts()]

    def result_layouts(self) -> list[Layout | None]:
        results = self.order.found.result_layouts()
        return [None if layout is None else self._in_numbers(layout) for layout in results]

    def _in_numbers(self, layout: Layout) -> Layout:
        shape, dtype = layout
        return all_in_numbers(shape, self.sizes), dtype

    def partials(self) -> Partials:
        return SizedPartials(lambda: self.graph, self.order.partials, self.key, self.sizes)

    def by_operators(self, *args: Any) -> tuple[Any, ...]:
        """After a failed check: the operator raises its own error."""
        return call_by_call(self.graph, args)
