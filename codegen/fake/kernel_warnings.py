"""Warnings of kernels, which do not run on fake tensors.

In:  an operator and its arguments, fake tensors.
Out: a call on small real tensors for which the kernel gives the same warning; or None.

    std(f32[1])                        ->    torch.std(zeros(1)): "degrees of freedom is <= 0"
    complex64[3].to(torch.float32)     ->    zeros((), complex64).to(torch.float32)

Some of these warnings come once in a process. So the kernel itself gives them: it knows whether it has.
`FakeMode.unheard` collects the calls, and whoever sets it makes them, at the line of the program.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload

from codegen.kernel.hints import hint_of

aten = torch.ops.aten
Arguments = tuple[Any, ...]
Call = Callable[[], Any]
Rule = Callable[[Arguments, dict[str, Any]], Call | None]


def _degrees_of_freedom(function: Any) -> Rule:
    """Variances: of as many elements as are left out by the correction, or fewer."""

    def rule(args: Arguments, kwargs: dict[str, Any]) -> Call | None:
        tensor, dims = args[0], args[1] if len(args) > 1 else kwargs.get("dim")
        shape = tensor.shape
        reduced = dims or range(len(shape))
        correction = kwargs.get("correction")
        correction = 1 if correction is None else correction
        sizes = [shape[dim] for dim in reduced]
        least = math.prod(size if type(size) is int else 2 for size in sizes)  # a symbol is 2 or more
        if least > correction or math.prod(sizes) > correction:
            return None
        small = torch.zeros([min(size, 1) if type(size) is int else 1 for size in shape], dtype=tensor.dtype)
        return functools.partial(function, small, dims, correction=correction)

    return rule


def _is_complex(value: Any) -> bool:
    """Below vmap a number of the program stands for a tensor."""
    return isinstance(value, torch.Tensor) and value.dtype.is_complex


def _lost_imaginary_part(args: Arguments, kwargs: dict[str, Any]) -> Call | None:
    dtype = kwargs.get("dtype")
    if dtype is None or dtype.is_complex or not _is_complex(args[0]):
        return None
    return functools.partial(torch.zeros((), dtype=args[0].dtype).to, dtype)


def _lost_in_a_copy(args: Arguments, kwargs: dict[str, Any]) -> Call | None:
    target, source = args[:2]
    if target.dtype.is_complex or not _is_complex(source):
        return None
    made = torch.zeros((), dtype=target.dtype)
    return functools.partial(made.copy_, torch.zeros((), dtype=source.dtype))


def _in_beta(args: Arguments, kwargs: dict[str, Any]) -> Call:
    place = torch.zeros(1, dtype=torch.int64)
    return functools.partial(torch.index_reduce, torch.zeros(1), 0, place, torch.zeros(1), "prod")


def _scatter_that_reduces(args: Arguments, kwargs: dict[str, Any]) -> Call:
    place = torch.zeros(1, dtype=torch.int64)
    return functools.partial(torch.scatter, torch.zeros(1), 0, place, torch.zeros(1), reduce="add")


def _is_row_major(tensor: Any) -> bool:
    """For the present sizes, without a guard. Sizes that only a run knows count as a dense tensor's."""
    step = 1
    for size, stride in zip(map(hint_of, reversed(tensor.shape)), map(hint_of, reversed(tensor.stride()))):
        if size is None or stride is None:
            return True
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def _copied_for_a_search(function: Any) -> Rule:
    """Searches in sorted numbers copy what is not contiguous. `function`: takes numbers, values, a sorter."""

    def rule(args: Arguments, kwargs: dict[str, Any]) -> Call | None:
        numbers, values = args[:2] if function is torch.searchsorted else args[1::-1]
        sorter, places = kwargs.get("sorter"), torch.zeros(2, 2, dtype=torch.int64)
        is_tensor = isinstance(values, torch.Tensor)
        dense = [not isinstance(one, torch.Tensor) or _is_row_major(one) for one in (numbers, values, sorter)]
        if all(dense) or (is_tensor and any(hint_of(size) == 0 for size in values.shape)):
            return None
        options = {} if sorter is None else {"sorter": places[0] if dense[2] else places[:, 0]}
        small = places[0] if dense[0] else places[:, 0], places if dense[1] else places.t()
        return functools.partial(
            function, *(small if function is torch.searchsorted else small[::-1]), **options
        )

    return rule


WARNING_KERNELS: dict[OpOverload, Rule] = {
    aten.std.correction: _degrees_of_freedom(torch.std),
    aten.var.correction: _degrees_of_freedom(torch.var),
    aten.std_mean.correction: _degrees_of_freedom(torch.std_mean),
    aten.var_mean.correction: _degrees_of_freedom(torch.var_mean),
    aten._to_copy.default: _lost_imaginary_part,
    aten.copy_.default: _lost_in_a_copy,
    aten.index_reduce.default: _in_beta,
    aten.index_reduce_.default: _in_beta,
    aten.searchsorted.Tensor: _copied_for_a_search(torch.searchsorted),
    aten.searchsorted.Scalar: _copied_for_a_search(torch.searchsorted),
    aten.bucketize.Tensor: _copied_for_a_search(torch.bucketize),
    aten.bucketize.Scalar: _copied_for_a_search(torch.bucketize),
    aten.scatter.reduce: _scatter_that_reduces,
    aten.scatter_.reduce: _scatter_that_reduces,
}


def conversion_of_gradients() -> Call:
    """`float(x)` of a tensor that requires grad."""
    return functools.partial(float, torch.zeros((), requires_grad=True))
