"""Where values come from, and what only passes them on.

In:  `Node`.
Out: constants, ranges, filled tensors.
"""

from __future__ import annotations

import torch

from capture.graphdef import dtypes
from capture.graphdef.functions import indexing, sizes
from capture.graphdef.node import Node
from capture.graphdef.operators.table import rule
from capture.graphdef.values import Constant, Sizes, Tensor, Value


@rule("Const")
def _const(node: Node) -> Value:
    node.count(0)
    proto = node.attr("value", "tensor")
    if proto.dtype != node.attr("dtype", "type"):
        raise node.error("the dtype of its tensor is another one than its attribute 'dtype'")
    try:
        return Constant(dtypes.tensor_of(proto), node.name)
    except ValueError as error:
        raise node.error(str(error)) from None


@rule("PlaceholderWithDefault")
def _placeholder_with_default(node: Node) -> Value:
    """The first input is the argument of the module, the second the default."""
    node.count(2)
    return node.call(indexing.given_or, node.tensor(0), node.tensor(1))


@rule("Identity", "Snapshot")
def _identity(node: Node) -> Value:
    node.count(1)
    return node.inputs[0]


@rule("StopGradient")
def _stop_gradient(node: Node) -> Value:
    node.count(1)
    return node.call(torch.detach, node.tensor(0)) if isinstance(node.inputs[0], Tensor) else node.inputs[0]


@rule("IdentityN")
def _identity_n(node: Node) -> tuple[Value, ...]:
    return tuple(node.inputs)


@rule("NoOp")
def _no_op(node: Node) -> tuple[Value, ...]:
    return ()


@rule("Fill", "BroadcastTo")
def _fill(node: Node) -> Value:
    node.count(2)
    dims, value = (0, 1) if node.op == "Fill" else (1, 0)
    return node.call(torch.broadcast_to, node.tensor(value), node.numbers(dims))


@rule("Range")
def _range(node: Node) -> Value:
    node.count(3)
    numbers = [node.numbers(position) for position in range(3)]
    dtype = node.dtype("Tidx") if "Tidx" in node.proto.attr else torch.int32
    if numbers[2] == 0:
        raise node.error("its step is 0")
    made = node.emit(torch.arange, *numbers, dtype=dtype)
    if not node.are_sizes():
        return Tensor(made)
    # as a list for axes; a tensor of this many numbers is made at once
    return Sizes(node.emit(sizes.number_range, *numbers), 1, dtype, made)
