"""The backward for all sizes where only some of its slots have a gradient, or saved values are missing.

In:  a backward over symbols: of a part of a graph, or of its gradients.
Out: `OpenPartials`: for each set of values that are there, such a backward for all sizes, compiled when it is
     first needed. `SizedPartials`: those for numbers in place of the symbols. What has no such form runs
     operator by operator.

    output, state = model(text[i : i + 35], state.detach())      the last state gets no gradient, at any i
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import _capture
import torch
from torch import fx

from codegen.autograd.orders import call_by_call
from codegen.autograd.partial_arguments import Have
from codegen.autograd.partial_backward import MOST_COMPILED, Partial, Partials, Tangents
from codegen.dynamic.in_numbers import all_in_numbers
from codegen.dynamic.plans import Plans
from codegen.dynamic.symbolic_graph import Closed
from codegen.kernel import events
from codegen.kernel.watching import unwatched
from codegen.launch import assembly
from codegen.launch.compiled import refuse

if TYPE_CHECKING:
    from codegen.dynamic.symbolic_graph import OpenInputs
    from codegen.launch.compiled import CompiledGraph

log = logging.getLogger("capture.codegen")

Found = tuple[Partial, Plans]


class OpenPartials:
    def __init__(
        self, graph: fx.Graph, count: int, opened: OpenInputs, store: Any, subject: events.Subject
    ) -> None:
        """`graph`: a backward whose last `count` arguments are tangents; `opened`: the inputs that it was
        traced on.
        """
        self.graph, self.count = graph, count
        self.opened = opened
        self.store = store
        self.subject = subject
        self.lock = threading.Lock()
        self.found: dict[Have, Found | None] = {}

    def of(self, have: Have) -> Found | None:
        """None: it has no form for all sizes, or too many others were compiled."""
        with self.lock:
            if have not in self.found and len(self.found) < MOST_COMPILED:
                self.found[have] = self._compiled(have)
            return self.found.get(have)

    @unwatched()
    def _compiled(self, have: Have) -> Found | None:
        try:
            with events.about(self.subject), torch._C._EnablePythonDispatcher():
                partial = Partial(Tangents(self.graph, self.count), have)
                [symbolic] = self.opened.graphs([Closed(partial.graph, [], conform=True)], self.store)
        except Exception as reason:  # whatever fails with symbols: the operators work
            if assembly.strict:
                raise
            log.info("a part of a backward runs operator by operator: %s: %s", type(reason).__name__, reason)
            return None
        symbolic.fallback = refuse
        return partial, Plans(symbolic, self.subject)


class SizedPartials(Partials):
    """`key` are the ints of the graph, `sizes` the values of the symbols."""

    def __init__(
        self,
        whole: Callable[[], fx.Graph],
        opened: OpenPartials,
        key: Sequence[int],
        sizes: Mapping[str, int],
    ) -> None:
        super().__init__(whole, opened.count, call_by_call)
        self.opened = opened
        self.key = key
        self.in_numbers = functools.partial(all_in_numbers, sizes=sizes)

    def run(self, have: Have, saved: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
        found = self.opened.of(have)
        graph = None if found is None else self.graph_of(have, found[1])
        if found is None or graph is None:
            return self.run_by_calls(have, saved, tangents)
        given = found[0].arguments.of(saved, tangents, self.in_numbers)
        if not all(map(_capture.is_plain, given)):
            return self.run_by_calls(have, saved, tangents)
        try:
            grads: tuple[Any, ...] = graph(*given)
        except _capture.CheckFailed:  # the operator raises its own error
            return self.run_by_calls(have, saved, tangents)
        return grads

    def graph_of(self, have: Have, plans: Plans) -> CompiledGraph | None:
        with self.lock:
            if have not in self.compiled:
                graph = plans.graph(self.key)
                if graph is None:
                    return None
                self.compiled[have] = graph
            return self.compiled[have]
