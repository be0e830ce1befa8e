"""Where a kernel comes from: the operators that it computes, and the nodes of the captured graph.

In:  the values that a lowering gave to the nodes of the ATen graph; groups.
Out: an `Origin` for each group.

    y = (x * 2).sin()    ->    Origin(operators=("mul", "sin"), nodes=("mul", "y"))

A definition that a pass has rewritten is nobody's: names are for people, and nothing depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import fx

from codegen.kernel.program import Origin
from codegen.lower.nodes import is_view, parts_of
from codegen.lower.tensor_expr import Stored, TensorExpr, View
from codegen.passes.group.group import Group
from codegen.passes.group.roots import Root, own_definitions
from codegen.trace.sources import source_of

NO_TWINS: Mapping[fx.Node, fx.Node] = {}


class Origins:
    """`values`: by node, its definition or several. The first node that has a definition has made it."""

    def __init__(self, values: Mapping[fx.Node, Any], roots: Mapping[TensorExpr, Root]) -> None:
        self.roots = roots
        self.makers: dict[TensorExpr, tuple[int, fx.Node]] = {}
        for place, (node, value) in enumerate(values.items()):
            for part in parts_of(value) if node.op == "call_function" and not is_view(node.target) else ():
                while isinstance(part, View):  # a sum that keeps its dimensions is a view of the sum
                    part = part.base
                if isinstance(part, TensorExpr) and not isinstance(part, Stored):
                    self.makers.setdefault(part, (place, node))

    def of(self, group: Group, twins: Mapping[fx.Node, fx.Node] = NO_TWINS) -> Origin:
        """`twins`: the nodes to name in the place of these."""
        found = {
            self.makers[value]
            for root in group.members
            for value in own_definitions(root, self.roots)
            if value in self.makers
        }
        nodes = [node for _, node in sorted(found, key=lambda maker: maker[0])]
        sources = (source_of(twins.get(node, node)) for node in nodes)
        return Origin(
            tuple(map(_name, nodes)), tuple(dict.fromkeys(name for name in sources if name is not None))
        )


def _name(node: fx.Node) -> str:
    """`_softmax` of `aten._softmax.default` -> softmax"""
    packet: Any = getattr(node.target, "overloadpacket", node.target)
    return str(packet.__name__).strip("_")
