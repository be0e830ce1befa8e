"""Matrix products in the forms that BLAS has.

In:  a matrix product with a base or factors, or without elements.
Out: plain matrix products, and elementwise operators around them.

    baddbmm(x, a, b, beta=0.5, alpha=2)   ->   x * 0.5 + bmm(a, b) * 2
    addbmm(x, a, b)   ->   addmm(x, the matrices of a side by side, the matrices of b one below the other)
"""

from __future__ import annotations

from typing import Any

import torch

from codegen.rewrite.rows import rewriting

aten = torch.ops.aten


def is_empty(*tensors: torch.Tensor) -> bool:
    """Whether one of the tensors has no elements. A tensor with symbolic sizes has some."""
    return any(type(size) is int and size == 0 for tensor in tensors for size in tensor.shape)


def scaled(tensor: torch.Tensor, factor: Any) -> torch.Tensor:
    return tensor if factor == 1 else aten.mul(tensor, factor)


def added(base: torch.Tensor, product: torch.Tensor, beta: Any, alpha: Any) -> torch.Tensor:
    """Where beta is 0 the base is not read: a NaN in it does not count."""
    product = scaled(product, alpha)
    return product if beta == 0 else aten.add(scaled(base, beta), product)


def of_nothing(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """A product without elements, or zeros where only the inner dim is 0.

    It is computed from both factors, because the backward has to find the way from each of them to the
    result.
    """
    return aten.sum(aten.mul(aten.unsqueeze(left, -1), aten.unsqueeze(right, -3)), [-2])


@rewriting(aten.mm.default, any_size=True)
def mm(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    fits = left.dim() == right.dim() == 2 and left.shape[1] == right.shape[0] and left.dtype is right.dtype
    if not fits or not is_empty(left, right):
        return NotImplemented
    return of_nothing(left, right)


@rewriting(aten.addmm.default, probe=1, any_size=True)
def addmm(
    base: torch.Tensor, left: torch.Tensor, right: torch.Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    product = mm(left, right) if base.dtype is left.dtype else NotImplemented
    if product is NotImplemented:
        return NotImplemented
    return added(aten.expand(base, list(product.shape)), product, beta, alpha)


@rewriting(aten.bmm.default, any_size=True)
def bmm(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    fits = left.dim() == right.dim() == 3 and left.dtype is right.dtype and left.shape[0] == right.shape[0]
    if not fits or left.shape[2] != right.shape[1] or not is_empty(left, right):
        return NotImplemented
    return of_nothing(left, right)


@rewriting(aten.baddbmm.default, probe=1, any_size=True)
def baddbmm(
    base: torch.Tensor, left: torch.Tensor, right: torch.Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    if not base.dtype is left.dtype is right.dtype:
        return NotImplemented
    product = aten.bmm(left, right)
    return added(aten.expand(base, list(product.shape)), product, beta, alpha)


@rewriting(aten.addbmm.default, probe=1, any_size=True)
def addbmm(
    base: torch.Tensor, left: torch.Tensor, right: torch.Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    """One product, whose inner dim joins the inner dims of all matrices."""
    if not base.dtype is left.dtype is right.dtype or left.dim() != 3 or right.dim() != 3:
        return NotImplemented
    count, rows, inner = left.shape
    if right.shape[:2] != (count, inner):
        return NotImplemented
    beside = aten.view(
        aten.clone(aten.permute(left, [1, 0, 2]), memory_format=torch.contiguous_format),
        [rows, count * inner],
    )
    below = aten.reshape(right, [count * inner, right.shape[2]])
    product = aten.mm(beside, below)
    return added(aten.expand(base, list(product.shape)), product, beta, alpha)
