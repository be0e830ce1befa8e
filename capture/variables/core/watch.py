"""Whether something changes that can be reached from a value.

In:  a variable, and later each variable that is about to change.
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
        self.variables: dict[int, Variable] = {}  # by id, which is theirs while they are held here
        pending = [root]
        while pending:
            variable = pending.pop()
            if id(variable) not in self.variables:
                self.variables[id(variable)] = variable
                pending += variable.children()

    def note(self) -> None:
        """One of the variables is about to change."""
        self.is_changed = True
