"""Operators that ask for shapes, or give the same elements another one.

In:  `Node`.
Out: calls of torch, or sizes.
"""

from __future__ import annotations

import operator

import torch

from capture.graphdef.functions import indexing, sizes
from capture.graphdef.node import Node
from capture.graphdef.operators.table import rule
from capture.graphdef.values import Sizes, Tensor, Value


def _out_type(node: Node) -> torch.dtype:
    return node.dtype("out_type") if "out_type" in node.proto.attr else torch.int32


@rule("Shape")
def _shape(node: Node) -> Value:
    node.count(1)
    return Sizes(node.method("size", node.tensor(0)), 1, _out_type(node))


@rule("Size")
def _size(node: Node) -> Value:
    node.count(1)
    return Sizes(node.method("numel", node.tensor(0)), 0, _out_type(node))


@rule("Rank")
def _rank(node: Node) -> Value:
    node.count(1)
    return Sizes(node.method("dim", node.tensor(0)), 0, torch.int32)


@rule("Reshape")
def _reshape(node: Node) -> Value:
    node.count(2)
    shape = node.numbers(1)
    value = node.inputs[0]
    rank = node.rank_of(value)
    if rank is not None and isinstance(shape, list) and len(shape) <= 1:
        if rank == len(shape):
            return value
        return node.size_call(sizes.pack if shape else sizes.first, len(shape), node.numbers(0))
    return node.call(torch.reshape, node.tensor(0), shape)


@rule("ExpandDims")
def _expand_dims(node: Node) -> Value:
    node.count(2)
    if node.rank_of(node.inputs[0]) == 0:
        return node.size_call(sizes.pack, 1, node.numbers(0))
    return node.call(torch.unsqueeze, node.tensor(0), node.fixed_int(1, "its axis"))


@rule("Squeeze")
def _squeeze(node: Node) -> Value:
    node.count(1)
    axes = node.attr_list("squeeze_dims", "i", ())
    if node.rank_of(node.inputs[0]) == 1 and axes:
        return node.size_call(sizes.first, 0, node.numbers(0))
    return node.call(torch.squeeze, node.tensor(0), *([tuple(axes)] if axes else []))


@rule("Transpose")
def _transpose(node: Node) -> Value:
    node.count(2)
    return node.call(torch.permute, node.tensor(0), node.numbers(1))


@rule("Concat", "ConcatV2")
def _concat(node: Node) -> Value:
    node.count(2, len(node.inputs))
    place = 0 if node.op == "Concat" else len(node.inputs) - 1
    axis = node.fixed_int(place, "its axis")
    del node.inputs[place]
    if node.are_sizes() and all(node.rank_of(value) == 1 for value in node.inputs):
        return node.size_call(sizes.join, 1, *(node.numbers(i) for i in range(len(node.inputs))))
    return node.call(torch.cat, node.tensors(), axis)


@rule("Split")
def _split(node: Node) -> tuple[Value, ...]:
    node.count(2)
    count = node.attr("num_split", "i")
    _check_count(node, count)
    axis = node.fixed_int(0, "its axis")
    parts = node.emit(indexing.split, node.tensor(1), axis, count)
    return _items(node, parts, count)


@rule("SplitV")
def _split_v(node: Node) -> tuple[Value, ...]:
    node.count(3)
    lengths = node.fixed_ints(1, "the list of sizes")
    axis = node.fixed_int(2, "its axis")
    if lengths.count(-1) > 1 or min(lengths, default=0) < -1:
        raise node.error(f"the sizes {lengths} are no sizes")
    parts = node.emit(indexing.split_sizes, node.tensor(0), lengths, axis)
    return _items(node, parts, len(lengths))


@rule("Pack")
def _pack(node: Node) -> Value:
    node.count(1, len(node.inputs))
    axis = node.attr("axis", "i", 0)
    if node.are_sizes() and all(node.rank_of(value) == 0 for value in node.inputs):
        return node.size_call(sizes.pack, 1, *(node.numbers(i) for i in range(len(node.inputs))))
    return node.call(torch.stack, node.tensors(), axis)


@rule("Unpack")
def _unpack(node: Node) -> tuple[Value, ...]:
    node.count(1)
    count, axis = node.attr("num", "i"), node.attr("axis", "i", 0)
    _check_count(node, count)
    if node.rank_of(node.inputs[0]) == 1:
        return tuple(node.size_call(sizes.pick, 0, node.numbers(0), place) for place in range(count))
    return _items(node, node.emit(torch.unbind, node.tensor(0), axis), count)


def _check_count(node: Node, count: int) -> None:
    if not 0 < count <= 4096:
        raise node.error(f"it can't have {count} results")


def _items(node: Node, parts: object, count: int) -> tuple[Value, ...]:
    return tuple(Tensor(node.emit(operator.getitem, parts, place)) for place in range(count))


@rule("Tile")
def _tile(node: Node) -> Value:
    node.count(2)
    return node.call(torch.tile, node.tensor(0), node.numbers(1))


@rule("Pad", "PadV2")
def _pad(node: Node) -> Value:
    node.count(3 if node.op == "PadV2" else 2)
    value = node.numbers(2) if node.op == "PadV2" else 0
    return node.call(indexing.pad, node.tensor(0), node.numbers(1), value)
