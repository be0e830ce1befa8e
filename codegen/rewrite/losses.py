"""Losses of float32 and float64 tensors.

In:  a call of a loss function, or of its backward.
Out: elementwise operators and reductions, as in torch's rules.

    mse_loss(x, y)   ->   mean((x - y) ** 2)

torch's own rules (`torch._decomp`) are for every dtype: each call promotes and converts.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from codegen.rewrite.rows import rewriting

aten = torch.ops.aten


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
