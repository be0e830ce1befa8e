"""Puts other nodes in the place of a convolution, or of its backward.

In:  such a node of a functional ATen graph.
Out: the graph without it.

    convolution_backward(g, x, w, ..., [True, False, True])   ->   of_image(g), None, sum(g)
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from codegen.convolutions import FORWARD
from codegen.convolutions.gains import Call
from codegen.fake.dispatch import run_rule

aten = torch.ops.aten


class Replacement:
    def __init__(self, node: fx.Node, call: Call) -> None:
        self.node = node
        self.call = call

    def result(self, image: Any, bias: Any) -> fx.Node:
        raise NotImplementedError

    def of_image(self, gradient: Any) -> fx.Node:
        raise NotImplementedError

    def of_weight(self, gradient: Any, image: Any) -> fx.Node:
        raise NotImplementedError

    def of_bias(self, gradient: Any) -> fx.Node:
        return self.make(aten.sum.dim_IntList, gradient, [0, *range(2, gradient.meta["val"].dim())])

    def replace(self) -> None:
        node = self.node
        with node.graph.inserting_before(node):
            made = self._results()
        for user in [node] if node.target is FORWARD else list(node.users):
            place: Any = 0 if user is node else user.args[1]
            user.replace_all_uses_with(made[place])
            node.graph.erase_node(user)
        if node.target is not FORWARD:
            node.graph.erase_node(node)

    def _results(self) -> list[Any]:
        arguments: tuple[Any, ...] = self.node.args
        if self.node.target is FORWARD:
            return [self.result(arguments[0], arguments[2])]
        gradient, image, *_, wanted = arguments
        return [
            self.of_image(gradient) if wanted[0] else None,
            self.of_weight(gradient, image) if wanted[1] else None,
            self.of_bias(gradient) if wanted[2] else None,
        ]

    def make(self, target: Any, *args: Any, **kwargs: Any) -> fx.Node:
        made = self.node.graph.call_function(target, args, kwargs)
        made.meta.update(self.node.meta)
        values: Any = fx.node.map_arg((args, kwargs), lambda item: item.meta["val"])
        made.meta["val"] = run_rule(self.call.image.meta["val"].fake_mode, target, *values)
        return made

    def in_rows(self, node: Any) -> fx.Node:
        """A row-major copy. Where the memory is so already, the lowering makes none."""
        return self.make(aten.clone.default, node, memory_format=torch.contiguous_format)
