"""Convolutions, pooling, batch norms, biases.

In:  `Node`. Images are NHWC or NCHW, kernels are (height, width, in, out).
Out: calls of `functions.windows`.
"""

from __future__ import annotations

import operator
from typing import Any

import torch

from capture.graphdef.functions import windows
from capture.graphdef.node import Node
from capture.graphdef.operators.table import rule
from capture.graphdef.values import Tensor, Value

_LAYOUTS = ("NHWC", "NCHW")


def _layout(node: Node) -> str:
    found = node.attr("data_format", "s", "NHWC")
    if found not in _LAYOUTS:
        raise node.error(f"the data_format {found!r} is not known: {' or '.join(_LAYOUTS)}")
    return str(found)


def _pair(node: Node, name: str, layout: str, default: Any = None) -> list[int]:
    """The numbers for rows and columns of an attribute of four numbers."""
    given = node.attr_list(name, "i") if default is None else node.attr_list(name, "i", default)
    if len(given) != 4:
        raise node.error(f"{name} has {len(given)} numbers, not 4")
    rows = layout.index("H")
    others = [number for place, number in enumerate(given) if place not in (rows, rows + 1)]
    if others != [1, 1] or min(given) < 1:
        raise node.error(f"{name} {list(given)}: only rows and columns may have another number than 1")
    return [int(given[rows]), int(given[rows + 1])]


def _padding(node: Node, layout: str) -> str | list[int]:
    found = node.attr("padding", "s")
    if found in ("SAME", "VALID"):
        return str(found)
    amounts = [int(number) for number in node.attr_list("explicit_paddings", "i", ())]
    rows = 2 * layout.index("H")
    if found != "EXPLICIT" or len(amounts) != 8:
        raise node.error(f"the padding {found!r} is not known: SAME, VALID, or EXPLICIT with 8 numbers")
    if min(amounts) < 0 or any(amounts[:rows] + amounts[rows + 4 :]):
        raise node.error(f"explicit_paddings {amounts}: only rows and columns are padded")
    return amounts


@rule("Conv2D")
def _conv2d(node: Node) -> Value:
    node.count(2)
    layout = _layout(node)
    kernel = node.prepared(node.inputs[1], torch.permute, (3, 2, 0, 1))
    return node.call(
        windows.conv2d,
        node.tensor(0),
        kernel,
        _pair(node, "strides", layout),
        _padding(node, layout),
        _pair(node, "dilations", layout, (1, 1, 1, 1)),
        layout,
    )


@rule("DepthwiseConv2dNative")
def _depthwise_conv2d(node: Node) -> Value:
    """A kernel (height, width, channels, multiplier): each channel alone."""
    node.count(2)
    layout = _layout(node)
    return node.call(
        windows.depthwise_conv2d,
        node.tensor(0),
        node.prepared(node.inputs[1], torch.permute, (2, 3, 0, 1)),
        _pair(node, "strides", layout),
        _padding(node, layout),
        _pair(node, "dilations", layout, (1, 1, 1, 1)),
        layout,
    )


@rule("MaxPool")
def _max_pool(node: Node) -> Value:
    return _pool(node, windows.max_pool)


@rule("AvgPool")
def _avg_pool(node: Node) -> Value:
    return _pool(node, windows.avg_pool)


def _pool(node: Node, function: Any) -> Value:
    node.count(1)
    layout = _layout(node)
    size, strides = _pair(node, "ksize", layout), _pair(node, "strides", layout)
    return node.call(function, node.tensor(0), size, strides, _padding(node, layout), layout)


@rule("BiasAdd")
def _bias_add(node: Node) -> Value:
    node.count(2)
    if _layout(node) == "NHWC":
        return node.call(torch.add, node.tensor(0), node.tensor(1))
    return node.call(windows.bias_add_channels_first, node.tensor(0), node.tensor(1))


@rule("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def _fused_batch_norm(node: Node) -> tuple[Value, ...]:
    """Results: the normed images, mean and variance; others are for TensorFlow's gradients alone."""
    node.count(5)
    layout, epsilon = _layout(node), node.attr("epsilon", "f", 1e-4)
    x, scale, offset, mean, variance = node.tensors()
    if not node.attr("is_training", "b", True):
        y = node.call(windows.normalised, x, scale, offset, mean, variance, epsilon, layout)
        return y, node.inputs[3], node.inputs[4]
    if node.attr("exponential_avg_factor", "f", 1.0) != 1.0:
        raise node.error("an exponential_avg_factor other than 1 is not known in training")
    found = node.emit(windows.moments, x, layout)
    mean, biased, variance = (node.emit(operator.getitem, found, place) for place in range(3))
    y = node.call(windows.normalised, x, scale, offset, mean, biased, epsilon, layout)
    return y, Tensor(mean), Tensor(variance)
