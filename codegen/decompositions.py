"""Which ATen operators are rewritten into simpler ones while tracing, and by what.

    aten.native_layer_norm(x, ...)   ->   var_mean, sub, add, rsqrt, mul, ...

Rewritten: what lowering fuses better in pieces (normalisations, losses, activations and their backward). Left whole: products of matrices,
convolutions, pooling, embedding, indexing, scans, sorts, and whatever draws random numbers (the generator has to be asked for the same
numbers in the same order as in eager). The rules are torch's own (`torch._decomp`), but for a few common operators where those import sympy
(0.3 s) on the way: these are written here, for float32 and float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload

aten = torch.ops.aten

REWRITTEN = """
    native_layer_norm native_layer_norm_backward native_group_norm native_group_norm_backward native_batch_norm
    _native_batch_norm_legit _native_batch_norm_legit.no_stats native_batch_norm_backward _softmax
    _softmax_backward_data _log_softmax _log_softmax_backward_data logsumexp nll_loss_forward nll_loss_backward
    nll_loss2d_forward nll_loss2d_backward mse_loss mse_loss_backward smooth_l1_loss smooth_l1_loss_backward
    huber_loss huber_loss_backward binary_cross_entropy binary_cross_entropy_backward binary_cross_entropy_with_logits
    soft_margin_loss soft_margin_loss_backward gelu gelu_backward silu silu_backward mish mish_backward elu
    elu_backward celu selu leaky_relu leaky_relu_backward hardtanh hardtanh_backward hardswish hardswish_backward
    hardsigmoid hardsigmoid_backward softplus softplus_backward log_sigmoid_forward log_sigmoid_backward glu
    glu_backward hardshrink softshrink relu6 _prelu_kernel _prelu_kernel_backward frac sinc xlogy.Tensor sgn logit
    logit_backward nan_to_num trace norm.Scalar norm.ScalarOpt_dim native_dropout_backward select_backward
    slice_backward diagonal_backward unfold_backward addmv addr std_mean.correction linalg_vector_norm vdot
""".split()

def overload_named(name: str) -> OpOverload:
    packet, _, overload = name.partition(".")
    return getattr(getattr(aten, packet), overload or "default")


TABLE: dict[OpOverload, Callable[..., Any]] = {
    op: torch._decomp.decomposition_table[op] for op in map(overload_named, REWRITTEN)
}

Rewriting = Callable[..., Any]
WIDE = (torch.float32, torch.float64)


def rewriting(op: OpOverload) -> Callable[[Rewriting], Rewriting]:
    """Take this body where the first tensor is of a WIDE dtype and has dims and elements, torch's rule elsewhere."""
    general = TABLE[op]

    def register(body: Rewriting) -> Rewriting:
        def rewrite(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            usual = tensor.dtype in WIDE and tensor.numel() > 0 and tensor.dim() > 0
            return (body if usual else general)(tensor, *args, **kwargs)

        TABLE[op] = rewrite
        return body

    return register


@rewriting(aten._softmax.default)
def softmax(tensor: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
    exponentials = aten.exp(aten.sub(tensor, aten.amax(tensor, [dim], True)))
    return row_major(aten.div(exponentials, aten.sum(exponentials, [dim], True)))


@rewriting(aten._log_softmax.default)
def log_softmax(tensor: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
    shifted = aten.sub(tensor, aten.amax(tensor, [dim], True))
    return row_major(aten.sub(shifted, aten.log(aten.sum(aten.exp(shifted), [dim], True))))


def row_major(tensor: torch.Tensor) -> torch.Tensor:
    """Eager's kernels give row-major results whatever the layout of the operand."""
    return tensor if tensor.is_contiguous() else aten.clone(tensor, memory_format=torch.contiguous_format)


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
        raise RuntimeError(f"layer_norm over {list(normalized_shape)} of a tensor of size {list(tensor.shape)}")
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


@rewriting(aten.nll_loss_forward.default)
def nll_loss_forward(
    scores: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, reduction: int, ignore_index: int
) -> tuple[torch.Tensor, torch.Tensor]:
    if weight is not None or scores.dim() != 2 or target.dim() != 1 or target.shape[0] != scores.shape[0]:
        return torch._decomp.decomposition_table[aten.nll_loss_forward.default](scores, target, weight, reduction, ignore_index)
    counts = aten.ne(target, ignore_index)
    picked = aten.gather(scores, 1, aten.unsqueeze(aten.where(counts, target, 0), 1))
    losses = aten.where(counts, aten.neg(aten.squeeze(picked, 1)), 0.0)
    if reduction == 0:
        return losses, aten.new_zeros(scores, [])
    total_weight = aten._to_copy(aten.sum(counts), dtype=scores.dtype)
    total = aten.sum(losses)
    return (aten.div(total, total_weight) if reduction == 1 else total), total_weight
