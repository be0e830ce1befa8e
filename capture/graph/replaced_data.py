"""`leaf.data = value` in a graph.

After it the leaf has the memory of `value`, and gradients still go to the leaf.

In:  a leaf that autograd records, and a tensor like it.
Out: a tensor on the memory of `value`, whose gradient goes to the leaf.
"""

from __future__ import annotations

from typing import Any

import torch


class _WithData(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, leaf: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return value.data  # not a view: the program may write to it as it may to the leaf

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return grad, None


#: This skips `torch.autograd.Function.apply`, whose checks serve functorch.
_join = super(torch.autograd.Function, _WithData).apply


def with_data(leaf: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    with torch.enable_grad():
        return _join(leaf, value)
