"""Random numbers in a captured graph, as eager's own operator draws them.

In:  an in-place random operator, and the layout of the tensor that it was called on.
Out: a new tensor of that layout, filled by the operator: from the same generator, in the same order.

    noise.bernoulli_(0.5)   ->   draw(aten.bernoulli_.float, [4, 3], [3, 1], torch.float32, 0.5)

The layout matters: it decides the order in which elements get their numbers.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import OpOverload

from codegen.trace.bernoulli import fill_bernoulli


def draws_numbers(op: Any) -> bool:
    """Whether a call of `op`, an operator or `draw`, takes numbers from a generator."""
    return op is draw or torch.Tag.nondeterministic_seeded in getattr(op, "tags", ())


def draw(
    op: OpOverload, shape: list[int], strides: list[int], dtype: torch.dtype, *args: Any, **kwargs: Any
) -> torch.Tensor:
    """A new tensor of that layout, filled by the in-place random operator `op(tensor, *args, **kwargs)`."""
    tensor = torch.empty_strided(shape, strides, dtype=dtype)
    if op is torch.ops.aten.bernoulli_.float and fill_bernoulli(tensor, *args, **kwargs):
        return tensor
    return op(tensor, *args, **kwargs)
