"""Operators that take parts of a tensor.

In:  `Node`.
Out: calls of torch, or sizes.
"""

from __future__ import annotations

from typing import Any

import torch

from capture.graphdef.functions import indexing, sizes
from capture.graphdef.node import Node
from capture.graphdef.operators.table import rule
from capture.graphdef.values import Value


@rule("Slice")
def _slice(node: Node) -> Value:
    node.count(3)
    begin, size = node.numbers(1), node.numbers(2)
    fixed = isinstance(begin, list) and isinstance(size, list) and len(begin) == len(size) == 1
    if node.rank_of(node.inputs[0]) == 1 and fixed:
        end = None if size[0] == -1 else begin[0] + size[0]
        return node.size_call(sizes.part, 1, node.numbers(0), begin[0], end, 1)
    return node.call(indexing.slice_of, node.tensor(0), begin, size)


#: the attributes of StridedSlice, and the letter that `indexing.strided_slice` has for each; the first counts
_MASKS = (("ellipsis_mask", "."), ("new_axis_mask", "n"), ("shrink_axis_mask", "i"))
_OPEN = (("begin_mask", "b"), ("end_mask", "e"))


@rule("StridedSlice")
def _strided_slice(node: Node) -> Value:
    node.count(4)
    begin, end, strides = (node.numbers(position) for position in (1, 2, 3))
    count = next((len(found) for found in (begin, end, strides) if isinstance(found, list)), None)
    if count is None:
        raise node.error("neither its begin, nor its end, nor its strides are constants")
    kinds = _kinds(node, count)
    if kinds.count(".") > 1:
        raise node.error("more than one ellipsis")
    fixed = isinstance(begin, list) and isinstance(end, list) and isinstance(strides, list)
    if node.rank_of(node.inputs[0]) == 1 and fixed and count == 1 and kinds[0] not in ("n", "."):
        return _part_of_sizes(node, kinds[0], begin[0], end[0], strides[0])
    return node.call(indexing.strided_slice, node.tensor(0), begin, end, strides, kinds)


def _kinds(node: Node, count: int) -> list[str]:
    masks = {name: node.attr(name, "i", 0) for name, _ in (*_MASKS, *_OPEN)}

    def kind(place: int) -> str:
        for name, letter in _MASKS:
            if masks[name] >> place & 1:
                return letter
        return "".join(letter for name, letter in _OPEN if masks[name] >> place & 1)

    return [kind(place) for place in range(count)]


def _part_of_sizes(node: Node, kind: str, begin: int, end: int, stride: int) -> Value:
    if kind == "i":
        return node.size_call(sizes.at, 0, node.numbers(0), begin)
    first: Any = None if "b" in kind else begin
    return node.size_call(sizes.part, 1, node.numbers(0), first, None if "e" in kind else end, stride)


@rule("Gather", "GatherV2")
def _gather(node: Node) -> Value:
    node.count(2, 2 if node.op == "Gather" else 3)
    axis = node.fixed_int(2, "its axis") if len(node.inputs) == 3 else 0
    if node.attr("batch_dims", "i", 0):
        raise node.error("batch_dims is not known")
    rank = node.rank_of(node.inputs[1])
    if node.rank_of(node.inputs[0]) == 1 and rank is not None:
        return node.size_call(sizes.pick, rank, node.numbers(0), node.numbers(1))
    return node.call(indexing.gather, node.tensor(0), node.tensor(1), axis)


@rule("OneHot")
def _one_hot(node: Node) -> Value:
    node.count(4)
    depth, axis = node.numbers(1), node.attr("axis", "i", -1)
    return node.call(indexing.one_hot, node.tensor(0), depth, node.tensor(2), node.tensor(3), axis)


@rule("ArgMax", "ArgMin")
def _arg_max(node: Node) -> Value:
    node.count(2)
    function = torch.argmax if node.op == "ArgMax" else torch.argmin
    found = node.emit(function, node.tensor(0), node.fixed_int(1, "its axis"))
    dtype = node.dtype("output_type") if "output_type" in node.proto.attr else torch.int64
    return node.call(torch.Tensor.to, found, dtype)
