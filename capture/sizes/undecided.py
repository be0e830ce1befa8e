"""A question about a number that exists only when the graph runs.

Imported where a translation has symbols: torch's module behind it costs 0.3 s.
"""

from __future__ import annotations

from typing import Any

from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from capture.report.break_reasons import GraphBreak


class UndecidedNumber(GraphBreak, GuardOnDataDependentSymNode):
    """torch's rules may catch it and go on another way; else the graph breaks."""

    def __init__(self, expression: Any) -> None:
        GraphBreak.__init__(self, "unbacked_decision", what=str(expression))
        self.cond = expression
