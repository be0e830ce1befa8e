"""Graphs with frozen parameters: code that depends only on them runs once.

In:  a closed functional ATen graph, the values of some of its placeholders.
Out: the same graph with constants (`get_attr` nodes); weights of matrix products and convolutions have their
     fastest form.

    conv(x, w), (y - mean) * (1 / sqrt(var + eps)) * weight + bias   ->   conv(x, w', bias')

The steps: fold constants -> move factors and summands of channels into the weights -> pack the weights for
oneDNN (`packed_products.py`, `packed_convolutions.py`). Results differ from the unfrozen graph's results by
rounding. Each call still computes the constants that the graph returns, because the caller may write to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

from codegen.freeze.constants import Constants
from codegen.freeze.packed_convolutions import pack_convolutions
from codegen.freeze.packed_products import pack_products
from codegen.trace.nodes import drop_unused, is_effect

aten = torch.ops.aten


def freeze(graph: fx.Graph, values: Mapping[fx.Node, torch.Tensor]) -> None:
    constants = Constants(graph, values)
    with torch.no_grad():
        fold(constants)
        for node in list(graph.nodes):
            if node.target in LINEAR:
                absorb_channels(constants, node)
        drop_unused(graph)  # an epilogue must be the only node that reads a result
        if torch._C._has_mkldnn and torch._C._get_mkldnn_enabled():
            pack_products(constants)
            pack_convolutions(constants)
    drop_unused(graph)


# --- constants --------------------------------------------------------------------------------------------


def fold(constants: Constants) -> None:
    folded = [node for node in constants.graph.nodes if _compute(constants, node)]
    for node in folded:
        if any(user not in constants.values for user in node.users):
            node.replace_all_uses_with(constants.add(constants.values.pop(node), node, node))


def _compute(constants: Constants, node: fx.Node) -> bool:
    inputs = node.all_input_nodes
    known = bool(inputs) and all(known in constants.values for known in inputs)
    if not known or not isinstance(node.target, OpOverload) or is_effect(node):
        return False
    if any(user.op == "output" for user in node.users) or not isinstance(node.meta["val"], torch.Tensor):
        return False
    args, kwargs = fx.node.map_arg((node.args, node.kwargs), lambda known: constants.values[known])
    constants.values[node] = node.target(*args, **kwargs)
    return True


# --- factors and summands of channels ---------------------------------------------------------------------

#: operator -> the positions of weight and bias among its arguments, and the dim of channels in the weight and
#: in the result (from the right)
LINEAR: dict[Any, tuple[int, int, int, int]] = {
    aten.convolution.default: (1, 2, 0, 1),
    aten.addmm.default: (2, 0, 1, 1),
}
FLOATS = (torch.float32, torch.float64)


def absorb_channels(constants: Constants, node: fx.Node) -> None:
    """Moves the steps on each channel of the result into weight and bias.

    It stops where anything else reads the result.
    """
    place, bias_place, weight_dim, dim = LINEAR[node.target]
    weight, bias = constants.get(node.args[place]), constants.get(node.args[bias_place])
    is_plain = node.target is aten.addmm.default or node.args[6] is False  # not a transposed convolution
    if weight is None or weight.dtype not in FLOATS or not is_plain or node.kwargs:
        return
    if bias is None and node.args[bias_place] is not None:
        return
    channels = weight.shape[weight_dim]
    if bias is not None and bias.shape != (channels,):
        return
    factor, summand = torch.ones(channels, dtype=torch.float64), torch.zeros(channels, dtype=torch.float64)
    last = node
    while (step := _channel_step(constants, last, channels, dim)) is not None:
        last, scale, shift = step
        factor, summand = factor * scale, summand * scale + shift
    shape = [channels if d == weight_dim else 1 for d in range(weight.dim())]
    scaled = (weight.double() * factor.view(shape)).to(weight.dtype)
    total = (summand if bias is None else bias.double() * factor + summand).to(weight.dtype)
    if last is node or not bool(scaled.isfinite().all() and total.isfinite().all()):
        return
    args = list(node.args)
    args[place], args[bias_place] = constants.add(scaled, node, node), constants.add(total, node, node)
    node.args = tuple(args)
    last.replace_all_uses_with(node)


def _channel_step(constants: Constants, node: fx.Node, channels: int, dim: int) -> Any:
    """(user, factor, summand) where the only user multiplies by, or adds, one number for each channel."""
    if len(node.users) != 1:
        return None
    (user,) = node.users
    if user.target not in STEPS or user.kwargs or len(user.args) != 2 or user.args[0] is user.args[1]:
        return None
    value, result = node.meta["val"], user.meta["val"]
    if result.shape != value.shape or result.dtype != value.dtype or result.stride() != value.stride():
        return None
    is_first = user.args[0] is node
    other = _by_channel(constants, user.args[1 if is_first else 0], value.dim(), channels, dim)
    if other is None or not (is_first or user.target in COMMUTATIVE):
        return None
    return (user, *STEPS[user.target](other))


STEPS: dict[Any, Any] = {
    aten.add.Tensor: lambda c: (1.0, c),
    aten.sub.Tensor: lambda c: (1.0, -c),
    aten.mul.Tensor: lambda c: (c, 0.0),
    aten.div.Tensor: lambda c: (1 / c, 0.0),
}
COMMUTATIVE = (aten.add.Tensor, aten.mul.Tensor)


def _by_channel(constants: Constants, operand: Any, rank: int, channels: int, dim: int) -> Any:
    """A number, or a tensor of one number for each channel; None where the operand is neither."""
    if type(operand) in (int, float):
        return float(operand)
    value = constants.get(operand)
    if value is None or value.dtype not in FLOATS or value.dim() > rank:
        return None
    shape = (1,) * (rank - value.dim()) + tuple(value.shape)
    if any(size != 1 and d != dim for d, size in enumerate(shape)):
        return None
    return value.double().reshape(-1).expand(channels)
