"""`UndecidedNumber`: the program asks a question about a number that exists only when the graph runs.

In:  the expression of the question.
Out: a graph break, unless a rule of torch catches it.

Only a translation with symbols imports this module, because it imports a module of torch that takes 0.3 s.
"""

from __future__ import annotations

from typing import Any

from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from capture.report.break_reasons import GraphBreak


class UndecidedNumber(GraphBreak, GuardOnDataDependentSymNode):
    """A rule of torch may catch it and go another way. Otherwise the graph breaks."""

    def __init__(self, expression: Any) -> None:
        GraphBreak.__init__(self, "unbacked_decision", what=str(expression))
        self.cond = expression
