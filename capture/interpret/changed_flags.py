"""Leaves whose `requires_grad` the frame has changed: no later operation of its graph may read them.

In:  `note` at the store, each operation before it runs, the end of the translation.
Out: `GraphBreak` in front of the last store, where an operation reads such a leaf.

    for p in net.parameters():             the flags are side effects
        p.requires_grad = False
    return net(x)                          breaks in front of the last store

The graph runs before the flags change, and whether autograd records it depends on them. So operations in
front of the store may read the leaf.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import torch.fx

from capture.report.break_reasons import GraphBreak
from capture_records import dataclass
from guards.properties.tensor import storage_key

if TYPE_CHECKING:
    from capture.interpret.output_graph import OutputGraph
    from capture.variables.tensors.tensor import TensorVariable


@dataclass(frozen=True)
class Change:
    leaf: TensorVariable
    version: int  # of its fake tensor
    before: torch.fx.Node | None  # the last node of the graph at the first store


class ChangedFlags:
    def __init__(self, output: OutputGraph) -> None:
        self.output = output
        self._leaves: dict[torch.fx.Node, Change] = {}
        self._last_step = 0  # of the frame, at the last store

    def note(self, leaf: TensorVariable) -> None:
        self._last_step = self.output.root_step
        if leaf.node not in self._leaves:
            last = next(iter(reversed(self.output.graph.nodes)), None)
            self._leaves[leaf.node] = Change(leaf, leaf.fake._version, last)

    def has(self, leaf: TensorVariable) -> bool:
        return leaf.node in self._leaves

    def before(self, arguments: Any) -> None:
        """Breaks the graph if an operation is about to read one of the leaves."""
        if not self._leaves:
            return

        def check(node: torch.fx.Node) -> torch.fx.Node:
            if node in self._leaves:
                raise self._break(self._leaves[node].leaf)
            return node

        torch.fx.node.map_arg(arguments, check)

    def check(self) -> None:
        """The same at the end, for reads by parts of the graph that are no single operations, and through
        other inputs on the same memory. No later write through a view of the leaf is allowed either: autograd
        asks whether the leaf requires grad.
        """
        changes = {storage_key(c.leaf.value): c for c in self._leaves.values() if c.leaf.value is not None}
        for item in self.output.inputs.tensors() if changes else ():
            change = changes.get(storage_key(item.value))
            if change is None:
                continue
            written = change.leaf.fake._version != change.version
            if written or not item.node.users.keys().isdisjoint(self._nodes_after(change.before)):
                raise self._break(change.leaf)

    def _nodes_after(self, last: torch.fx.Node | None) -> set[torch.fx.Node]:
        return set(itertools.takewhile(lambda node: node is not last, reversed(self.output.graph.nodes)))

    def _break(self, leaf: TensorVariable) -> GraphBreak:
        signal = GraphBreak("changed_flag", value=leaf)
        signal.born = self._last_step
        signal.breaks_callees = False  # it depends on what was before
        return signal
