"""Group normalisation of tensors whose channels lie side by side in memory (channels_last).

    mean over (channels of a group, positions)   ->   sums of each channel over the positions, then those of a
                                                      group
    (x - mean) * rstd * weight + bias            ->   x * scale + offset, numbers for each channel that lie
                                                      side by side, too

A group is a few numbers out of each row of memory: a loop over all of it, or one for each group, would jump
from row to row.
"""

from __future__ import annotations

from typing import Any

import torch

from codegen.rewrite.half import to
from codegen.rewrite.rewritings import HALF, WIDE, rewriting

aten, prims = torch.ops.aten, torch.ops.prims


class _Groups:
    """Of a tensor of `batch` * `groups` * `each` channels."""

    def __init__(self, tensor: torch.Tensor, batch: int, channels: int, groups: int) -> None:
        self.batch, self.groups, self.each = batch, groups, channels // groups
        self.spatial = list(range(2, tensor.dim()))
        self.of_channels = [batch, channels, *[1] * len(self.spatial)]

    def sums(self, values: torch.Tensor) -> torch.Tensor:
        """Over the positions: (batch, groups, each)."""
        return aten.reshape(aten.sum(values, self.spatial), [self.batch, self.groups, self.each])

    def split(self, parameter: torch.Tensor) -> torch.Tensor:
        """One number for each channel as (groups, each)."""
        return aten.reshape(parameter, [self.groups, self.each])

    def beside(self, values: torch.Tensor) -> torch.Tensor:
        """(batch, groups, each or 1) as they stand beside the tensor, in memory."""
        whole = aten.expand(values, [self.batch, self.groups, self.each])
        return prims.clone(aten.reshape(whole, self.of_channels))


def _channels_lie_side_by_side(tensor: torch.Tensor) -> bool:
    return tensor.dim() > 2 and tensor.stride(1) == 1 and not tensor.is_contiguous()


def _wide(*tensors: Any) -> list[Any]:
    return [
        to(tensor, torch.float32) if tensor is not None and tensor.dtype in HALF else tensor
        for tensor in tensors
    ]


@rewriting(aten.native_group_norm.default, dtypes=WIDE + HALF)
def native_group_norm(
    tensor: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    batch: int,
    channels: int,
    positions: int,
    groups: int,
    eps: float,
) -> tuple[torch.Tensor, ...]:
    if not _channels_lie_side_by_side(tensor):
        return NotImplemented
    channel = _Groups(tensor, batch, channels, groups)
    wide, weight, bias = _wide(tensor, weight, bias)
    count = channel.each * positions
    mean = aten.div(aten.sum(channel.sums(wide), [2], True), count)
    distance = aten.sub(wide, channel.beside(mean))
    squares = aten.sum(channel.sums(aten.mul(distance, distance)), [2], True)
    rstd = aten.rsqrt(aten.add(aten.div(squares, count), eps))
    scale = rstd if weight is None else aten.mul(rstd, channel.split(weight))
    offset = aten.neg(aten.mul(mean, scale))
    if bias is not None:
        offset = aten.add(offset, channel.split(bias))
    out = aten.add(aten.mul(wide, channel.beside(scale)), channel.beside(offset))
    return tuple(to(value, tensor.dtype) for value in (out, aten.squeeze(mean, 2), aten.squeeze(rstd, 2)))


@rewriting(aten.native_group_norm_backward.default, probe=1, dtypes=WIDE + HALF)
def native_group_norm_backward(
    grad: torch.Tensor,
    tensor: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: torch.Tensor | None,
    batch: int,
    channels: int,
    positions: int,
    groups: int,
    output_mask: list[bool],
) -> tuple[torch.Tensor | None, ...]:
    if not _channels_lie_side_by_side(tensor):
        return NotImplemented
    channel = _Groups(tensor, batch, channels, groups)
    given = (tensor.dtype, None if weight is None else weight.dtype)
    grad, tensor, mean, rstd, weight = _wide(grad, tensor, mean, rstd, weight)
    mean, rstd = aten.unsqueeze(mean, 2), aten.unsqueeze(rstd, 2)
    products, sums = channel.sums(aten.mul(grad, tensor)), channel.sums(grad)
    for_tensor = for_weight = for_bias = None
    if output_mask[0]:
        factor = 1.0 if weight is None else channel.split(weight)
        of_products, of_sums = (aten.sum(aten.mul(values, factor), [2], True) for values in (products, sums))
        count = channel.each * positions
        slope = aten.mul(aten.sub(aten.mul(of_sums, mean), of_products), aten.div(aten.pow(rstd, 3), count))
        offset = aten.neg(aten.add(aten.mul(slope, mean), aten.mul(of_sums, aten.div(rstd, count))))
        of_grad = aten.mul(grad, channel.beside(aten.mul(rstd, factor)))
        of_tensor = aten.add(aten.mul(tensor, channel.beside(slope)), channel.beside(offset))
        for_tensor = to(aten.add(of_grad, of_tensor), given[0])
    if output_mask[1] and given[1] is not None:
        each = aten.mul(aten.sub(products, aten.mul(sums, mean)), rstd)
        for_weight = to(aten.reshape(aten.sum(each, [0]), [channels]), given[1])
    if output_mask[2]:
        for_bias = to(aten.reshape(aten.sum(sums, [0]), [channels]), given[1] or given[0])
    return for_tensor, for_weight, for_bias
