"""Sums, means and the like over axes.

In:  `Node`. The second input has the axes.
Out: calls of torch, or sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from capture.graphdef.functions import indexing, sizes
from capture.graphdef.node import Node
from capture.graphdef.operators.table import rule
from capture.graphdef.values import Value

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "All": torch.all,
    "Any": torch.any,
    "Max": torch.amax,
    "Mean": torch.mean,
    "Min": torch.amin,
    "Prod": indexing.product,
}


@rule(*_FUNCTIONS)
def _reduce(node: Node) -> Value:
    if node.op == "Mean" and not (node.dtype("T").is_floating_point or node.dtype("T").is_complex):
        raise node.error("the mean of whole numbers is not known")
    axes, keepdim = _axes(node)
    if node.op == "Prod" and node.rank_of(node.inputs[0]) == 1 and axes in ([0], [-1]) and not keepdim:
        return node.size_call(sizes.product, 0, node.numbers(0))
    return node.inputs[0] if axes == [] else node.call(_FUNCTIONS[node.op], node.tensor(0), axes, keepdim)


@rule("Sum")
def _sum(node: Node) -> Value:
    """In the dtype of the elements: torch sums int32 in int64."""
    axes, keepdim = _axes(node)
    if axes == []:
        return node.inputs[0]
    return node.call(torch.sum, node.tensor(0), axes, keepdim, dtype=node.dtype("T"))


def _axes(node: Node) -> tuple[Any, bool]:
    """No axes: each element stays as it is. torch would take all axes."""
    node.count(2)
    axes = node.numbers(1)
    return [axes] if isinstance(axes, int) else axes, node.attr("keep_dims", "b", False)
