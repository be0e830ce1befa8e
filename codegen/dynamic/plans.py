"""The launch plans of one part of a training graph that was compiled for all sizes.

In:  a `SymbolicGraph`.
Out: `Plans(symbolic).graph(ints)`: its `CompiledGraph` for these ints, or None where it has to be compiled
     for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from codegen.kernel import events

if TYPE_CHECKING:
    import _capture

    from codegen.dynamic.symbolic_graph import SymbolicGraph
    from codegen.launch.compiled import CompiledGraph

TEMPLATES = 32  # most templates of each graph; the newest are kept


class Plans:
    """`subject` is whose plans these are, in events."""

    def __init__(self, symbolic: SymbolicGraph, subject: events.Subject) -> None:
        self.symbolic = symbolic
        self.subject = subject
        self.templates: list[_capture.PlanTemplate] = []

    def graph(self, key: Sequence[int]) -> CompiledGraph | None:
        for template in self.templates:
            graph: CompiledGraph | None = template.graph(*key)
            if graph is not None:
                return graph
        with events.about(self.subject):
            made = self.symbolic.plan(key)
        if made is None:
            return None
        self.templates = [made, *self.templates[: TEMPLATES - 1]]
        first: CompiledGraph | None = made.graph(*key)
        return first
