"""A watch on a value: it notes whether the value, or anything reachable from it, changes.

In:  a variable; later `note` is called before a reachable variable changes.
Out: `is_changed`.

    watch = Watch(xs)   # xs = [[1], [2]]; then xs[0].append(3)   ->   watch.is_changed
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from capture.variables.core.base import Variable


class Watch:
    def __init__(self, root: Variable) -> None:
        self.is_changed = False
        self.variables: dict[int, Variable] = {}  # by id, which stays unique while the dict holds them
        pending = [root]
        while pending:
            variable = pending.pop()
            if id(variable) not in self.variables:
                self.variables[id(variable)] = variable
                pending += variable.children()

    def note(self) -> None:
        """One of the variables is about to change."""
        self.is_changed = True
