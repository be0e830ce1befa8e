"""Tensors that get the result of a call (`out=`), where they have another size than the result.

In:  a call on fake tensors, before it runs.
Out: `GraphBreak` in front of the call: Python resizes the tensor, and torch warns.

    torch.add(x, 1, out=o), x: float32[3], o: float32[5]    ->    Python runs the call

A tensor without elements that the graph has made is left: nothing is lost, and torch does not warn. It gets
the order of dims that the result has, which fake tensors do not tell: only a contiguous result stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch.fx
from torch._subclasses.fake_tensor import FakeTensor

from capture.report.break_reasons import GraphBreak

if TYPE_CHECKING:
    from collections.abc import Callable


def check_out_sizes(call: Callable[..., Any], args: Any, kwargs: dict[str, Any], given: Any) -> None:
    """`given`: the node of `out`, or several; or None. The call runs once more: it tells the layout."""
    items = given if isinstance(given, (list, tuple)) else (given,)
    nodes = [item for item in items if isinstance(item, torch.fx.Node)]
    held = [node for node in nodes if isinstance(node.meta["example_value"], FakeTensor)]
    if not held or len(held) < len(nodes):
        return
    if not any(map(_matters, held)):
        _check_order_of_dims(call(*args, **{k: v for k, v in kwargs.items() if k != "out"}), held[0])
        return
    empty = {node: node.meta["example_value"].new_empty(0) for node in held}
    call(*args, **{**kwargs, "out": torch.fx.node.map_arg(given, empty.__getitem__)})
    for node, result in empty.items():
        if _matters(node) and result.shape != node.meta["example_value"].shape:
            raise GraphBreak("mutation", value=f"the size of {node.name}, which is given as `out`,")


def _check_order_of_dims(made: Any, node: torch.fx.Node) -> None:
    results = made if isinstance(made, (list, tuple)) else (made,)
    if not all(result.is_contiguous() for result in results):
        raise GraphBreak("mutation", value=f"the strides of {node.name}, which is given as `out`,")


def resizes_out(function: Any) -> bool:
    """Whether it is torch's own. Functions of NumPy raise, and operators of the program do what they like."""
    module = getattr(function, "__module__", None) or ""
    if module.startswith("torch._ops."):
        return bool(module == "torch._ops.aten")
    return bool(module.partition(".")[0] == "torch")


def _matters(node: torch.fx.Node) -> bool:
    return node.op == "placeholder" or bool(node.meta["example_value"].numel() != 0)
