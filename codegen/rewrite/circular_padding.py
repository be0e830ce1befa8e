"""Circular padding as a concatenation of pieces.

In:  the arguments of `torch.nn.functional.pad`, on fake tensors.
Out: for mode "circular" the result of torch, with each element written once.

    pad(x, (1, 2), "circular")   ->   cat([x[..., -1:], x, x[..., :2]], -1)

torch itself fills an empty tensor part by part, and reads the later parts out of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch.autograd import forward_ad

from codegen.kernel.index_algebra import row_major
from codegen.rewrite.rows import replacing

MOST_DIMS = 2  # each dim has up to three pieces


class WithGradientInRows(torch.autograd.Function):
    """The same tensor. Its gradient is row-major, as that of a tensor which is filled part by part."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.alias.default(tensor)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return grads[0].contiguous()


#: skips `torch.autograd.Function.apply`, whose checks are for functorch
with_gradient_in_rows = super(torch.autograd.Function, WithGradientInRows).apply


@replacing(F.pad, torch._C._nn.pad)
def padded(input: torch.Tensor, pad: Sequence[Any], mode: str = "constant", value: Any = None) -> Any:
    """`torch.nn.functional.pad(input, pad, mode, value)`"""
    if mode != "circular" or value is not None or not _fits(input, pad):
        return NotImplemented
    result = input.contiguous()
    if result.requires_grad and torch.is_grad_enabled() and forward_ad._current_level < 0:
        result = with_gradient_in_rows(result)
    for pair in range(len(pad) // 2):
        result = _around(result, input.dim() - 1 - pair, pad[2 * pair], pad[2 * pair + 1])
    return result


def _fits(tensor: torch.Tensor, sizes: Sequence[Any]) -> bool:
    """Whether torch accepts the arguments and crops nothing; torch has its own rules and errors for that."""
    dims = len(sizes) // 2
    if len(sizes) % 2 or not 0 < dims <= MOST_DIMS or tensor.dim() != dims + 2:
        return False
    numbers = [*tensor.shape, *sizes]
    if not all(type(number) is int for number in numbers) or tensor.numel() == 0 or not any(sizes):
        return False
    # A dim of size 1 can give a contiguous tensor the strides of channels_last; the concatenation would keep
    # these.
    rows = not tensor.is_contiguous() or tensor.stride() == tuple(row_major(tuple(tensor.shape)))
    return rows and all(0 <= size <= tensor.shape[-1 - position // 2] for position, size in enumerate(sizes))


def _around(tensor: torch.Tensor, dim: int, before: int, behind: int) -> torch.Tensor:
    length = tensor.shape[dim]
    parts = [tensor.narrow(dim, length - before, before), tensor, tensor.narrow(dim, 0, behind)]
    parts = [part for part in parts if part.shape[dim]]
    return torch.cat(parts, dim) if len(parts) > 1 else tensor
