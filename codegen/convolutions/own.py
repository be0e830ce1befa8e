"""Convolutions of row-major images are computed by native code of our own, where oneDNN is not faster.

In:  a functional ATen graph.
Out: the same graph, with the operators of `codegen.kernel.convolution` in the place of such convolutions, and
     of each part of their backward.

    convolution(f32[8, 16, 28, 28], w, b)   ->   torch.ops._capture.convolution(...)

oneDNN takes 40 us to start, and twice as much for a gradient: small convolutions gain most. It copies
row-major images, so that large ones of many images gain, too: 0.5 to 1 of its time. Those whose weights or
single images are too large for the second cache are as fast there, or faster.
"""

from __future__ import annotations

from collections.abc import Container
from operator import getitem
from typing import Any

import torch
from torch import fx

from codegen.convolutions import BACKWARD, FORWARD
from codegen.convolutions.gains import Call, call_of, is_ours, is_ours_for_all_sizes, is_row_major
from codegen.convolutions.replacement import Replacement


def as_own(graph: fx.Graph, turned: Container[fx.Node]) -> None:
    """`turned`: the convolutions that have channels-last images."""
    for node in list(graph.nodes):
        if node.target in (FORWARD, BACKWARD) and node not in turned and not node.kwargs:
            call = call_of(node)
            if is_ours(node, call):
                Own(node, call).replace()


def as_own_for_all_sizes(graph: fx.Graph) -> None:
    """The same in a graph with symbolic sizes. The present ones decide; the results are right for all."""
    for node in list(graph.nodes):
        if node.target in (FORWARD, BACKWARD) and not node.kwargs:
            call = call_of(node)
            if is_ours_for_all_sizes(node, call):
                OpenOwn(node, call).replace()


class Own(Replacement):
    """A transposed convolution is the gradient of the image of one that is not."""

    def __init__(self, node: fx.Node, call: Call) -> None:
        from codegen.kernel import convolution  # noqa: F401  lazy: import time; defines the operators

        super().__init__(node, call)
        self.operators: Any = torch.ops._capture
        first = 3 if node.target is FORWARD else 4
        wanted: Any = node.args[-1]  # of a backward: its mask
        #: both are sums over the same gradient
        self.joins_bias = node.target is BACKWARD and wanted[1] and wanted[2] and not call.transposed
        self.places = tuple(list(sizes) for sizes in node.args[first : first + 3])  # type: ignore[arg-type]

    def result(self, image: Any, bias: Any) -> fx.Node:
        target = self.node.meta["val"]
        return self.convolved(image, bias, target.shape[2:], self.call.transposed)

    def of_image(self, gradient: Any) -> fx.Node:
        image = self.call.image.meta["val"]
        return self.convolved(gradient, None, image.shape[2:], not self.call.transposed)

    def of_weight(self, gradient: Any, image: Any) -> fx.Node:
        sides = (image, gradient) if self.call.transposed else (gradient, image)
        kernel = list(self.call.weight.meta["val"].shape[2:])
        operator = self.operators.convolution_weight.default
        arguments = (*map(self.rows, sides), self.joins_bias, *self.places, kernel, self.call.groups)
        self.both = self.make(operator, *arguments)
        return self.item(self.both, 0)

    def of_bias(self, gradient: Any) -> fx.Node:
        return self.item(self.both, 1) if self.joins_bias else super().of_bias(gradient)

    def item(self, node: fx.Node, place: int) -> fx.Node:
        made = node.graph.call_function(getitem, (node, place))
        made.meta.update(node.meta)
        made.meta["val"] = node.meta["val"][place]
        return made

    def convolved(self, source: Any, bias: Any, size: Any, back: bool) -> fx.Node:
        arguments = (self.rows(source), self.rows(self.call.weight), bias, *self.places, list(size))
        if back:
            return self.make(self.operators.convolution_image.default, *arguments, self.call.groups)
        return self.make(self.operators.convolution.default, *arguments)

    def rows(self, node: Any) -> Any:
        return node if is_row_major(node.meta["val"]) else self.in_rows(node)


class OpenOwn(Own):
    """With symbolic sizes, the results have those of the operator in whose place it is."""

    def make(self, target: Any, *args: Any, **kwargs: Any) -> fx.Node:
        made = self.node.graph.call_function(target, args, kwargs)
        made.meta.update(self.node.meta)
        made.meta["val"] = self.value_of(target)
        return made

    def value_of(self, target: Any) -> Any:
        values = self.node.meta["val"]
        if self.node.target is FORWARD:
            return values
        if target is self.operators.convolution_weight.default:
            image = self.call.image.meta["val"]
            return values[1], values[2] if self.joins_bias else image.new_empty(0)
        return values[2] if target is torch.ops.aten.sum.dim_IntList else values[0]

    def rows(self, node: Any) -> Any:
        return node
