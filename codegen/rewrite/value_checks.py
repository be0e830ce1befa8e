"""Checks of values that eager makes inside of composite operators. Fake tensors do not make them.

In:  a call of the graph, by its function or the name of its method, and its arguments as fake tensors.
Out: assertions in the trace, and NotImplemented: the function is called as it is. Where an assertion does not
     hold, the graph fails and eager raises its own error.

    one_hot(x, 5)   ->   _assert_async(all(x < 5), "Class values must be smaller than num_classes.")
"""

from __future__ import annotations

from typing import Any

import torch

from codegen.rewrite.rows import replacing, rewriting

aten = torch.ops.aten


def holds(condition: torch.Tensor, text: str) -> None:
    aten._assert_async.msg(condition.all(), text)


def in_unit_interval(tensor: torch.Tensor, text: str) -> None:
    holds(tensor.ge(0).logical_and(tensor.le(1)), text)


@replacing(torch.quantile, torch.nanquantile, "quantile", "nanquantile")
def quantile(tensor: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
    if isinstance(q, torch.Tensor):
        in_unit_interval(q.detach(), "quantile() q values must be in the range [0, 1]")
    return NotImplemented


@replacing(torch._C._nn.one_hot)
def one_hot(tensor: torch.Tensor, num_classes: int = -1) -> Any:
    if tensor.numel():
        holds(tensor.ge(0), "Class values must be non-negative.")
        if num_classes != -1:
            holds(tensor.lt(num_classes), "Class values must be smaller than num_classes.")
    return NotImplemented


@rewriting(aten.binary_cross_entropy.default, dtypes=None)
def binary_cross_entropy(tensor: torch.Tensor, target: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    in_unit_interval(tensor, "all elements of input should be between 0 and 1")
    in_unit_interval(target, "all elements of target should be between 0 and 1")
    return NotImplemented
