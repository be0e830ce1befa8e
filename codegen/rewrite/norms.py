"""Batch normalisation of float32 and float64 tensors.

    mean, var over all dims but the channels;  (x - mean) * rsqrt(var + eps) * weight + bias;  running =
        momentum * new + (1 - momentum) * running

The same operators as torch's rules in `torch._decomp` give, called directly: those take 4 ms a layer, in nets
that have a hundred of them. Tensors of several dtypes, and sizes that are symbols, are left to torch's rules.
"""

from __future__ import annotations

from typing import Any

import torch

from codegen.rewrite.rewritings import rewriting

aten = torch.ops.aten
Maybe = torch.Tensor | None


def _is_plain(tensor: torch.Tensor, *others: Maybe) -> bool:
    """Of one dtype, with sizes that are numbers; more than one element for each channel."""
    if tensor.dim() < 2 or any(type(size) is not int for size in tensor.shape):
        return False
    alike = all(
        other is None or (other.dtype is tensor.dtype and other.shape == tensor.shape[1:2])
        for other in others
    )
    return alike and tensor.numel() > tensor.shape[1]


def _beside(of_channels: torch.Tensor, rank: int) -> torch.Tensor:
    """One number for each channel, beside tensors of that rank."""
    for _ in range(rank - 2):
        of_channels = aten.unsqueeze(of_channels, -1)
    return of_channels


def _update(running: Maybe, new: torch.Tensor, momentum: float) -> None:
    if running is not None:
        moved = aten.add(aten.mul(new, momentum), aten.mul(running, 1 - momentum))
        aten.copy_(running, moved)


@rewriting(aten.native_batch_norm.default, aten._native_batch_norm_legit.default)
def native_batch_norm(
    tensor: torch.Tensor,
    weight: Maybe,
    bias: Maybe,
    running_mean: Maybe,
    running_var: Maybe,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    if not _is_plain(tensor, weight, bias, running_mean, running_var):
        return NotImplemented
    rank = tensor.dim()
    if training:
        dims = [0, *range(2, rank)]
        variance, mean = aten.var_mean(tensor, dims, correction=0, keepdim=True)
        rstd = aten.rsqrt(aten.add(variance, eps))
        save_mean, save_rstd = aten.squeeze(mean, dims), aten.squeeze(rstd, dims)
        _update(running_mean, save_mean, momentum)
        if running_var is not None:
            count = tensor.numel() / tensor.shape[1]
            unbiased = aten.mul(aten.squeeze(variance, dims), count / (count - 1))
            _update(running_var, unbiased, momentum)
        out = aten.mul(aten.sub(tensor, mean), rstd)
    else:
        if running_mean is None or running_var is None:
            return NotImplemented
        save_mean, save_rstd = aten.new_zeros(tensor, [0]), aten.new_zeros(tensor, [0])
        invstd = aten.reciprocal(aten.sqrt(aten.add(running_var, eps)))
        out = aten.mul(aten.sub(tensor, _beside(running_mean, rank)), _beside(invstd, rank))
    if weight is not None:
        out = aten.mul(out, _beside(weight, rank))
    if bias is not None:
        out = aten.add(out, _beside(bias, rank))
    return out, save_mean, save_rstd


@rewriting(aten._native_batch_norm_legit.no_stats)
def native_batch_norm_without_statistics(
    tensor: torch.Tensor, weight: Maybe, bias: Maybe, training: bool, momentum: float, eps: float
) -> Any:
    return native_batch_norm(tensor, weight, bias, None, None, training, momentum, eps)


@rewriting(aten.native_batch_norm_backward.default)
def native_batch_norm_backward(
    grad: torch.Tensor,
    tensor: torch.Tensor,
    weight: Maybe,
    running_mean: Maybe,
    running_var: Maybe,
    save_mean: Maybe,
    save_invstd: Maybe,
    train: bool,
    eps: float,
    output_mask: list[bool],
) -> Any:
    mean, invstd = (save_mean, save_invstd) if train else (running_mean, running_var)
    if mean is None or invstd is None or not _is_plain(tensor, weight, mean, invstd):
        return NotImplemented
    if grad.dtype is not tensor.dtype:
        return NotImplemented
    if not train:
        invstd = aten.rsqrt(aten.add(invstd, eps))
    rank = tensor.dim()
    dims = [0, *range(2, rank)]
    norm = 1.0 / (tensor.numel() / tensor.shape[1])
    centred = aten.sub(tensor, _beside(mean, rank))
    grad_sum = aten.sum(grad, dims)
    projection = aten.sum(aten.mul(grad, centred), dims)
    scale = _beside(invstd if weight is None else aten.mul(invstd, weight), rank)
    if train:
        slope = aten.mul(aten.mul(projection, norm), aten.mul(invstd, invstd))
        rest = aten.sub(grad, aten.mul(centred, _beside(slope, rank)))
        grad_tensor = aten.mul(aten.sub(rest, _beside(aten.mul(grad_sum, norm), rank)), scale)
    else:
        grad_tensor = aten.mul(grad, scale)
    return (
        grad_tensor,
        aten.mul(projection, invstd) if output_mask[1] else None,
        grad_sum if output_mask[2] else None,
    )
