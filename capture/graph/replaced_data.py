"""`leaf.data = value` in a graph: from there on the leaf has the value's memory, and gradients are still the
leaf's.

In:  a leaf that autograd records, and a tensor like it.
Out: a tensor on the memory of `value`, whose gradient goes to the leaf.
"""

from __future__ import annotations

from typing import Any

import torch


class _WithData(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, leaf: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return value.data  # no view: it may be written to like the leaf itself

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return grad, None


#: past `torch.autograd.Function.apply`, whose checks are for functorch
_join = super(torch.autograd.Function, _WithData).apply


def with_data(leaf: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    with torch.enable_grad():
        return _join(leaf, value)
