"""Convolutions with a kernel of one pixel become matrix products.

In:  a functional ATen graph.
Out: the same graph, with products in the place of such convolutions, and of their backward, where they are
     faster.

    convolution(f32[N, C, H, W], w)   ->   bmm(w, x as N matrices of C x HW)      row-major images
    convolution(f32[N, C, L], w)      ->   bmm(w, x)                              sequences are such images
                                           mm(x as NHW rows of C, w.t())           channels-last images

BLAS, and the products that are generated here, start faster than oneDNN, and they need no copies: up to twice
the speed for small images, and more for the gradient of the image. Large convolutions gain nothing. The
gradient of the weights of row-major images is a sum of one product for each image; it is slow where these are
small.
"""

from __future__ import annotations

from collections.abc import Container
from math import prod
from typing import Any

import torch
from torch import fx

from codegen.convolutions import BACKWARD, FORWARD
from codegen.convolutions.gains import Call, call_of, is_plain, is_row_major, results_of
from codegen.convolutions.replacement import Replacement

aten = torch.ops.aten
DIMS = (3, 4, 5)
FEW_PIXELS = 64
MUCH_WORK = 1e8  # operations


def as_products(graph: fx.Graph, turned: Container[fx.Node]) -> None:
    """`turned`: the convolutions that have channels-last images."""
    for node in list(graph.nodes):
        if node.target in (FORWARD, BACKWARD) and not node.kwargs:
            call = call_of(node)
            if is_one_pixel(node, call):
                products = (Rows if node in turned else Matrices)(node, call)
                if products.are_faster():
                    products.replace()


def is_one_pixel(node: fx.Node, call: Call) -> bool:
    tensors = (call.image.meta["val"], call.weight.meta["val"], call.result)
    if not all(is_plain(value, DIMS) and value.dtype is torch.float32 for value in tensors):
        return False
    padding: Any = node.args[4 if node.target is FORWARD else 5]
    steps = (*call.stride, *(pad + 1 for pad in padding))
    is_small = set(call.weight.meta["val"].shape[2:]) == set(steps) == {1}
    return is_small and not call.transposed and call.groups == 1 and is_row_major(call.weight.meta["val"])


class Products(Replacement):
    """The products in the place of a node."""

    def __init__(self, node: fx.Node, call: Call) -> None:
        super().__init__(node, call)
        self.batch, self.inner, *self.pixels = call.image.meta["val"].shape
        self.outer = call.weight.meta["val"].shape[0]
        self.area = prod(self.pixels)

    def are_faster(self) -> bool:
        raise NotImplementedError

    def forward(self, image: Any, weight: Any) -> fx.Node:
        raise NotImplementedError

    def of_weights(self, gradient: Any, image: Any) -> fx.Node:
        """In rows: one for each result."""
        raise NotImplementedError

    def weight(self) -> fx.Node:
        return self.make(aten.view.default, self.call.weight, [self.outer, self.inner])

    def result(self, image: Any, bias: Any) -> fx.Node:
        result = self.forward(image, self.weight())
        if bias is None:
            return result
        bias = self.make(aten.view.default, bias, [self.outer, *(1 for _ in self.pixels)])
        return self.make(aten.add.Tensor, result, bias)

    def of_image(self, gradient: Any) -> fx.Node:
        return self.forward(gradient, self.make(aten.t.default, self.weight()))

    def of_weight(self, gradient: Any, image: Any) -> fx.Node:
        shape = list(self.call.weight.meta["val"].shape)
        return self.make(aten.view.default, self.of_weights(gradient, image), shape)


class Matrices(Products):
    """Of row-major images: a matrix for each of them, with a row for each channel."""

    def are_faster(self) -> bool:
        if not all(map(is_row_major, (self.call.image.meta["val"], *results_of(self.node)))):
            return False
        few_weights = 4 * self.outer * self.inner <= self.area * (self.outer + self.inner)
        return self.batch == 1 or (self.area >= FEW_PIXELS and few_weights)

    def forward(self, image: Any, weight: Any) -> fx.Node:
        rows, columns = weight.meta["val"].shape
        weights = self.make(aten.expand.default, weight, [self.batch, rows, columns])
        product = self.make(aten.bmm.default, weights, self.matrices(image))
        return self.make(aten.view.default, product, [self.batch, rows, *self.pixels])

    def of_weights(self, gradient: Any, image: Any) -> fx.Node:
        columns = self.make(aten.transpose.int, self.matrices(image), 1, 2)
        products = self.make(aten.bmm.default, self.matrices(gradient), columns)
        return self.make(aten.sum.dim_IntList, products, [0])

    def matrices(self, image: Any) -> fx.Node:
        shape = [self.batch, image.meta["val"].shape[1], self.area]
        return self.make(aten.view.default, self.in_rows(image), shape)


class Rows(Products):
    """Of channels-last images: one matrix for all of them, with a row for each pixel."""

    def are_faster(self) -> bool:
        return 2.0 * self.batch * self.area * self.outer * self.inner < MUCH_WORK

    def forward(self, image: Any, weight: Any) -> fx.Node:
        turned = self.make(aten.t.default, weight)
        product = self.make(aten.mm.default, self.rows(image), turned)
        pixels = self.make(
            aten.view.default, product, [self.batch, *self.pixels, weight.meta["val"].shape[0]]
        )
        return self.make(aten.permute.default, pixels, [0, 3, 1, 2])

    def of_weights(self, gradient: Any, image: Any) -> fx.Node:
        columns = self.make(aten.t.default, self.rows(gradient))
        return self.make(aten.mm.default, columns, self.rows(image))

    def rows(self, image: Any) -> fx.Node:
        pixels = self.in_rows(self.make(aten.permute.default, image, [0, 2, 3, 1]))
        return self.make(aten.view.default, pixels, [self.batch * self.area, image.meta["val"].shape[1]])
