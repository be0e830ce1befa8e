"""Which node of the captured graph an ATen node was recorded for.

In:  the nodes of the captured graph, one by one, as a module is run; nodes of autograd in its backward.
Out: `source_of(node)` of the recorded nodes.

    linear (captured)    ->    t, addmm: source "linear"; in the backward mm, sum: "linear", too

Autograd numbers the nodes that a forward makes in their order. So the number of a node that runs in the
backward tells which operation made it.
"""

from __future__ import annotations

import bisect

import torch
from torch import fx

KEY = "source"


class Sources:
    """`now`: the name of the node that runs; None behind the forward."""

    def __init__(self) -> None:
        self.now: str | None = None
        self._starts: list[int] = []
        self._names: list[str] = []

    def begin(self, name: str) -> None:
        self.now = name
        self._starts.append(torch.autograd._get_sequence_nr())
        self._names.append(name)

    def end(self) -> None:
        """The module has run: what comes now is its backward."""
        self.now = None

    def mark(self, node: fx.Node) -> None:
        name = self.now or self._of_backward()
        if name is not None:
            node.meta[KEY] = name

    def _of_backward(self) -> str | None:
        running = torch._C._current_autograd_node()
        if running is None:
            return None
        place = bisect.bisect_right(self._starts, running._sequence_nr()) - 1
        return self._names[place] if place >= 0 else None


def source_of(node: fx.Node) -> str | None:
    found: str | None = node.meta.get(KEY)
    return found
