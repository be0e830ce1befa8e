"""Copies of a tensor in which some elements are others.

In:  a tensor, the new elements, their place.
Out: the `Spec` of the copy.

    select_scatter(f32[3, 4], f32[4], 0, 1)   ->   Spec((3, 4), (4, 1), f32)

A copy of a dense tensor has its strides. Other tensors keep their gaps and their offset in memory, or lose
them: eager decides.
"""

from __future__ import annotations

from typing import Any

import torch

from codegen.fake.open_views import slice_of
from codegen.fake.shapes.elementwise import broadcast
from codegen.fake.shapes.spec import Spec, contiguous, is_dense, row_major, shape_rule


def copy_of(tensor: torch.Tensor) -> Any:
    shape, strides = tuple(tensor.shape), tensor.stride()
    dense = strides == row_major(shape) or is_dense(shape, strides)
    usual = dense and tensor.storage_offset() == 0 and tensor.numel() != 0
    return Spec(shape, strides, tensor.dtype) if usual else NotImplemented


def fits(source: torch.Tensor, target: torch.Tensor) -> bool:
    """Whether the source can be broadcast to the shape of the target."""
    shape, missing = tuple(target.shape), target.dim() - source.dim()
    return missing >= 0 and all(size in (1, shape[missing + i]) for i, size in enumerate(source.shape))


@shape_rule("copy")
def copy(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return copy_of(args[0]) if fits(args[1], args[0]) else NotImplemented


@shape_rule("copy_")
def copy_(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0] if fits(args[1], args[0]) else NotImplemented


@shape_rule("select_scatter")
def select_scatter(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, source, dim, index = args
    rank = tensor.dim()
    if not -rank <= dim < rank or not -tensor.shape[dim] <= index < tensor.shape[dim]:
        return NotImplemented
    dim %= rank
    rest = (*tensor.shape[:dim], *tensor.shape[dim + 1 :])
    return copy_of(tensor) if tuple(source.shape) == rest else NotImplemented


@shape_rule("slice_scatter")
def slice_scatter(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, source, *given = args
    defaults: list[Any] = [0, None, None, 1]
    dim, start, end, step = given + defaults[len(given) :]
    if kwargs or step != 1 or not -tensor.dim() <= dim < tensor.dim():
        return NotImplemented
    shape = list(tensor.shape)
    shape[dim] = slice_of(tensor, dim, start, end).shape[dim]
    return copy_of(tensor) if tuple(source.shape) == tuple(shape) else NotImplemented


@shape_rule("masked_fill.Scalar")
def masked_fill(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, mask, value = args
    shape = broadcast((tensor, mask)) if is_filled(tensor, mask, value) else None
    return NotImplemented if shape is None else contiguous(shape, tensor.dtype)


@shape_rule("masked_fill_.Scalar")
def masked_fill_(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, mask, value = args
    return tensor if is_filled(tensor, mask, value) and fits(mask, tensor) else NotImplemented


def is_filled(tensor: torch.Tensor, mask: torch.Tensor, value: Any) -> bool:
    """Whether eager accepts the mask and the value."""
    return mask.dtype is torch.bool and tensor.dtype.is_floating_point and isinstance(value, (int, float))
