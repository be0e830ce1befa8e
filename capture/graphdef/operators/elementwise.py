"""Operators on single elements, products of matrices, softmax.

In:  `Node`.
Out: calls of torch. Sums and products of sizes stay sizes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from capture.graphdef.functions import elements, indexing, sizes
from capture.graphdef.node import INTEGERS, Node
from capture.graphdef.operators.table import RULES, rule
from capture.graphdef.values import Constant, Sizes, Value

_UNARY: dict[str, Callable[..., Any]] = {
    "Abs": torch.abs,
    "Ceil": torch.ceil,
    "Cos": torch.cos,
    "Cosh": torch.cosh,
    "Elu": F.elu,
    "Erf": torch.erf,
    "Erfc": torch.erfc,
    "Exp": torch.exp,
    "Expm1": torch.expm1,
    "Floor": torch.floor,
    "IsFinite": torch.isfinite,
    "IsInf": torch.isinf,
    "IsNan": torch.isnan,
    "Log": torch.log,
    "Log1p": torch.log1p,
    "LogicalNot": torch.logical_not,
    "Neg": torch.neg,
    "OnesLike": torch.ones_like,
    "Reciprocal": torch.reciprocal,
    "Relu": torch.relu,
    "Round": torch.round,
    "Rsqrt": torch.rsqrt,
    "Selu": F.selu,
    "Sigmoid": torch.sigmoid,
    "Sign": elements.sign,
    "Sin": torch.sin,
    "Sinh": torch.sinh,
    "Softsign": F.softsign,
    "Sqrt": torch.sqrt,
    "Square": torch.square,
    "Tan": torch.tan,
    "Tanh": torch.tanh,
    "ZerosLike": torch.zeros_like,
}
_BINARY: dict[str, Callable[..., Any]] = {
    "Equal": torch.eq,
    "Greater": torch.gt,
    "GreaterEqual": torch.ge,
    "Less": torch.lt,
    "LessEqual": torch.le,
    "LogicalAnd": torch.logical_and,
    "LogicalOr": torch.logical_or,
    "NotEqual": torch.ne,
    "Pow": torch.pow,
    "TruncateMod": torch.fmod,
    "RealDiv": torch.div,
}
#: those that also compute sizes: the function of tensors, that of sizes
_OF_SIZES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "Add": (torch.add, sizes.add),
    "AddV2": (torch.add, sizes.add),
    "FloorDiv": (elements.floor_div, sizes.floordiv),
    "FloorMod": (torch.remainder, sizes.mod),
    "Maximum": (torch.maximum, sizes.maximum),
    "Minimum": (torch.minimum, sizes.minimum),
    "Mul": (torch.mul, sizes.mul),
    "Sub": (torch.sub, sizes.sub),
}


def _unary(function: Callable[..., Any]) -> Callable[[Node], Value]:
    def unary(node: Node) -> Value:
        node.count(1)
        return node.call(function, node.tensor(0))

    return unary


def _binary(function: Callable[..., Any]) -> Callable[[Node], Value]:
    def binary(node: Node) -> Value:
        node.count(2)
        return node.call(function, node.tensor(0), node.tensor(1))

    return binary


def _of_sizes(function: Callable[..., Any], of_sizes: Callable[..., Any]) -> Callable[[Node], Value]:
    def binary(node: Node) -> Value:
        node.count(2)
        if not node.are_sizes():
            return node.call(function, node.tensor(0), node.tensor(1))
        rank = max(node.rank_of(value) or 0 for value in node.inputs)
        return node.size_call(of_sizes, rank, node.numbers(0), node.numbers(1))

    return binary


RULES.update({name: _unary(function) for name, function in _UNARY.items()})
RULES.update({name: _binary(function) for name, function in _BINARY.items()})
RULES.update({name: _of_sizes(*functions) for name, functions in _OF_SIZES.items()})


@rule("Div")
def _div(node: Node) -> Value:
    """Whole numbers are divided towards zero."""
    node.count(2)
    whole = not (node.dtype("T").is_floating_point or node.dtype("T").is_complex)
    rounding = {"rounding_mode": "trunc"} if whole else {}
    return node.call(torch.div, node.tensor(0), node.tensor(1), **rounding)


@rule("SquaredDifference")
def _squared_difference(node: Node) -> Value:
    node.count(2)
    return node.call(torch.square, node.emit(torch.sub, node.tensor(0), node.tensor(1)))


@rule("AddN")
def _add_n(node: Node) -> Value:
    node.count(1, len(node.inputs))
    if len(node.inputs) == 1:
        return node.inputs[0]
    first, *others = node.tensors()
    *inner, last = others
    return node.call(torch.add, functools.reduce(functools.partial(node.emit, torch.add), inner, first), last)


# --- activations ------------------------------------------------------------------------------------------


@rule("Relu6")
def _relu6(node: Node) -> Value:
    node.count(1)
    return node.call(torch.clamp, node.tensor(0), 0, 6)


@rule("LeakyRelu")
def _leaky_relu(node: Node) -> Value:
    node.count(1)
    return node.call(F.leaky_relu, node.tensor(0), node.attr("alpha", "f", 0.2))


@rule("Softplus")
def _softplus(node: Node) -> Value:
    """Exact up to 40, where x itself is the answer in each dtype; torch's own limit is 20."""
    node.count(1)
    return node.call(F.softplus, node.tensor(0), 1, 40)


@rule("Softmax")
def _softmax(node: Node) -> Value:
    node.count(1)
    return node.call(torch.softmax, node.tensor(0), -1)


@rule("LogSoftmax")
def _log_softmax(node: Node) -> Value:
    node.count(1)
    return node.call(torch.log_softmax, node.tensor(0), -1)


# --- choice, conversion -----------------------------------------------------------------------------------


@rule("Select")
def _select(node: Node) -> Value:
    node.count(3)
    return node.call(indexing.select, *node.tensors())


@rule("SelectV2")
def _select_v2(node: Node) -> Value:
    node.count(3)
    return node.call(torch.where, *node.tensors())


@rule("Cast")
def _cast(node: Node) -> Value:
    node.count(1)
    dtype = node.dtype("DstT")
    value = node.inputs[0]
    if isinstance(value, Sizes) and dtype in INTEGERS:
        return Sizes(value.node, value.rank, dtype)
    if isinstance(value, Constant) and dtype in INTEGERS and node.are_sizes():
        return Constant(value.tensor.to(dtype), node.name)
    return node.call(torch.Tensor.to, node.tensor(0), dtype)


# --- products ---------------------------------------------------------------------------------------------


@rule("MatMul")
def _matmul(node: Node) -> Value:
    node.count(2)
    return node.call(torch.mm, *_transposed(node, ("transpose_a", "transpose_b"), torch.t))


@rule("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def _batch_matmul(node: Node) -> Value:
    node.count(2)
    return node.call(torch.matmul, *_transposed(node, ("adj_x", "adj_y"), torch.adjoint))


@rule("Einsum")
def _einsum(node: Node) -> Value:
    node.count(1, len(node.inputs))
    return node.call(torch.einsum, node.attr("equation", "s"), *node.tensors())


def _transposed(node: Node, attributes: tuple[str, str], function: Callable[..., Any]) -> list[Any]:
    return [
        node.emit(function, value) if node.attr(name, "b", False) else value
        for name, value in zip(attributes, node.tensors())
    ]
