"""Matrix products with constant weights, in the form that oneDNN needs.

In:  a graph and its constants (`codegen.freeze.constants.Constants`).
Out: the graph; its matrix products call `mkldnn::_linear_pointwise` on a packed weight. An activation that
     follows is the epilogue.

    gelu(addmm(b, x, w))   ->   _linear_pointwise(x, packed w, b, "gelu")

A product of 128 x 768 x 3072 takes 6.0 ms in place of 7.8 ms. A small product is faster without, because the
operator itself takes about 10 us.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from codegen.freeze.constants import Constants

aten = torch.ops.aten
MIN_ROWS = 32
MIN_WORK = 4_000_000  # least number of multiplications

#: operator -> the name and the algorithm of the epilogue, from its keyword arguments
EPILOGUES: dict[Any, Any] = {
    aten.relu.default: lambda kwargs: ("relu", ""),
    aten.gelu.default: lambda kwargs: ("gelu", kwargs.get("approximate", "none")),
}


def pack_products(constants: Constants) -> None:
    for node in list(constants.graph.nodes):
        operands = PRODUCTS[node.target](node) if node.target in PRODUCTS and not node.kwargs else None
        if operands is not None:
            pack_product(constants, node, *operands)


#: operator -> (bias, left, right)
PRODUCTS: dict[Any, Any] = {
    aten.mm.default: lambda node: (None, *node.args),
    aten.addmm.default: lambda node: node.args,
}


def pack_product(constants: Constants, node: fx.Node, bias: Any, left: fx.Node, right: fx.Node) -> None:
    weight, rows = constants.get(right), left.meta["val"].shape[0]
    if weight is None or weight.dtype is not torch.float32 or not isinstance(rows, int):
        return
    if rows < MIN_ROWS or rows * weight.numel() < MIN_WORK:
        return
    if bias is not None and bias.meta["val"].shape != (weight.shape[1],):
        return
    packed = torch.ops.mkldnn._reorder_linear_weight(weight.t().contiguous(), rows)
    name, algorithm, last = epilogue(node)
    holder = constants.add(packed, right, node)
    with constants.graph.inserting_before(node):
        product = constants.graph.call_function(
            torch.ops.mkldnn._linear_pointwise.default, (left, holder, bias, name, [], algorithm)
        )
    product.meta["val"] = node.meta["val"]
    last.replace_all_uses_with(product)


def epilogue(node: fx.Node) -> tuple[str, str, fx.Node]:
    """(name, algorithm, the node that is computed)"""
    if len(node.users) == 1:
        (user,) = node.users
        if user.target in EPILOGUES and len(user.args) == 1:
            return (*EPILOGUES[user.target](user.kwargs), user)
    return "none", "", node
