"""Elements of a source that go, in order, to the places where a mask is true.

In:  a call of `masked_scatter` or its backward.
Out: an index into the source, from the running count of the mask.

    masked_scatter(x, mask, source)   ->   where(mask, source[cumsum(mask) - 1], x)

A mask that is repeated along the last dims (as for image features among words) is counted once for all of
them.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from codegen.fake.shapes.elementwise import broadcast
from codegen.rewrite.rows import rewriting
from codegen.rewrite.simple import FLOATS, NUMBERS

aten = torch.ops.aten


@rewriting(aten.masked_scatter.default, dtypes=(*NUMBERS, torch.bool), any_size=True)
def masked_scatter(tensor: torch.Tensor, mask: torch.Tensor, source: torch.Tensor) -> Any:
    """Where the source is too short, a position is out of range, and eager raises its error."""
    if (
        mask.dtype is not torch.bool
        or source.dtype is not tensor.dtype
        or 0 in (tensor.numel(), mask.numel(), source.numel())
    ):
        return NotImplemented
    shape = broadcast((tensor, mask))
    if shape is None:
        return NotImplemented
    tensor, mask = (aten.expand(item, list(shape)) for item in (tensor, mask))
    picked = aten.index(aten.reshape(source, [-1]), [places(mask)])
    return aten.where(mask, picked, tensor)


@rewriting(aten.masked_scatter_backward.default, dtypes=FLOATS)
def masked_scatter_backward(grad: torch.Tensor, mask: torch.Tensor, sizes: list[int]) -> Any:
    if broadcast((grad, mask)) != tuple(grad.shape) or math.prod(sizes) == 0:
        return NotImplemented
    mask = aten.expand(mask, list(grad.shape))
    zeros = aten.new_zeros(grad, [math.prod(sizes)])
    found = aten.index_put(zeros, [places(mask)], aten.where(mask, grad, 0.0), True)
    return aten.reshape(found, sizes)


def places(mask: torch.Tensor) -> torch.Tensor:
    """For each true element, the number of true elements before it; 0 for the other elements."""
    rank = mask.dim()
    while rank > 0 and mask.stride(rank - 1) == 0:
        rank -= 1
    width = math.prod(mask.shape[rank:])
    once = mask
    for dim in range(rank, mask.dim()):
        once = aten.slice(once, dim, 0, 1)
    before = aten.sub(aten.cumsum(aten.reshape(once, [-1]), 0), 1)
    found = aten.where(once, aten.reshape(before, once.shape), 0)
    if width == 1:
        return aten.expand(found, list(mask.shape))
    within = aten.reshape(aten.arange(width, device=mask.device), mask.shape[rank:])
    return aten.where(mask, aten.add(aten.mul(found, width), within), 0)
