"""Our own forms of common operators, on float32 and float64 tensors.

    aten.silu(x)   ->   x * sigmoid(x)

The same as torch's rules in `torch._decomp`, which import sympy on the way: 0.4 s at the first compilation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload

aten = torch.ops.aten
Rewriting = Callable[..., Any]
WIDE = (torch.float32, torch.float64)
HALF = (torch.bfloat16, torch.float16)


class Own:
    """A body, the position of the tensor argument that decides whether it is taken, the dtypes that it is
    for, and whether it is also for tensors without dims or elements.
    """

    def __init__(
        self, body: Rewriting, probe: int, dtypes: tuple[torch.dtype, ...], any_size: bool = False
    ) -> None:
        self.body = body
        self.probe = probe
        self.dtypes = dtypes
        self.any_size = any_size

    def is_for(self, tensor: torch.Tensor) -> bool:
        return tensor.dtype in self.dtypes and (self.any_size or (tensor.numel() > 0 and tensor.dim() > 0))


OWN: dict[OpOverload, list[Own]] = {}


def rewriting(
    *ops: OpOverload, probe: int = 0, dtypes: tuple[torch.dtype, ...] = WIDE, any_size: bool = False
) -> Callable[[Rewriting], Rewriting]:
    def register(body: Rewriting) -> Rewriting:
        for op in ops:
            OWN.setdefault(op, []).append(Own(body, probe, dtypes, any_size))
        return body

    return register


def specialised(owns: list[Own], general: Rewriting) -> Rewriting:
    """The first of our bodies that is for the probed tensor and does not decline; torch's rule elsewhere."""

    @functools.wraps(owns[0].body)
    def rewrite(*args: Any, **kwargs: Any) -> Any:
        for own in owns:
            if own.is_for(args[own.probe]):
                result = own.body(*args, **kwargs)
                if result is not NotImplemented:
                    return result
        return general(*args, **kwargs)

    return rewrite


def row_major(tensor: torch.Tensor) -> torch.Tensor:
    """Eager's kernels for rows give row-major results whatever the layout of the operand."""
    return tensor if tensor.is_contiguous() else aten.clone(tensor, memory_format=torch.contiguous_format)


def in_rows(tensor: torch.Tensor, dim: int) -> torch.Tensor:
    """`tensor`, of which rows along `dim` are to be read several times, without jumps from element to element
    where the result has such rows.
    """
    last = tensor.dim() - 1
    across = dim % tensor.dim() == last and tensor.shape[last] != 1 and tensor.stride(last) not in (0, 1)
    return row_major(tensor) if across else tensor


# --- softmax, normalisation -------------------------------------------------------------------------------


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
    product = aten.mul(grad, output)
    return row_major(aten.sub(product, aten.mul(output, aten.sum(product, [dim], True))))


@rewriting(aten._log_softmax_backward_data.default)
def log_softmax_backward(grad: torch.Tensor, output: torch.Tensor, dim: int, input_dtype: torch.dtype) -> Any:
    if input_dtype is not grad.dtype:
        return NotImplemented
    return row_major(aten.sub(grad, aten.mul(aten.exp(output), aten.sum(grad, [dim], True))))


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
    if bias is not None:
        out = aten.add(out, bias)
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
        product = aten.mul(grad, normalized)
        for_weight = aten.sum(product, batch_dims) if batch_dims else product
    if output_mask[2] and bias is not None:
        for_bias = aten.sum(grad, batch_dims) if batch_dims else aten.clone(grad)
    return for_tensor, for_weight, for_bias


# --- losses -----------------------------------------------------------------------------------------------


@rewriting(aten.nll_loss_forward.default)
def nll_loss_forward(
    scores: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, reduction: int, ignore_index: int
) -> tuple[torch.Tensor, torch.Tensor]:
    if weight is not None or scores.dim() != 2 or target.dim() != 1 or target.shape[0] != scores.shape[0]:
        return NotImplemented
    counts = aten.ne(target, ignore_index)
    picked = aten.gather(scores, 1, aten.unsqueeze(aten.where(counts, target, 0), 1))
    losses = aten.where(counts, aten.neg(aten.squeeze(picked, 1)), 0.0)
    if reduction == 0:
        return losses, aten.new_zeros(scores, [])
    total_weight = aten._to_copy(aten.sum(counts), dtype=scores.dtype)
    total = aten.sum(losses)
    return (aten.div(total, total_weight) if reduction == 1 else total), total_weight


@rewriting(aten.nll_loss_backward.default, probe=1)
def nll_loss_backward(
    grad: torch.Tensor,
    scores: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: torch.Tensor,
) -> torch.Tensor:
    if weight is not None or scores.dim() != 2:
        return NotImplemented
    if reduction == 1:
        grad = aten.div(grad, total_weight)
    column = aten.unsqueeze(target, 1)
    of_row = aten.neg(aten.unsqueeze(grad, 1) if reduction == 0 else grad)
    classes = aten.arange(scores.shape[1], dtype=torch.int64, device=scores.device)
    hit = aten.logical_and(aten.eq(classes, column), aten.ne(column, ignore_index))
    return aten.where(hit, of_row, 0.0)


MEAN = 1
REDUCTIONS: dict[int, Callable[[torch.Tensor], torch.Tensor]] = {
    0: lambda losses: losses,
    MEAN: aten.mean,
    2: aten.sum,
}


@rewriting(aten.mse_loss.default)
def mse_loss(tensor: torch.Tensor, target: torch.Tensor, reduction: int = 1) -> torch.Tensor:
    if target.dtype is not tensor.dtype:
        return NotImplemented
    return REDUCTIONS[reduction](aten.pow(aten.sub(tensor, target), 2))


@rewriting(aten.mse_loss_backward.default, probe=1)
def mse_loss_backward(
    grad: torch.Tensor, tensor: torch.Tensor, target: torch.Tensor, reduction: int
) -> torch.Tensor:
    if target.dtype is not tensor.dtype:
        return NotImplemented
    factor = 2.0 / tensor.numel() if reduction == 1 else 2.0
    return aten.mul(aten.mul(aten.sub(tensor, target), factor), grad)


# --- activations ------------------------------------------------------------------------------------------


@rewriting(aten.sgn.default)
def sgn(tensor: torch.Tensor) -> torch.Tensor:
    return aten.sign(tensor)


@rewriting(aten.silu.default)
def silu(tensor: torch.Tensor) -> torch.Tensor:
    return aten.mul(tensor, aten.sigmoid(tensor))


@rewriting(aten.silu_backward.default)
def silu_backward(grad: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    sigmoid = aten.sigmoid(tensor)
    return aten.mul(grad, aten.mul(sigmoid, aten.add(aten.mul(tensor, aten.rsub(sigmoid, 1)), 1)))


@rewriting(aten.leaky_relu.default)
def leaky_relu(tensor: torch.Tensor, negative_slope: float = 0.01) -> torch.Tensor:
    return aten.where(aten.gt(tensor, 0), tensor, aten.mul(tensor, negative_slope))


@rewriting(aten.leaky_relu_backward.default)
def leaky_relu_backward(
    grad: torch.Tensor, tensor: torch.Tensor, negative_slope: float, is_result: bool
) -> torch.Tensor:
    return aten.where(aten.gt(tensor, 0), grad, aten.mul(grad, negative_slope))


@rewriting(aten.rrelu_with_noise.default, dtypes=WIDE + HALF, any_size=True)
def rrelu_with_noise(
    tensor: torch.Tensor,
    noise: torch.Tensor,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Any:
    """Without noise where nothing is trained."""
    return NotImplemented if training else row_major(aten.leaky_relu(tensor, (lower + upper) / 2))
