"""Attention over short sequences, as products of matrices and a softmax.

In:  a call of the attention operator of the CPU, or of its backward.
Out: two batches of products (five in the backward), and elementwise operators between them that are one
     kernel.

    attention(q[16, 4, 32, 32], k, v)   ->   bmm(softmax(bmm(q, k.mT) / 32 ** 0.5), v)

The operator works through blocks of keys, so that it never holds all scores of a head (Dao et al.,
"FlashAttention", 2022). Where the scores are few, its blocks are small and its own work is most of its time:
the products take 0.5 to 0.9 of it. Sizes that are symbols stay with the operator: to compile the products
for them costs what they save in a thousand steps.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from codegen.rewrite.rows import rewriting

aten = torch.ops.aten

#: queries times keys of one head; more than FEW_SCORES only where all heads together stay in the second cache
FEW_SCORES, MOST_SCORES, CACHED_SCORES = 32 * 32, 64 * 64, 2**18


def _is_short(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dropout_p: float, mask: torch.Tensor | None
) -> bool:
    """Whether the scores of a head are known to be few. For a single query the operator is faster."""
    masks = () if mask is None else (mask,)
    sizes = (*query.shape, *key.shape, *value.shape)
    if query.dim() != 4 or not all(type(size) is int and size > 0 for size in sizes):
        return False
    batch, heads, queries, width = query.shape
    scores = queries * key.shape[2]
    return (
        queries > 1
        and scores <= MOST_SCORES
        and (scores <= FEW_SCORES or batch * heads * scores <= CACHED_SCORES)
        and key.shape == value.shape
        and key.shape[:2] == query.shape[:2]
        and key.shape[3] == width
        and all(tensor.dtype is query.dtype for tensor in (key, value, *masks))
        and dropout_p == 0
    )


def _heads(tensor: torch.Tensor) -> torch.Tensor:
    """[batch, heads, length, size] as [batch * heads, length, size]."""
    batch, heads, length, size = tensor.shape
    return aten.reshape(tensor, [batch * heads, length, size])


def _heads_inside(tensor: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """The shape of `like`; each head next to its elements, as the operator writes its results."""
    batch, heads, length, size = like.shape
    heads_first = aten.view(tensor, [batch, heads, length, size])
    return aten.transpose(_copied(aten.transpose(heads_first, 1, 2)), 1, 2)


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    return aten.clone(tensor, memory_format=torch.contiguous_format)


def _scores(
    query: torch.Tensor, key: torch.Tensor, is_causal: bool, mask: torch.Tensor | None, scale: float | None
) -> torch.Tensor:
    """[batch, heads, queries, keys]; minus infinity where a query must not look."""
    batch, heads, queries, size = query.shape
    products = aten.bmm(_heads(query), aten.transpose(_heads(key), 1, 2))
    scores = aten.view(products, [batch, heads, queries, key.shape[2]])
    scores = aten.mul(scores, 1 / math.sqrt(size) if scale is None else scale)
    if is_causal:
        scores = aten.where(_past(queries, key.shape[2], query.device), scores, -math.inf)
    return scores if mask is None else aten.add(scores, mask)


def _past(queries: int, keys: int, device: torch.device) -> torch.Tensor:
    places = aten.unsqueeze(aten.arange(queries, device=device), 1)
    return aten.ge(places, aten.arange(keys, device=device))


@rewriting(aten._scaled_dot_product_flash_attention_for_cpu.default)
def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: torch.Tensor | None = None,
    scale: float | None = None,
) -> Any:
    if not _is_short(query, key, value, dropout_p, attn_mask):
        return NotImplemented
    scores = _scores(query, key, is_causal, attn_mask, scale)
    # A query that looks nowhere gets zeros: the greatest score counts as 0, and the sum as 1.
    greatest = aten.amax(scores, [-1], True)
    greatest = aten.where(aten.eq(greatest, -math.inf), 0.0, greatest)
    parts = aten.exp(aten.sub(scores, greatest))
    total = aten.sum(parts, [-1], True)
    total = aten.where(aten.eq(total, 0), 1.0, total)
    result = aten.bmm(_heads(aten.div(parts, total)), _heads(value))
    logsumexp = aten.transpose(aten.squeeze(aten.add(greatest, aten.log(total)), -1), 1, 2)
    return _heads_inside(result, query), aten.transpose(_copied(logsumexp), 1, 2)


@rewriting(aten._scaled_dot_product_flash_attention_for_cpu_backward.default)
def attention_backward(
    grad: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    out: torch.Tensor,
    logsumexp: torch.Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: torch.Tensor | None = None,
    scale: float | None = None,
) -> Any:
    """With weights P = exp(scores - logsumexp): dV = P' dO; dP = dO V'; dS = P * (dP - sum(P * dP))."""
    if not _is_short(query, key, value, dropout_p, attn_mask):
        return NotImplemented
    scores = _scores(query, key, is_causal, attn_mask, scale)
    weights = _heads(aten.exp(aten.sub(scores, aten.unsqueeze(logsumexp, -1))))
    grad = _heads(grad)
    grad_value = aten.bmm(aten.transpose(weights, 1, 2), grad)
    grad_weights = aten.bmm(grad, aten.transpose(_heads(value), 1, 2))
    along = aten.sum(aten.mul(weights, grad_weights), [-1], True)
    factor = 1 / math.sqrt(query.shape[3]) if scale is None else scale
    grad_scores = aten.mul(aten.mul(weights, aten.sub(grad_weights, along)), factor)
    grad_query = aten.bmm(grad_scores, _heads(key))
    grad_key = aten.bmm(aten.transpose(grad_scores, 1, 2), _heads(query))
    return (
        _heads_inside(grad_query, query),
        _heads_inside(grad_key, key),
        _heads_inside(grad_value, value),
    )
