"""Reductions, and operators that keep the shape of a reduced operand.

In:  a tensor, the dims to reduce.
Out: the `Spec` of the result.

    sum(f32[3, 4], [1], keepdim=True)   ->   Spec((3, 1), (1, 1), f32)

Results are row-major, as TensorIterator allocates them.
"""

from __future__ import annotations

from typing import Any

import torch

from codegen.fake.shapes.elementwise import to_float
from codegen.fake.shapes.spec import contiguous, equal, shape_rule


def reduced_shape(tensor: torch.Tensor, dims: Any, keepdim: bool) -> tuple[int, ...] | None:
    """The shape of the result; None where a dim is out of range or named twice (eager raises)."""
    rank = tensor.dim()
    if dims is None or dims == []:
        dims = range(rank)
    elif isinstance(dims, int):
        dims = (dims,)
    if rank == 0:
        return () if all(dim in (0, -1) for dim in dims) else None
    if any(not -rank <= dim < rank for dim in dims):
        return None
    gone = {dim % rank for dim in dims}
    if len(gone) != len(dims):
        return None
    if keepdim:
        return tuple(1 if dim in gone else size for dim, size in enumerate(tensor.shape))
    return tuple(size for dim, size in enumerate(tensor.shape) if dim not in gone)


def has_dim(tensor: torch.Tensor, dim: int) -> bool:
    """Whether eager knows the dim. A tensor without dims has the dims of a vector."""
    rank = max(tensor.dim(), 1)
    return -rank <= dim < rank


def argument(args: tuple[Any, ...], kwargs: dict[str, Any], position: int, name: str, default: Any) -> Any:
    return args[position] if len(args) > position else kwargs.get(name, default)


def reduction(args: tuple[Any, ...], kwargs: dict[str, Any], dtype: torch.dtype) -> Any:
    dims = argument(args, kwargs, 1, "dim", None)
    shape = reduced_shape(args[0], dims, argument(args, kwargs, 2, "keepdim", False))
    return NotImplemented if shape is None else contiguous(shape, dtype)


def integers_to_i64(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype.is_floating_point or dtype.is_complex else torch.int64


@shape_rule("sum", "prod")
def full_sum(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return contiguous((), kwargs.get("dtype") or integers_to_i64(args[0].dtype))


@shape_rule("sum.dim_IntList", "prod.dim_int")
def dim_sum(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return reduction(args, kwargs, kwargs.get("dtype") or integers_to_i64(args[0].dtype))


@shape_rule("mean")
def full_mean(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    dtype = kwargs.get("dtype") or args[0].dtype
    return contiguous((), dtype) if dtype.is_floating_point else NotImplemented


@shape_rule("mean.dim")
def dim_mean(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    dtype = kwargs.get("dtype") or args[0].dtype
    return reduction(args, kwargs, dtype) if dtype.is_floating_point else NotImplemented


@shape_rule("amax", "amin")
def extremum(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return reduction(args, kwargs, args[0].dtype) if args[0].numel() else NotImplemented


@shape_rule("max", "min")
def full_extremum(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return contiguous((), args[0].dtype) if args[0].numel() else NotImplemented


@shape_rule("max.dim", "min.dim")
def extremum_with_index(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    values = reduction(args, kwargs, args[0].dtype) if args[0].numel() else NotImplemented
    return values if values is NotImplemented else (values, contiguous(values.shape, torch.int64))


@shape_rule("argmax", "argmin")
def arg_extremum(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    usual = args[0].numel() and args[0].dtype is not torch.bool
    return reduction(args, kwargs, torch.int64) if usual else NotImplemented


@shape_rule("any", "all", "any.dim", "all.dim", "any.dims", "all.dims")
def truth(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return NotImplemented if args[0].dtype is torch.uint8 else reduction(args, kwargs, torch.bool)


@shape_rule("_is_all_true", "_is_any_true")
def full_truth(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return contiguous((), torch.bool) if args[0].dtype is torch.bool else NotImplemented


@shape_rule("var.correction", "std.correction")
def variance(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not args[0].dtype.is_floating_point:
        return NotImplemented
    shape = reduced_shape(args[0], argument(args, kwargs, 1, "dim", None), kwargs.get("keepdim", False))
    return NotImplemented if shape is None else contiguous(shape, args[0].dtype)


@shape_rule("var_mean.correction", "std_mean.correction")
def variance_and_mean(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    spec = variance(args, kwargs)
    return spec if spec is NotImplemented else (spec, spec)


@shape_rule("linalg_vector_norm")
def vector_norm(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0]
    usual = tensor.dtype.is_floating_point and tensor.numel() and kwargs.get("dtype") in (None, tensor.dtype)
    dims = argument(args, kwargs, 2, "dim", None)
    shape = reduced_shape(tensor, dims, argument(args, kwargs, 3, "keepdim", False)) if usual else None
    return NotImplemented if shape is None else contiguous(shape, tensor.dtype)


@shape_rule("logsumexp")
def logsumexp(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return reduction(args, kwargs, to_float(args[0].dtype))


@shape_rule("cumsum", "cumprod")
def cumulative(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, dim = args[:2]
    usual = has_dim(tensor, dim)
    return (
        contiguous(tensor.shape, kwargs.get("dtype") or integers_to_i64(tensor.dtype))
        if usual
        else NotImplemented
    )


@shape_rule("_softmax", "_log_softmax")
def softmax(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, dim, half_to_float = args
    usual = has_dim(tensor, dim) and tensor.dtype.is_floating_point and not half_to_float
    return contiguous(tensor.shape, tensor.dtype) if usual else NotImplemented


@shape_rule("_softmax_backward_data", "_log_softmax_backward_data")
def softmax_backward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    grad, output, _, input_dtype = args
    usual = grad.dtype is input_dtype and equal(grad.shape, output.shape)
    return contiguous(grad.shape, grad.dtype) if usual else NotImplemented
