"""Numbers in place of the symbols of a graph.

In:  a closed graph over symbols, and their values.
Out: `in_numbers(graph, sizes)`: a copy for these values.

    mul(x[s0, 4], s0), s0 = 7   ->   mul(x[7, 4], 7)
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import fx

from codegen.dynamic.symbolic_graph import value_of
from codegen.fake.fake import FakeMode, fake_mode
from codegen.fake.shapes.spec import Spec
from codegen.kernel.fx_graph import Graph
from codegen.trace.nodes import Symbolic


def in_numbers(graph: fx.Graph, sizes: Mapping[str, int]) -> fx.Graph:
    """A copy of a closed graph for these values of the symbols in it."""
    mode = fake_mode()
    result = Graph(graph.owning_module)
    copies: dict[fx.Node, fx.Node] = {}

    def argument(value: Any) -> Any:
        return number(value.value, sizes) if isinstance(value, Symbolic) else value

    for node in graph.nodes:
        copies[node] = made = result.node_copy(node, copies.__getitem__)
        made.args = fx.node.map_aggregate(made.args, argument)
        made.kwargs = fx.node.map_aggregate(made.kwargs, argument)
        made.meta = copy.copy(node.meta)
        if "val" in node.meta:
            made.meta["val"] = value_in_numbers(node.meta["val"], sizes, mode)
    return result


def number(value: Any, sizes: Mapping[str, int]) -> Any:
    if isinstance(value, torch.SymFloat):
        known = {symbol: sizes[symbol.name] for symbol in value.node.expr.free_symbols}
        return float(value.node.expr.subs(known))
    return value_of(value.node.expr, sizes) if isinstance(value, (torch.SymInt, torch.SymBool)) else value


def value_in_numbers(value: Any, sizes: Mapping[str, int], mode: FakeMode) -> Any:
    if isinstance(value, torch.Tensor):
        return tensor_in_numbers(value, sizes, mode)
    if isinstance(value, (list, tuple)):
        return type(value)(value_in_numbers(item, sizes, mode) for item in value)
    return number(value, sizes)


def tensor_in_numbers(fake: torch.Tensor, sizes: Mapping[str, int], mode: FakeMode) -> torch.Tensor:
    shape, strides = all_in_numbers(fake.shape, sizes), all_in_numbers(fake.stride(), sizes)
    return mode.new(Spec(shape, strides, fake.dtype), fake.device)


def all_in_numbers(values: Sequence[Any], sizes: Mapping[str, int]) -> tuple[Any, ...]:
    return tuple(number(value, sizes) for value in values)
