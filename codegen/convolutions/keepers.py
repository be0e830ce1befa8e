"""Operators that work on channels-last images as well as on row-major ones.

In:  a node of a functional ATen graph.
Out: `followed(node)`: the operands whose layout its result takes; none where it is another kind of operator.
     `reads_any(node)`: whether it reads images of any layout, and has the same result.

    relu(x)   ->   [x]          cat([x, y], 1)   ->   [x, y]          view(x, ...)   ->   []
    sum(x, [0, 2, 3])           reads any layout
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

from codegen.convolutions.gains import is_plain
from codegen.lower.nodes import all_known
from codegen.lower.registry import LOWERINGS

aten = torch.ops.aten
SLICE = aten.slice.Tensor


def is_image(node: Any) -> bool:
    """Whether its memory depends on the layout."""
    value = node.meta.get("val") if isinstance(node, fx.Node) else None
    if not is_plain(value):
        return False
    _, channels, height, width = value.shape  # type: ignore[union-attr]
    return channels > 1 and height * width > 1


def first(node: fx.Node) -> list[Any]:
    return [node.args[0]]


def joined(node: fx.Node) -> list[Any]:
    return list(node.args[0])  # type: ignore[arg-type]


def picked(node: fx.Node) -> list[Any]:
    """x[:, :, rows, columns]"""
    places: Any = node.args[1]
    return [node.args[0]] if len(places) == 4 and places[0] is places[1] is None else []


#: operator -> the operands whose layout its result takes. We have kernels for these.
KEEPERS: dict[Any, Callable[[fx.Node], list[Any]]] = {
    aten.clone.default: first,
    aten.cat.default: joined,
    aten.constant_pad_nd.default: first,
    aten._unsafe_index.Tensor: picked,
    SLICE: first,
}

#: the same for operators that may be called: their own kernels have both layouts
CALLED: dict[Any, Callable[[fx.Node], list[Any]]] = {
    aten.max_pool2d_with_indices.default: first,
    aten.avg_pool2d.default: first,
    aten.max_pool2d_with_indices_backward.default: lambda node: [*node.args[:2], node.args[7]],
    aten.avg_pool2d_backward.default: lambda node: list(node.args[:2]),
    aten.upsample_nearest2d_backward.default: first,
}

#: reductions -> the position of the dims
REDUCTIONS: dict[Any, int] = {
    aten.sum.dim_IntList: 1,
    aten.mean.dim: 1,
    aten.amax.default: 1,
    aten.amin.default: 1,
    aten.var_mean.correction: 1,
    aten.var.correction: 1,
}


def followed(node: fx.Node) -> list[fx.Node]:
    if node.op != "call_function":
        return []
    found = KEEPERS.get(node.target) or CALLED.get(node.target)
    if found is not None:
        operands = found(node)
        return operands if all(map(is_image, operands)) else []
    if not is_image(node) or not is_elementwise(node):
        return []
    shape = node.meta["val"].shape
    return [item for item in node.all_input_nodes if is_image(item) and item.meta["val"].shape == shape]


def is_elementwise(node: fx.Node) -> bool:
    """An elementwise operator that is lowered without fail."""
    target, value = node.target, node.meta["val"]
    if not isinstance(target, OpOverload) or torch.Tag.pointwise not in target.tags:
        return False
    given = [item.meta["val"] for item in node.all_input_nodes]
    if target._schema.is_mutable or not all(isinstance(item, torch.Tensor) for item in given):
        return False
    return (
        value.dtype in (torch.float32, torch.bool) and all_known(node) and LOWERINGS.get(target) is not None
    )


def reads_any(node: fx.Node) -> bool:
    """A reduction whose result has its dims in the order of both layouts."""
    place = REDUCTIONS.get(node.target)
    if place is None:
        return node.target in (aten.sum.default, aten.mean.default)
    dims: Any = node.args[place] if len(node.args) > place else None
    if not dims:
        return True
    reduced = {dim % 4 for dim in dims}
    return 1 in reduced or {2, 3} <= reduced
