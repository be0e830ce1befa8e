"""Softmax, the length of a vector, and normalisations: of layers, batches and groups.

In:  a call of one of them, or of its backward.
Out: reductions and elementwise operators, as in torch's rules.

    vector_norm(x)  ->   sqrt(sum(x * x))
    softmax(x)      ->   e = exp(x - amax(x)); e / sum(e)
    layer_norm(x)   ->   var_mean over the last dims; (x - mean) * rsqrt(var + eps) * weight + bias
    batch_norm(x)   ->   mean, var over all dims but the channels;
                         (x - mean) * rsqrt(var + eps) * weight + bias;
                         running = momentum * new + (1 - momentum) * running

torch's own rules (`torch._decomp`) take 4 ms for each batch norm; some nets have a hundred of them. torch's
rules stay in use for tensors of several dtypes, and for batch norms with symbolic sizes.

group_norm(x) where the channels lie side by side in memory (channels_last):

    mean over (channels of a group, positions)   ->   sums of each channel over the positions, then the sums
                                                      of a group
    (x - mean) * rstd * weight + bias            ->   x * scale + offset, with one number for each channel

In this layout, a group is a few numbers out of each row of memory. A loop over one group would jump from row
to row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from codegen.rewrite.rows import HALF, WIDE, in_rows, rewriting, row_major, to

aten, prims = torch.ops.aten, torch.ops.prims
Maybe = torch.Tensor | None


# --- length of vectors -------------------------------------------------------------------------------------


@rewriting(aten.linalg_vector_norm.default)
def vector_norm(
    tensor: torch.Tensor,
    ord: float = 2,
    dim: list[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    """Of all elements, as in the clipping of gradients: torch's rule takes 0.3 ms for each parameter."""
    count = tensor.numel()  # the length of one number is its magnitude, even where its square overflows
    if ord != 2 or dim or keepdim or dtype is not None or type(count) is not int or count < 2:
        return NotImplemented
    return aten.sqrt(aten.sum(aten.mul(tensor, tensor)))


# --- softmax ----------------------------------------------------------------------------------------------


@rewriting(aten._softmax.default)
def softmax(tensor: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
    tensor = in_rows(tensor, dim)
    exponentials = aten.exp(aten.sub(tensor, aten.amax(tensor, [dim], True)))
    return row_major(aten.div(exponentials, aten.sum(exponentials, [dim], True)))


@rewriting(aten._log_softmax.default)
def log_softmax(tensor: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
    tensor = in_rows(tensor, dim)
    shifted = aten.sub(tensor, aten.amax(tensor, [dim], True))
    return row_major(aten.sub(shifted, aten.log(aten.sum(aten.exp(shifted), [dim], True))))


@rewriting(aten._softmax_backward_data.default)
def softmax_backward(grad: torch.Tensor, output: torch.Tensor, dim: int, input_dtype: torch.dtype) -> Any:
    if input_dtype is not grad.dtype:
        return NotImplemented
    total = aten.sum(aten.mul(grad, output), [dim], True)
    return row_major(aten.mul(aten.sub(grad, total), output))


@rewriting(aten._log_softmax_backward_data.default)
def log_softmax_backward(grad: torch.Tensor, output: torch.Tensor, dim: int, input_dtype: torch.dtype) -> Any:
    if input_dtype is not grad.dtype:
        return NotImplemented
    return row_major(aten.sub(grad, aten.mul(aten.exp(output), aten.sum(grad, [dim], True))))


# --- layers -----------------------------------------------------------------------------------------------

#: what eager adds where there is no bias: -0.0 becomes 0.0
NO_BIAS = 0.0


def no_bias(tensor: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """It for torch's rules, which add nothing without a bias."""
    return aten.new_full(tensor, shape, NO_BIAS)


@rewriting(aten.native_layer_norm.default)
def native_layer_norm(
    tensor: torch.Tensor,
    normalized_shape: list[int],
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    dims = list(range(tensor.dim() - len(normalized_shape), tensor.dim()))
    if [tensor.shape[dim] for dim in dims] != list(normalized_shape):
        raise RuntimeError(
            f"layer_norm over {list(normalized_shape)} of a tensor of size {list(tensor.shape)}"
        )
    tensor = in_rows(tensor, -1)
    variance, mean = aten.var_mean(tensor, dims, correction=0, keepdim=True)
    rstd = aten.rsqrt(aten.add(variance, eps))
    out = aten.mul(aten.sub(tensor, mean), rstd)
    if weight is not None:
        out = aten.mul(out, weight)
    out = aten.add(out, NO_BIAS if bias is None else bias)
    return row_major(out), mean, rstd


@rewriting(aten.native_layer_norm_backward.default)
def native_layer_norm_backward(
    grad: torch.Tensor,
    tensor: torch.Tensor,
    normalized_shape: list[int],
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    output_mask: list[bool],
) -> tuple[torch.Tensor | None, ...]:
    outer = tensor.dim() - len(normalized_shape)
    dims, batch_dims = list(range(outer, tensor.dim())), list(range(outer))
    normalized = aten.mul(aten.sub(tensor, mean), rstd)
    for_tensor = for_weight = for_bias = None
    if output_mask[0]:
        scaled = grad if weight is None else aten.mul(grad, weight)
        mean_of_scaled = aten.mean(scaled, dims, True)
        projection = aten.mul(normalized, aten.mean(aten.mul(scaled, normalized), dims, True))
        for_tensor = aten.mul(aten.sub(aten.sub(scaled, mean_of_scaled), projection), rstd)
    if output_mask[1] and weight is not None:
        for_weight = _sum_of_batch(aten.mul(grad, normalized), batch_dims)
    if output_mask[2] and bias is not None:
        for_bias = _sum_of_batch(grad, batch_dims)
    return for_tensor, for_weight, for_bias


def _sum_of_batch(tensor: torch.Tensor, dims: list[int]) -> torch.Tensor:
    return aten.sum(tensor, dims) if dims else aten.add(tensor, 0.0)  # a sum is never -0.0


# --- batches ----------------------------------------------------------------------------------------------


def _is_plain(tensor: torch.Tensor, *others: Maybe) -> bool:
    """All tensors have one dtype and sizes that are numbers; each channel has more than one element."""
    if tensor.dim() < 2 or any(type(size) is not int for size in tensor.shape):
        return False
    alike = all(
        other is None or (other.dtype is tensor.dtype and other.shape == tensor.shape[1:2])
        for other in others
    )
    return alike and tensor.numel() > tensor.shape[1]


def _beside(of_channels: torch.Tensor, rank: int) -> torch.Tensor:
    """One number for each channel, in a form that broadcasts over tensors of that rank."""
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
        if bias is not None:
            return NotImplemented
        general = torch._decomp.decomposition_table[aten._native_batch_norm_legit.default]
        zeros = no_bias(tensor, tensor.shape[1:2])
        return general(tensor, weight, zeros, running_mean, running_var, training, momentum, eps)
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
    out = aten.add(out, NO_BIAS if bias is None else _beside(bias, rank))
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


# --- groups, of tensors whose channels lie side by side ---------------------------------------------------


class _Groups:
    """The channels of a tensor: `batch` * `groups` * `each`."""

    def __init__(self, tensor: torch.Tensor, batch: int, channels: int, groups: int) -> None:
        self.batch, self.groups, self.each = batch, groups, channels // groups
        self.spatial = list(range(2, tensor.dim()))
        self.of_channels = [batch, channels, *[1] * len(self.spatial)]

    def sums(self, values: torch.Tensor) -> torch.Tensor:
        """The sums over the positions: (batch, groups, each)."""
        return aten.reshape(aten.sum(values, self.spatial), [self.batch, self.groups, self.each])

    def split(self, parameter: torch.Tensor) -> torch.Tensor:
        """One number for each channel, as (groups, each)."""
        return aten.reshape(parameter, [self.groups, self.each])

    def beside(self, values: torch.Tensor) -> torch.Tensor:
        """(batch, groups, each or 1) in a form that broadcasts over the tensor, stored in memory."""
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
