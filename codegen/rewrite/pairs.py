"""Operators over pairs: one element (or row) of the first operand, one of the second.

In:  a call of such an operator.
Out: sums over the pairs. The pairs are not stored: the sums take them as they are computed.

    cdist(x, y)    ->   sqrt(sum((x[:, None] - y[None]) ** 2, -1))
    isin(x, few)   ->   any(x[..., None] == few, -1)
"""

from __future__ import annotations

import math
from typing import Any

import torch

from codegen.rewrite.rows import rewriting
from codegen.rewrite.simple import NUMBERS

aten = torch.ops.aten
FEW = 16  # up to so many elements are compared; eager sorts longer lists
BY_PRODUCT = 25  # above so many rows eager computes distances by a matrix product


@rewriting(aten.isin.Tensor_Tensor, dtypes=NUMBERS, any_size=True)
def isin(
    elements: torch.Tensor, wanted: torch.Tensor, *, assume_unique: bool = False, invert: bool = False
) -> Any:
    count = wanted.numel()
    if not isinstance(count, int) or not 0 < count <= FEW or elements.dtype is not wanted.dtype:
        return NotImplemented
    equal = aten.eq(aten.unsqueeze(elements, -1), aten.reshape(wanted, [-1]))
    found = aten.any(equal, -1)
    return aten.logical_not(found) if invert else found


@rewriting(aten._euclidean_dist.default)
def euclidean_distance(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """|x|^2 - 2 x y + |y|^2 by one matrix product, as eager does; it is less exact than by differences."""
    left_norm, right_norm = (aten.sum(aten.mul(rows, rows), [-1], True) for rows in (left, right))
    beside = aten.cat([aten.mul(left, -2), left_norm, aten.ones_like(left_norm)], -1)
    below = aten.cat([right, aten.ones_like(right_norm), right_norm], -1)
    return aten.sqrt(aten.clamp_min(aten.matmul(beside, aten.transpose(below, -2, -1)), 0))


@rewriting(aten._cdist_forward.default)
def cdist(left: torch.Tensor, right: torch.Tensor, p: float, mode: int | None) -> Any:
    """Declines powers that are no whole numbers: eager's function is as fast as ours."""
    rows = max(left.shape[-2], right.shape[-2])
    if left.numel() == 0 or right.numel() == 0 or (p != math.inf and p != int(p)):
        return NotImplemented
    if p == 2 and (mode == 1 or (mode in (None, 0) and rows > BY_PRODUCT)):
        return aten._euclidean_dist(left, right)
    gap = aten.abs(gaps(left, right))
    if p == 0:
        return aten.sum(aten._to_copy(aten.ne(gap, 0), dtype=left.dtype), [-1])
    if p == 1:
        return aten.sum(gap, [-1])
    if p == 2:
        return aten.sqrt(aten.sum(aten.mul(gap, gap), [-1]))
    if p == math.inf:
        return aten.amax(gap, [-1])
    return aten.pow(aten.sum(aten.pow(gap, p), [-1]), 1 / p)


@rewriting(aten._cdist_backward.default)
def cdist_backward(
    grad: torch.Tensor, left: torch.Tensor, right: torch.Tensor, p: float, distances: torch.Tensor
) -> Any:
    if left.numel() == 0 or right.numel() == 0 or p < 1:
        return NotImplemented
    gap, grad, distances = gaps(left, right), aten.unsqueeze(grad, -1), aten.unsqueeze(distances, -1)
    if p == 1:
        return aten.sum(aten.mul(grad, aten.sgn(gap)), [-2])
    if p == math.inf:
        is_largest = aten.eq(aten.abs(gap), distances)
        return aten.sum(aten.where(is_largest, aten.mul(grad, aten.sgn(gap)), 0.0), [-2])
    if p == 2:
        factor, by = grad, distances
    else:
        factor = aten.mul(grad, aten.pow(aten.abs(gap), p - 2))
        by = aten.pow(distances, p - 1)
        factor = aten.where(aten.eq(gap, 0), 0.0, factor)
    factor = aten.where(aten.eq(distances, 0), 0.0, aten.div(factor, by))
    return aten.sum(aten.mul(factor, gap), [-2])


def gaps(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return aten.sub(aten.unsqueeze(left, -2), aten.unsqueeze(right, -3))
