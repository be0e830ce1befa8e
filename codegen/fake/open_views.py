"""Views of tensors with symbolic sizes: rules for what programs usually ask.

In:  the arguments of a view operator.
Out: a `View` (or a list of them), NotImplemented where the operator is unusual.

    transpose(x[s0, 4], 0, 1)   ->   View((4, s0), (1, 4), 0)

What a rule compares is decided by what holds for all sizes (`codegen.fake.open_shapes`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch._ops import OpOverload

aten = torch.ops.aten


class View(NamedTuple):
    """A tensor on the memory of another one."""

    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    offset: Any


ViewRule = Callable[[tuple[Any, ...], dict[str, Any]], Any]
VIEW_RULES: dict[OpOverload, ViewRule] = {}


def view_rule(*funcs: OpOverload) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return NotImplemented if args[0].is_conj() else body(*args, **kwargs)

        for func in funcs:
            VIEW_RULES[func] = lambda args, kwargs: (
                NotImplemented if args[0].is_conj() else body(*args, **kwargs)
            )
        return body

    return register


def in_order(tensor: torch.Tensor, order: Sequence[int]) -> View:
    shape, strides = tensor.shape, tensor.stride()
    return View(
        tuple(shape[dim] for dim in order), tuple(strides[dim] for dim in order), tensor.storage_offset()
    )


@view_rule(aten.detach.default, aten.alias.default)
def itself(tensor: torch.Tensor) -> View:
    return in_order(tensor, range(tensor.dim()))


@view_rule(aten.t.default)
def t(tensor: torch.Tensor) -> Any:
    return in_order(tensor, range(tensor.dim())[::-1]) if tensor.dim() <= 2 else NotImplemented


@view_rule(aten.transpose.int)
def transpose(tensor: torch.Tensor, first: int, second: int) -> Any:
    order = list(range(tensor.dim()))
    if not is_dim(tensor, first) or not is_dim(tensor, second):
        return NotImplemented
    order[first], order[second] = order[second], order[first]
    return in_order(tensor, order)


@view_rule(aten.permute.default)
def permute(tensor: torch.Tensor, dims: Sequence[int]) -> Any:
    rank = tensor.dim()
    if not all(is_dim(tensor, dim) for dim in dims) or sorted(dim % rank for dim in dims) != [*range(rank)]:
        return NotImplemented
    return in_order(tensor, [dim % rank for dim in dims])


def is_dim(tensor: torch.Tensor, dim: int) -> bool:
    return -tensor.dim() <= dim < tensor.dim()


@view_rule(aten.unsqueeze.default)
def unsqueeze(tensor: torch.Tensor, dim: int) -> Any:
    shape, strides, rank = list(tensor.shape), list(tensor.stride()), tensor.dim() + 1
    if not -rank <= dim < rank:
        return NotImplemented
    dim %= rank
    strides.insert(dim, shape[dim] * strides[dim] if dim < len(shape) else 1)
    shape.insert(dim, 1)
    return View(tuple(shape), tuple(strides), tensor.storage_offset())


@view_rule(aten.squeeze.default)
def squeeze(tensor: torch.Tensor) -> Any:
    return squeeze_dims(tensor, range(tensor.dim()))


@view_rule(aten.squeeze.dim)
def squeeze_dim(tensor: torch.Tensor, dim: int) -> Any:
    return squeeze_dims(tensor, [dim])


@view_rule(aten.squeeze.dims)
def squeeze_dims(tensor: torch.Tensor, dims: Sequence[int]) -> Any:
    rank = tensor.dim()
    if not all(is_dim(tensor, dim) for dim in dims) or len({dim % rank for dim in dims}) != len(dims):
        return NotImplemented
    gone = {dim % rank for dim in dims}
    return in_order(tensor, [dim for dim in range(rank) if dim not in gone or tensor.shape[dim] != 1])


@view_rule(aten.select.int)
def select(tensor: torch.Tensor, dim: int, index: Any) -> Any:
    if not is_dim(tensor, dim):
        return NotImplemented
    size = tensor.shape[dim]
    place = index + size if index < 0 else index
    if place < 0 or place >= size:
        return NotImplemented
    dim %= tensor.dim()
    shape, strides, offset = in_order(tensor, [other for other in range(tensor.dim()) if other != dim])
    return View(shape, strides, offset + place * tensor.stride(dim))


@view_rule(aten.slice.Tensor)
def slice_of(tensor: torch.Tensor, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> Any:
    if not is_dim(tensor, dim) or type(step) is not int or step != 1:
        return NotImplemented
    size = tensor.shape[dim]
    first = 0 if start is None else clamped(start, size)
    last = size if end is None or (type(end) is int and end == sys.maxsize) else clamped(end, size)
    return part(tensor, dim % tensor.dim(), first, last - first if first < last else 0)


def clamped(place: Any, size: Any) -> Any:
    if place < 0:
        place = place + size
    return size if place > size else 0 if place < 0 else place


def part(tensor: torch.Tensor, dim: int, first: Any, length: Any) -> View:
    shape = (*tensor.shape[:dim], length, *tensor.shape[dim + 1 :])
    return View(shape, tensor.stride(), tensor.storage_offset() + first * tensor.stride(dim))


@view_rule(aten.split.Tensor)
def split(tensor: torch.Tensor, length: Any, dim: int = 0) -> Any:
    size = tensor.shape[dim] if is_dim(tensor, dim) else None
    if type(size) is not int or type(length) is not int or size < 1 or length < 1:
        return NotImplemented
    starts = range(0, size, length)
    return [part(tensor, dim % tensor.dim(), start, min(length, size - start)) for start in starts]


@view_rule(aten.split_with_sizes.default)
def split_with_sizes(tensor: torch.Tensor, lengths: Sequence[Any], dim: int = 0) -> Any:
    if not is_dim(tensor, dim) or any(length < 0 for length in lengths) or sum(lengths) != tensor.shape[dim]:
        return NotImplemented
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    return [part(tensor, dim % tensor.dim(), *pair) for pair in zip(starts, lengths)]


@view_rule(aten.unbind.int)
def unbind(tensor: torch.Tensor, dim: int = 0) -> Any:
    size = tensor.shape[dim] if is_dim(tensor, dim) else None
    return [select(tensor, dim, i) for i in range(size)] if type(size) is int else NotImplemented


@view_rule(aten.expand.default)
def expand(tensor: torch.Tensor, sizes: Sequence[Any], *, implicit: bool = False) -> Any:
    """The stride of a dim that is not repeated is eager's, also for dims of size 1."""
    lead = len(sizes) - tensor.dim()
    if lead < 0:
        return NotImplemented
    shape, strides, following = list(sizes), list(sizes), 0
    for dim in reversed(range(len(sizes))):
        size = tensor.shape[dim - lead] if dim >= lead else 1
        stride = tensor.stride(dim - lead) if dim >= lead else following
        target = size if dim >= lead and type(sizes[dim]) is int and sizes[dim] == -1 else sizes[dim]
        if target < 0 or (size != target and size != 1):
            return NotImplemented
        shape[dim], strides[dim] = target, stride if size == target else 0
        following = target * strides[dim]
    return View(tuple(shape), tuple(strides), tensor.storage_offset())


@view_rule(aten.view.default, aten._unsafe_view.default)
def view(tensor: torch.Tensor, sizes: Sequence[Any]) -> Any:
    shape, elements = list(sizes), math.prod(tensor.shape)
    for place in [i for i, size in enumerate(shape) if type(size) is int and size == -1]:
        others = math.prod(size for i, size in enumerate(shape) if i != place)
        if others < 1 or elements % others != 0:
            return NotImplemented
        shape[place] = elements // others
    if any(size < 0 for size in shape) or math.prod(shape) != elements:
        return NotImplemented
    strides = view_strides(tensor.shape, tensor.stride(), shape)
    return NotImplemented if strides is None else View(tuple(shape), strides, tensor.storage_offset())


def view_strides(
    old: Sequence[Any], old_strides: Sequence[Any], new: Sequence[Any]
) -> tuple[Any, ...] | None:
    """The strides of a view, or None where there is none.

    From the last dim to the first: each run of old dims that is contiguous in memory is divided into new
    dims. Where there are no elements, the strides are row-major, unless the shape stays the same.
    """
    strides: list[Any] = [1] * len(new)
    if any(size == 0 for size in old):
        if len(old) == len(new) and all(size == other for size, other in zip(old, new)):
            return tuple(old_strides)
        for at in reversed(range(len(new) - 1)):
            strides[at] = strides[at + 1] * (new[at + 1] if new[at + 1] > 0 else 1)
        return tuple(strides)
    dim, step = len(new) - 1, old_strides[-1] if old else 1
    elements: Any = 1  # of the run
    for at in reversed(range(len(old))):
        elements = elements * old[at]
        if at and (old[at - 1] == 1 or old_strides[at - 1] == elements * step):
            continue
        covered: Any = 1
        while dim >= 0 and (new[dim] == 1 or covered != elements):
            strides[dim] = covered * step
            covered = covered * new[dim]
            dim -= 1
        if covered != elements:
            return None
        if at:
            elements, step = 1, old_strides[at - 1]
    return tuple(strides)
