"""Operators on bfloat16 and float16 that round where eager's kernels round.

In:  a call of such an operator on tensors of half precision.
Out: simpler operators that round at the same places.

    linalg_cross(a, b)   ->   mul, mul, sub, each rounded to half precision
                              (torch's rule rounds once, at the end)

Eager computes most operators on half precision in float32 and rounds the result. The operators here are the
exceptions: some kernels compute every step in half precision, others compute in float32 from intermediate
results that they have rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from codegen.rewrite.losses import MEAN, REDUCTIONS
from codegen.rewrite.norms import NO_BIAS, no_bias
from codegen.rewrite.rows import HALF, WIDE, in_rows, rewriting, row_major, to

aten = torch.ops.aten
FLOATS = WIDE + HALF


def rounded(number: float, dtype: torch.dtype) -> float:
    """A number as eager passes it to a kernel of that dtype."""
    return torch.tensor(number, dtype=dtype, device="cpu").item() if dtype in HALF else number


# --- every step in half precision -------------------------------------------------------------------------


@rewriting(aten.linalg_cross.default, dtypes=HALF)
def linalg_cross(left: torch.Tensor, right: torch.Tensor, *, dim: int = -1) -> Any:
    if left.dtype is not right.dtype or left.shape != right.shape:
        return NotImplemented
    after, before = ([1, 2, 0], [2, 0, 1])

    def turned(tensor: torch.Tensor, order: list[int]) -> torch.Tensor:
        return aten.cat([aten.slice(tensor, dim, i, i + 1) for i in order], dim)

    return aten.sub(
        aten.mul(turned(left, after), turned(right, before)),
        aten.mul(turned(left, before), turned(right, after)),
    )


def fits(tensor: torch.Tensor, shape: tuple[int, ...]) -> bool:
    """Whether the tensor can be expanded to that shape."""
    short = len(shape) - tensor.dim()
    return short >= 0 and all(have in (1, want) for have, want in zip(tensor.shape, shape[short:]))


@rewriting(aten.addr.default, dtypes=HALF, any_size=True)
def addr(
    base: torch.Tensor, left: torch.Tensor, right: torch.Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    if not base.dtype is left.dtype is right.dtype or not fits(base, (left.numel(), right.numel())):
        return NotImplemented
    column = aten.unsqueeze(left if alpha == 1 else aten.mul(left, rounded(alpha, base.dtype)), 1)
    product = aten.mul(column, right)
    if beta == 0:
        return product
    return aten.add(base if beta == 1 else aten.mul(base, rounded(beta, base.dtype)), product)


@rewriting(aten.xlogy.Tensor, dtypes=HALF, any_size=True)
def xlogy(left: torch.Tensor, right: torch.Tensor) -> Any:
    return unless_zero(left, right, aten.log)


@rewriting(aten.special_xlog1py.default, dtypes=HALF, any_size=True)
def xlog1py(left: torch.Tensor, right: torch.Tensor) -> Any:
    return unless_zero(left, right, aten.log1p)


def unless_zero(left: torch.Tensor, right: torch.Tensor, logarithm: Callable[[torch.Tensor], Any]) -> Any:
    """`left * logarithm(right)`; zero where `left` is zero and `right` is not NaN."""
    if left.dtype is not right.dtype:
        return NotImplemented
    product = aten.mul(left, logarithm(right))
    return aten.where(
        aten.isnan(right), right, aten.where(aten.eq(left, 0), aten.zeros_like(product), product)
    )


@rewriting(aten.logit.default, dtypes=FLOATS)
def logit(tensor: torch.Tensor, eps: float | None = None) -> torch.Tensor:
    if eps is not None:
        low = rounded(eps, tensor.dtype)
        high = rounded(1 - low, tensor.dtype)
        tensor = aten.where(aten.lt(tensor, low), low, tensor)
        tensor = aten.where(aten.gt(tensor, high), high, tensor)
    return aten.log(aten.div(tensor, aten.rsub(tensor, 1)))


@rewriting(aten.soft_margin_loss.default, dtypes=HALF)
def soft_margin_loss(tensor: torch.Tensor, target: torch.Tensor, reduction: int = 1) -> Any:
    if target.dtype is not tensor.dtype:
        return NotImplemented
    return REDUCTIONS[reduction](aten.log1p(aten.exp(aten.mul(aten.neg(tensor), target))))


@rewriting(aten.soft_margin_loss_backward.default, dtypes=HALF, probe=1)
def soft_margin_loss_backward(
    grad: torch.Tensor, tensor: torch.Tensor, target: torch.Tensor, reduction: int
) -> Any:
    if not grad.dtype is tensor.dtype is target.dtype:
        return NotImplemented
    norm = 1 / tensor.numel() if reduction == MEAN else 1.0
    power = aten.exp(aten.mul(aten.neg(target), tensor))
    return aten.mul(aten.div(aten.mul(aten.mul(target, power), -norm), aten.add(power, 1)), grad)


@rewriting(aten._log_softmax.default, dtypes=HALF)
def log_softmax(tensor: torch.Tensor, dim: int, half_to_float: bool) -> Any:
    """The log softmax of rows: the sum of the exponentials and its logarithm are each rounded."""
    if half_to_float or dim % tensor.dim() != tensor.dim() - 1:
        return NotImplemented
    wide = to(in_rows(tensor, dim), torch.float32)
    shifted = aten.sub(wide, aten.amax(wide, [dim], True))
    total = to(aten.sum(aten.exp(shifted), [dim], True), tensor.dtype)
    return row_major(to(aten.sub(shifted, aten.log(total)), tensor.dtype))


@rewriting(aten.native_layer_norm.default, dtypes=HALF)
def native_layer_norm(
    tensor: torch.Tensor,
    normalized_shape: list[int],
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    eps: float,
) -> Any:
    if bias is not None:
        return NotImplemented
    general = torch._decomp.decomposition_table[aten.native_layer_norm.default]
    return general(tensor, normalized_shape, weight, no_bias(tensor, normalized_shape), eps)


# --- batch norm: it computes in float32 from statistics that were rounded to their own dtype --------------


def kept_dtype(tensor: torch.Tensor, *parameters: torch.Tensor | None) -> torch.dtype:
    wide = any(p is not None and p.dtype is torch.float32 for p in parameters)
    return torch.float32 if wide else tensor.dtype


def of_channel(tensor: torch.Tensor, rank: int) -> torch.Tensor:
    """One number for each channel, in a form that broadcasts over tensors of that rank."""
    return aten.reshape(tensor, [1, -1, *[1] * (rank - 2)])


@rewriting(aten.native_batch_norm.default, aten._native_batch_norm_legit.default, dtypes=HALF)
def native_batch_norm(
    tensor: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    wide, kept = to(tensor, torch.float32), kept_dtype(tensor, weight, bias, running_mean, running_var)
    if training:
        variance, mean = aten.var_mean(wide, [d for d in range(tensor.dim()) if d != 1], correction=0)
        count = tensor.numel() // tensor.shape[1]
        squares = aten.mul(variance, count)
        if tensor.dtype is torch.bfloat16:  # eager keeps sums in bfloat16, but not in float16
            squares, mean = to(squares, kept), to(mean, kept)
            variance = to(aten.div(squares, count), torch.float32)
        update(running_mean, mean, momentum)
        update(running_var, aten.div(squares, max(count - 1, 1)), momentum)
        save_mean, save_invstd = to(mean, kept), to(aten.rsqrt(aten.add(variance, eps)), kept)
        mean, invstd = to(save_mean, torch.float32), to(save_invstd, torch.float32)
    else:
        assert running_mean is not None and running_var is not None, "batch norm in evaluation has statistics"
        save_mean, save_invstd = (aten.new_zeros(tensor, [0], dtype=kept) for _ in range(2))
        mean = to(running_mean, torch.float32)
        invstd = aten.reciprocal(aten.sqrt(aten.add(to(running_var, torch.float32), eps)))
    out = aten.mul(aten.sub(wide, of_channel(mean, wide.dim())), of_channel(invstd, wide.dim()))
    if weight is not None:
        out = aten.mul(out, of_channel(to(weight, torch.float32), wide.dim()))
    out = aten.add(out, NO_BIAS if bias is None else of_channel(to(bias, torch.float32), wide.dim()))
    return to(out, tensor.dtype), save_mean, save_invstd


def update(running: torch.Tensor | None, new: torch.Tensor, momentum: float) -> None:
    if running is not None:
        wide = to(running, torch.float32), to(new, torch.float32)
        moved = aten.add(aten.mul(wide[1], momentum), aten.mul(wide[0], 1 - momentum))
        aten.copy_(running, moved)


@rewriting(aten._native_batch_norm_legit.no_stats, dtypes=HALF)
def native_batch_norm_without_statistics(
    tensor: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return native_batch_norm(tensor, weight, bias, None, None, True, momentum, eps)


@rewriting(aten.native_batch_norm_backward.default, dtypes=HALF)
def native_batch_norm_backward(
    grad: torch.Tensor, tensor: torch.Tensor, weight: torch.Tensor | None, *rest: Any
) -> tuple[torch.Tensor | None, ...]:
    """torch's rule on the tensors widened to float32."""
    *statistics, train, eps, mask = rest
    wide = [to(value, torch.float32) for value in (grad, tensor, weight, *statistics)]
    general = torch._decomp.decomposition_table[aten.native_batch_norm_backward.default]
    results = general(*wide, train, eps, mask)
    kept = kept_dtype(tensor, weight, *statistics)
    return tuple(to(result, dtype) for result, dtype in zip(results, (tensor.dtype, kept, kept), strict=True))
