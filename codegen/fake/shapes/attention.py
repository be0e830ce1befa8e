"""Attention.

In:  queries, keys and values, or their products.
Out: the `Spec`s of the results.

    flash_attention(f32[2, 3, 5, 8], ...)   ->   f32[2, 3, 5, 8] laid out as the query; f32[2, 3, 5]
"""

from __future__ import annotations

from typing import Any

import torch

from codegen.fake.shapes.spec import Spec, contiguous, like, shape_rule

HALF = (torch.float16, torch.bfloat16)


def heads_inside(tensor: torch.Tensor) -> Spec:
    """Row-major with the heads (dim 1) next to their elements, as the kernels write them."""
    batch, heads, length, size = tensor.shape
    return Spec((batch, heads, length, size), (length * heads * size, size, heads * size, 1), tensor.dtype)


def is_usual(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> bool:
    """Four dims, heads of one size, nothing empty: eager may refuse or leave anything else."""
    return (
        all(tensor.dim() == 4 and tensor.dtype is query.dtype and tensor.numel() for tensor in (key, value))
        and query.dim() == 4
        and query.numel() > 0
        and query.dtype.is_floating_point
        and key.shape == value.shape
        and query.shape[0] == key.shape[0]
        and query.shape[1] == key.shape[1]
        and query.shape[3] == key.shape[3]
    )


@shape_rule("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    query, key, value = args[:3]
    if any(args[3:4]) or not is_usual(query, key, value):
        return NotImplemented
    batch, heads, length, _ = query.shape
    dtype = torch.float32 if query.dtype in HALF else query.dtype
    return like(query), Spec((batch, heads, length), (length * heads, 1, heads), dtype)


@shape_rule("_scaled_dot_product_flash_attention_for_cpu_backward")
def flash_attention_backward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    operands = args[1:4]
    usual = is_usual(*operands) and args[0].shape == operands[0].shape
    return tuple(heads_inside(operand) for operand in operands) if usual else NotImplemented


@shape_rule("_safe_softmax")
def safe_softmax(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0]
    unusual = len(args) > 2 or kwargs or not tensor.dtype.is_floating_point
    return NotImplemented if unusual else contiguous(tensor.shape, tensor.dtype)
