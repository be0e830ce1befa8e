"""Normalisations over batches, layers and groups of channels.

In:  a tensor, parameters of the layer.
Out: the `Spec`s of the result and of the statistics that the backward reads.

    native_group_norm(f32[2, 6, 4], ..., groups=3)   ->   f32[2, 6, 4], f32[2, 3], f32[2, 3]
"""

from __future__ import annotations

from typing import Any

import torch
from torch._prims_common import suggest_memory_format

from codegen.fake.shapes.nn import is_channels_last, plain
from codegen.fake.shapes.spec import Spec, contiguous, equal, is_contiguous, packed, shape_rule


def in_suggested_format(tensor: torch.Tensor) -> Any:
    """As `empty_like(tensor, tensor.suggest_memory_format())`: channels-last or row-major."""
    shape, rank = tuple(tensor.shape), tensor.dim()
    if suggest_memory_format(tensor) is torch.contiguous_format:
        both = is_channels_last(tensor) and not is_contiguous(tensor)  # by a stride of a dim of size 1
        return NotImplemented if both else contiguous(shape, tensor.dtype)
    return Spec(shape, packed(shape, (1, *range(rank - 1, 1, -1), 0), empty=1), tensor.dtype)


def in_batch_norm_format(tensor: torch.Tensor) -> Any:
    """The format of a batch norm's result: an image of one pixel is row-major, whatever its strides are."""
    if is_contiguous(tensor):
        return contiguous(tuple(tensor.shape), tensor.dtype)
    return in_suggested_format(tensor)


def are_of_channels(tensor: torch.Tensor, *parameters: torch.Tensor | None) -> bool:
    """Whether each parameter is a vector of one number for each channel."""
    return all(one is None or equal(one.shape, tensor.shape[1:2]) for one in parameters)


@shape_rule("native_batch_norm", "_native_batch_norm_legit")
def native_batch_norm(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, training = args[0], args[5]
    unusual = tensor.dim() < 2 or tensor.numel() == 0 or not are_of_channels(tensor, *args[1:5])
    result = NotImplemented if unusual else in_batch_norm_format(tensor)
    saved = contiguous((tensor.shape[1] if training else 0,) if tensor.dim() > 1 else (), tensor.dtype)
    return NotImplemented if result is NotImplemented else (result, saved, saved)


@shape_rule("_native_batch_norm_legit_no_training")
def batch_norm_without_training(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `torch.batch_norm` calls on symbolic sizes."""
    return native_batch_norm((*args[:5], False, *args[5:]), kwargs)


@shape_rule("_batch_norm_with_update")
def batch_norm_with_update(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What is saved has the dtype of the statistics."""
    tensor, weight, bias, mean, var = args[:5]
    dtypes = {given.dtype for given in (weight, bias, mean, var) if given is not None}
    if tensor.dim() < 2 or tensor.numel() == 0 or not are_of_channels(tensor, *args[1:5]):
        return NotImplemented
    if len(dtypes) > 1 or not dtypes <= _statistics_of(tensor):
        return NotImplemented
    result, saved = in_batch_norm_format(tensor), contiguous((tensor.shape[1],), mean.dtype)
    reserved = contiguous((0,), torch.uint8)
    return NotImplemented if result is NotImplemented else (result, saved, saved, reserved)


@shape_rule("_batch_norm_with_update_functional")
def batch_norm_with_new_statistics(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    specs = batch_norm_with_update(args, kwargs)
    channels = (args[0].shape[1],) if args[0].dim() > 1 else ()
    new = contiguous(channels, args[3].dtype)
    return NotImplemented if specs is NotImplemented else (*specs, new, new)


def _statistics_of(tensor: torch.Tensor) -> set[torch.dtype]:
    """The dtypes that statistics and parameters may have."""
    in_half = tensor.dtype in (torch.float16, torch.bfloat16)
    return {tensor.dtype, torch.float32} if in_half else {tensor.dtype}


@shape_rule("native_batch_norm_backward")
def native_batch_norm_backward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    grad, tensor, mask = args[0], args[1], args[9]
    if tensor.numel() == 0:
        return NotImplemented
    is_alike = is_contiguous(grad) and suggest_memory_format(grad) is suggest_memory_format(tensor)
    result = (in_batch_norm_format if is_alike else in_suggested_format)(tensor)
    if result is NotImplemented:
        return NotImplemented
    channels = contiguous((tensor.shape[1],), tensor.dtype)
    shapes = (result, channels, channels)
    return tuple(spec if wanted else None for spec, wanted in zip(shapes, mask))


@shape_rule("native_layer_norm")
def native_layer_norm(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, normalized, *parameters = args[0], tuple(args[1]), *args[2:4]
    outer = tensor.dim() - len(normalized)
    if (
        outer < 0
        or not normalized
        or not tensor.dtype.is_floating_point
        or tuple(tensor.shape[outer:]) != normalized
        or any(one is not None and tuple(one.shape) != normalized for one in parameters)
    ):
        return NotImplemented
    stats = contiguous((*tensor.shape[:outer], *(1,) * len(normalized)), tensor.dtype)
    return (contiguous(tensor.shape, tensor.dtype), stats, stats)


@shape_rule("native_layer_norm_backward")
def native_layer_norm_backward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, normalized, mask = args[1], args[2], args[7]
    shapes = (
        contiguous(tensor.shape, tensor.dtype),
        contiguous(normalized, tensor.dtype),
        contiguous(normalized, tensor.dtype),
    )
    return tuple(spec if wanted else None for spec, wanted in zip(shapes, mask))


@shape_rule("native_group_norm")
def native_group_norm(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, weight, bias, batch, channels, _, groups, _ = args
    parameters = [parameter for parameter in (weight, bias) if parameter is not None]
    usual = (
        plain(tensor)
        and tensor.dtype.is_floating_point
        and tensor.numel()
        and groups > 0
        and channels % groups == 0
        and tuple(tensor.shape[:2]) == (batch, channels)
        and all(one.dtype is tensor.dtype and tuple(one.shape) == (channels,) for one in parameters)
    )
    if not usual:
        return NotImplemented
    stats = contiguous((batch, groups), tensor.dtype)
    return contiguous(tensor.shape, tensor.dtype), stats, stats


@shape_rule("native_group_norm_backward")
def native_group_norm_backward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    grad, tensor, *_, mask = args
    channels, dtype = args[6], tensor.dtype
    if not plain(grad, tensor) or grad.dtype is not dtype or args[2].dtype is not dtype:
        return NotImplemented
    specs = contiguous(tensor.shape, dtype), contiguous((channels,), dtype), contiguous((channels,), dtype)
    return tuple(spec if wanted else None for spec, wanted in zip(specs, mask))
