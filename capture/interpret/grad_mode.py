"""Frames that do the same in each grad mode: their entries have no guard on it.

In:  the graph of a frame, and the nodes of its results.
Out: whether nothing in it depends on the grad mode.

    sample = torch.randint(9, (6,)); return sample.sort()[0]    ->    one entry for training and evaluation

The mode decides what autograd records. Where no tensor requires a gradient, it records nothing. It also marks
views, which refuse some later writes, so no result may be one.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType
from typing import TYPE_CHECKING, Any

import torch
from torch._ops import OpOverload

if TYPE_CHECKING:
    import torch.fx

    from capture.interpret.output_graph import OutputGraph


#: targets of nodes that are no functions of the program with a graph of their own
PLAIN = (str, type, OpOverload, BuiltinFunctionType, FunctionType, MethodDescriptorType)


def does_not_matter(output: OutputGraph, results: Iterable[torch.fx.Node] = ()) -> bool:
    """Whether a frame that has come to its end does the same in the other grad mode."""
    if not output.is_own or output.modes.grad_mode_counts or output.modes.changes or output.is_broken:
        return False
    if output.inputs.new_parameters or output.inputs.are_written():
        return False
    if any(getattr(item.value, "requires_grad", False) for item in output.inputs.tensors()):
        return False
    values = [node.meta.get("example_value") for node in output.graph.nodes]
    is_known = all(node.op == "placeholder" or type(node.target) in PLAIN for node in output.graph.nodes)
    made = [node.meta.get("example_value") for node in results if node.op != "placeholder"]
    return is_known and not any(map(_requires_grad, values)) and not _has_views(made)


def _requires_grad(value: Any) -> bool:
    """Whether a result of an operation is a tensor with a gradient, or holds one."""
    if isinstance(value, (tuple, list)):
        return any(map(_requires_grad, value))
    return isinstance(value, torch.Tensor) and value.requires_grad


def _has_views(values: list[Any]) -> bool:
    """Whether a result is a view, or no plain tensor or number."""
    return any(
        not isinstance(value, (torch.SymInt, torch.SymFloat, int, float, bool))
        and (not isinstance(value, torch.Tensor) or value._is_view())
        for value in values
    )
