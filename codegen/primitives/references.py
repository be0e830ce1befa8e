"""Operators of which torch has the primitives, but no reference in its table.

In:  a call of such an operator.
Out: calls of simpler operators.

    constant_pad_nd(x, [1, 2], 0)   ->   cat([full([1], 0), x, full([2], 0)])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch._prims_common import make_contiguous_strides_for

aten, prims = torch.ops.aten, torch.ops.prims


def copy(tensor: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """The contents of `source` in a new tensor like `tensor`."""
    if (tensor.shape, tensor.stride()) == (source.shape, source.stride()):
        same = tensor.dtype == source.dtype
        return prims.clone(source) if same else prims.convert_element_type(source, tensor.dtype)
    place = prims.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device, requires_grad=False
    )
    return prims.copy_to(place, aten.expand(source, tensor.shape))


def copy_(tensor: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    return prims.copy_to(tensor, aten.expand(source, tensor.shape))


def empty(
    size: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
    memory_format: torch.memory_format | None = None,
    **options: Any,
) -> torch.Tensor:
    if memory_format not in (None, torch.contiguous_format):
        raise NotImplementedError(f"empty with memory_format={memory_format}")
    return prims.empty_strided(
        size,
        make_contiguous_strides_for(tuple(size)),
        dtype=dtype or torch.get_default_dtype(),
        device=device or torch.get_default_device(),
        requires_grad=False,
    )


def scalar_tensor(
    number: Any, *, dtype: torch.dtype | None = None, device: torch.device | None = None, **options: Any
) -> torch.Tensor:
    return prims.scalar_tensor(
        number, dtype=dtype or torch.get_default_dtype(), device=device or torch.get_default_device()
    )


def empty_permuted(
    size: Sequence[int],
    physical_layout: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
    **options: Any,
) -> torch.Tensor:
    return prims.empty_permuted(
        size,
        physical_layout,
        dtype=dtype or torch.get_default_dtype(),
        device=device or torch.get_default_device(),
        requires_grad=False,
    )


def constant_pad_nd(tensor: torch.Tensor, pad: Sequence[int], value: float = 0) -> torch.Tensor:
    """torch's reference writes through slices, which are views that no compiler follows."""
    for i, (before, after) in enumerate(zip(pad[::2], pad[1::2])):
        dim = tensor.dim() - 1 - i
        end = tensor.shape[dim] - max(-after, 0)
        if before < 0 or after < 0:
            tensor = aten.slice.Tensor(tensor, dim, max(-before, 0), end)
        parts = [margin(tensor, dim, before, value), tensor, margin(tensor, dim, after, value)]
        tensor = aten.cat([part for part in parts if part is not None], dim)
    return tensor


def margin(tensor: torch.Tensor, dim: int, count: int, value: float) -> torch.Tensor | None:
    shape = [*tensor.shape[:dim], count, *tensor.shape[dim + 1 :]]
    return aten.full(shape, value, dtype=tensor.dtype, device=tensor.device) if count > 0 else None


def fft_r2c(tensor: torch.Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> torch.Tensor:
    result = prims.fft_r2c(tensor, dim=dim, onesided=onesided)
    return scaled(result, [tensor.shape[d] for d in dim], normalization)


def fft_c2c(tensor: torch.Tensor, dim: Sequence[int], normalization: int, forward: bool) -> torch.Tensor:
    result = prims.fft_c2c(tensor, dim=dim, forward=forward)
    return scaled(result, [tensor.shape[d] for d in dim], normalization)


def fft_c2r(tensor: torch.Tensor, dim: Sequence[int], normalization: int, last_dim_size: int) -> torch.Tensor:
    result = prims.fft_c2r(tensor, dim=dim, last_dim_size=last_dim_size)
    return scaled(result, [result.shape[d] for d in dim], normalization)


def scaled(spectrum: torch.Tensor, sizes: Sequence[int], normalization: int) -> torch.Tensor:
    """The primitives compute sums. Normalization 1 divides by the root of the number of terms, 2 by it."""
    exponent = {0: 0.0, 1: -0.5, 2: -1.0}[normalization]
    return prims.mul(spectrum, math.prod(sizes) ** exponent) if exponent else spectrum


REFERENCES: dict[OpOverload, Callable[..., Any]] = {
    aten.copy.default: copy,
    aten.copy_.default: copy_,
    aten.empty.memory_format: empty,
    aten.empty_permuted.default: empty_permuted,
    aten.constant_pad_nd.default: constant_pad_nd,
    aten._fft_r2c.default: fft_r2c,
    aten._fft_c2c.default: fft_c2c,
    aten._fft_c2r.default: fft_c2r,
    aten.full_like.default: torch._refs.full_like,
    aten.scalar_tensor.default: scalar_tensor,
}
