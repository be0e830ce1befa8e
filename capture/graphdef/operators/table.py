"""The table of operators.

In:  an operator's name.
Out: its rule: a function of a `Node` that gives its result, or a tuple of results.
"""

from __future__ import annotations

from collections.abc import Callable

from capture.graphdef.node import Node
from capture.graphdef.values import Value

Rule = Callable[[Node], Value | tuple[Value, ...]]
RULES: dict[str, Rule] = {}


def rule(*operators: str) -> Callable[[Rule], Rule]:
    def add(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(operators, function))
        return function

    return add
