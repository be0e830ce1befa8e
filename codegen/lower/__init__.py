"""Lowering: ATen graph -> Program.

    lower_graph(aten_graph)  ->  Program of fused kernels in loop IR, calls of operators, views

One file a family of operators; each lowering is registered by `@lowering(overload)` and says what the element
at an index is.
`graph.py` walks the graph; `codegen.passes` makes kernels.
"""

from __future__ import annotations

import logging

from torch import fx

from codegen.kernel.program import Program
from codegen.lower import (
    activation,
    assertions,
    copies,
    creation,
    indexing,
    joining,
    pointwise,
    pooling,
    reduction,
    scan,
    scattering,
    view,
    windows,
)
from codegen.lower.graph import Lowering
from codegen.lower.ordered_writes import OrderWanted, Unordered, Wishes, writes_to_order

__all__ = ["FAMILIES", "Lowering", "lower_graph"]

FAMILIES = (
    pointwise, copies, activation, reduction, scan, pooling, view, indexing, scattering, creation, joining, assertions, windows,
)  # fmt: skip


log = logging.getLogger("capture.codegen")


def lower_graph(graph: fx.Graph) -> Program:
    """The program of a functional ATen graph whose nodes carry `meta["val"]`. Never fails for an operator
    without lowering.
    """
    from codegen.passes.pipeline import build_kernels

    wishes = Wishes()
    while True:
        lowering = Lowering(writes_to_order(graph, wishes))
        try:
            lowering.run(graph)
            return build_kernels(lowering)
        except Unordered as found:
            log.debug("no writes in order to %s: %s", ", ".join(sorted(found.inputs)), found)
            wishes.refused |= found.inputs
        except OrderWanted as found:
            wishes.wanted.add(found.name)
