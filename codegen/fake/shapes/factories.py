"""Constructors, copies, fills, and random draws in place.

In:  sizes, or a tensor whose layout is taken.
Out: the `Spec` of the result, or the argument that is filled.

    zeros([2, 3])   ->   Spec((2, 3), (3, 1), f32)        zero_(x)   ->   x itself
"""

from __future__ import annotations

from typing import Any

import torch

from codegen.fake.shapes.elementwise import broadcast, number_dtype
from codegen.fake.shapes.spec import Spec, contiguous, like, shape_rule

FORMATS = (None, torch.preserve_format)


def is_strided(kwargs: dict[str, Any]) -> bool:
    return kwargs.get("layout") in (None, torch.strided)


def non_negative(shape: Any) -> bool:
    return all(isinstance(size, (int, torch.SymInt)) and size >= 0 for size in shape)


@shape_rule("zeros", "ones", "rand", "randn", "empty.memory_format")
def filled(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if (
        not is_strided(kwargs)
        or kwargs.get("memory_format") not in (None, torch.contiguous_format)
        or not non_negative(args[0])
    ):
        return NotImplemented
    return contiguous(args[0], kwargs.get("dtype") or torch.get_default_dtype())


@shape_rule("full")
def full(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not is_strided(kwargs) or not non_negative(args[0]):
        return NotImplemented
    return contiguous(args[0], kwargs.get("dtype") or number_dtype(args[1]))


@shape_rule("empty_strided")
def empty_strided(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not non_negative(args[0]) or len(args[0]) != len(args[1]):
        return NotImplemented
    return Spec(tuple(args[0]), tuple(args[1]), kwargs.get("dtype") or torch.get_default_dtype())


@shape_rule("scalar_tensor")
def scalar_tensor(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return contiguous((), kwargs.get("dtype") or torch.get_default_dtype())


@shape_rule("arange", "arange.start", "arange.start_step")
def arange(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    start, end, step = ((0, *args) if len(args) == 1 else (*args, 1))[:2] + (
        (args[2],) if len(args) > 2 else (1,)
    )
    dtype = kwargs.get("dtype")
    if not all(type(value) in (int, torch.SymInt) for value in (start, end, step)):
        return NotImplemented
    if step == 1 and end >= start:
        return contiguous((end - start,), dtype or torch.int64)
    if step == 0 or (end - start) * step < 0:
        return NotImplemented
    return contiguous((max(0, -((start - end) // step)),), dtype or torch.int64)


@shape_rule(
    "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like",
    "randint_like.low_dtype", "clone", "_to_copy",
)  # fmt: skip
def like_input(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    memory_format = kwargs.get("memory_format")
    dtype = kwargs.get("dtype") or args[0].dtype
    if not is_strided(kwargs):
        return NotImplemented
    if memory_format is torch.contiguous_format:
        return contiguous(args[0].shape, dtype)
    is_plain = memory_format in FORMATS and isinstance(args[0], torch.Tensor)
    return like(args[0], dtype) if is_plain else NotImplemented


@shape_rule("new_zeros", "new_ones", "new_empty", "new_full")
def new(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return contiguous(args[1], kwargs.get("dtype") or args[0].dtype) if is_strided(kwargs) else NotImplemented


@shape_rule("new_empty_strided")
def new_empty_strided(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return Spec(tuple(args[1]), tuple(args[2]), kwargs.get("dtype") or args[0].dtype)


@shape_rule("zero_", "fill_.Scalar", "bernoulli_.float", "uniform_", "normal_", "exponential_", "random_")
def in_place(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0]


@shape_rule("bernoulli")
def bernoulli(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return contiguous(args[0].shape, args[0].dtype)


@shape_rule("randint", "randint.low")
def randint(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    *bounds, shape = args
    low, high = bounds if len(bounds) == 2 else (0, *bounds)
    dtype = kwargs.get("dtype") or torch.int64
    usual = is_strided(kwargs) and non_negative(shape) and low < high and dtype is torch.int64
    return contiguous(shape, dtype) if usual else NotImplemented


@shape_rule("multinomial")
def multinomial(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    weights, draws = args[:2]
    usual = weights.dim() in (1, 2) and weights.dtype.is_floating_point and weights.numel() and draws > 0
    return contiguous((*weights.shape[:-1], draws), torch.int64) if usual else NotImplemented


@shape_rule("normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor")
def normal(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors = [value for value in args if isinstance(value, torch.Tensor)]
    shape = broadcast(tensors)
    if shape is None or not tensors[0].dtype.is_floating_point:
        return NotImplemented
    return contiguous(shape, tensors[0].dtype)


@shape_rule("binomial", "_sample_dirichlet", "_dirichlet_grad")
def of_a_distribution(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return contiguous(args[0].shape, args[0].dtype)


@shape_rule("repeat_interleave.Tensor")
def places_of_repeats(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The size is known only where the program passes `output_size`."""
    size = kwargs.get("output_size")
    repeats = args[0]
    if type(size) is not int or size < 0 or repeats.dim() != 1:
        return NotImplemented
    return contiguous((size,), repeats.dtype)
