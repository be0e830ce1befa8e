"""Marks of the user on functions, tensors and modules. The interpreter reads them.

In:  `capture.disable(fn)`, `capture.allow_in_graph(fn)`, `capture.assume_constant_result(fn)`,
     `capture.mark_dynamic(t, dim)`.
Out: `is_disabled(fn)`, `is_allowed_in_graph(fn)`, `has_constant_result(fn)`, `dynamic_dims(t)`,
     `static_dims(t)`, `is_marked_static(t)`.

    mark_dynamic(x, 0)    ->   x._capture_dynamic_dims == {0: DimRange(None, None)}

The mark of a function is in a registry; for a bound method it is the mark of its function. The mark of a
tensor is an attribute of the tensor.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, SupportsIndex

import torch

from capture.report.arguments import checked_arguments, shown
from capture.report.errors import UsageError
from capture_records import dataclass


@dataclass(frozen=True)
class DimRange:
    """Bounds that the user promises for a dynamic size, both inclusive.

    strict: it is an error if the program fixes the size.
    """

    minimum: int | None
    maximum: int | None
    strict: bool = False


class FunctionMarks:
    """Callables with a mark, by address. They are kept alive, so that no other object gets their address."""

    def __init__(self) -> None:
        self._functions: dict[int, Any] = {}

    def add(self, fn: Any) -> None:
        fn = _plain_function(fn)
        self._functions[id(fn)] = fn

    def __contains__(self, fn: Any) -> bool:
        return id(_plain_function(fn)) in self._functions


def _plain_function(fn: Any) -> Any:
    return fn.__func__ if isinstance(fn, types.MethodType) else fn


_allowed = FunctionMarks()
_constant = FunctionMarks()
# The mark is on the wrapper that `capture.disable` returns. The wrapped function itself has no mark.
_DISABLED = "_capture_disabled"


# --- functions --------------------------------------------------------------------------------------------


@checked_arguments
def allow_in_graph(fn: Any) -> Any:
    """A call of `fn` becomes one node of the graph, and capture does not interpret it. `fn` may be a list.

    `fn` must depend only on its arguments and have no side effects. Source: torch.compiler.allow_in_graph.
    """
    if isinstance(fn, list | tuple):
        return [allow_in_graph(item) for item in fn]
    if not callable(fn):
        raise UsageError(f"allow_in_graph takes a callable, not {shown(fn)}")
    _allowed.add(fn)
    return fn


@checked_arguments
def assume_constant_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Capture calls `fn` with the arguments of that time. Its result is a constant of the graph."""
    if not callable(fn):
        raise UsageError(f"assume_constant_result takes a callable, not {shown(fn)}")
    _constant.add(fn)
    return fn


def is_allowed_in_graph(fn: Any) -> bool:
    return fn in _allowed


def has_constant_result(fn: Any) -> bool:
    return fn in _constant


def mark_disabled(wrapper: Any) -> None:
    """Mark the wrapper that `capture.disable` returns."""
    setattr(wrapper, _DISABLED, True)


def is_disabled(fn: Any) -> bool:
    """Whether a call of `fn` must be left to Python (a graph break in the caller)."""
    fn = _plain_function(fn)
    return isinstance(fn, types.FunctionType) and _DISABLED in fn.__dict__


# --- tensors ----------------------------------------------------------------------------------------------

_DYNAMIC = "_capture_dynamic_dims"
_STATIC = "_capture_static_dims"
_NO_DIMS: Any = {}
# Attributes that torch._dynamo.mark_dynamic and similar functions set on a tensor -> whether it is strict.
_DYNAMIC_OF_TORCH = {
    "_dynamo_weak_dynamic_indices": False,
    "_dynamo_unbacked_indices": False,
    "_dynamo_dynamic_indices": True,
}
_STATIC_OF_TORCH = "_dynamo_static_indices"


@checked_arguments
def mark_dynamic(
    tensor: torch.Tensor, dims: int | Sequence[int], *, min: int | None = None, max: int | None = None
) -> None:
    """The size of these dimensions changes: capture it as a symbol from the start, also under dynamic=False.

    min, max: bounds that the caller promises, both inclusive.
    Errors: UsageError if the tensor has no such dimension. The captured call raises ConstraintViolation if
    the program fixes the size.
    Source: torch._dynamo.mark_dynamic.
    """
    for name, bound in (("min", min), ("max", max)):
        if bound is not None and type(bound) is not int:
            raise UsageError(f"mark_dynamic: {name} must be an integer, not {shown(bound)}")
    if min is not None and max is not None and min > max:
        raise UsageError(f"mark_dynamic: min {min} is above max {max}")
    _mark("mark_dynamic", tensor, dims, DimRange(min, max, strict=True))


@checked_arguments
def maybe_mark_dynamic(tensor: torch.Tensor, dims: int | Sequence[int]) -> None:
    """The same as `mark_dynamic`, but the program may fix the size."""
    _mark("maybe_mark_dynamic", tensor, dims, DimRange(None, None))


def mark_open(tensor: torch.Tensor, dim: int, bounds: DimRange) -> None:
    """The mark of `bounds` on one dimension."""
    _mark("mark_open", tensor, dim, bounds)


def _mark(caller: str, tensor: torch.Tensor, dims: int | Sequence[int], bounds: DimRange) -> None:
    wanted = _checked_dims(caller, tensor, dims)
    setattr(tensor, _DYNAMIC, {**dynamic_dims(tensor), **dict.fromkeys(wanted, bounds)})


@checked_arguments
def mark_static(tensor: torch.Tensor, dims: int | Sequence[int] | None = None) -> None:
    """The size of these dimensions (None: all) does not change: capture a number, also under dynamic=True."""
    wanted = range(tensor.dim()) if dims is None and isinstance(tensor, torch.Tensor) else dims
    checked = _checked_dims("mark_static", tensor, () if wanted is None else wanted)
    setattr(tensor, _STATIC, static_dims(tensor) | frozenset(checked))


def dynamic_dims(tensor: torch.Tensor) -> dict[int, DimRange]:
    """Dimensions with a dynamic mark, and their bounds. Marks for torch.compile count too."""
    attributes = getattr(tensor, "__dict__", _NO_DIMS)
    if not attributes:
        return {}
    marked: dict[int, DimRange] = attributes.get(_DYNAMIC, _NO_DIMS)
    foreign = {dim: strict for name, strict in _DYNAMIC_OF_TORCH.items() for dim in attributes.get(name, ())}
    if not foreign:
        return marked
    ranges = {bounds.dim: (bounds.min, bounds.max) for bounds in attributes.get("_dynamo_dynamic_range", ())}
    found = {dim: DimRange(*ranges.get(dim, (None, None)), strict) for dim, strict in foreign.items()}
    return {**found, **marked}


def static_dims(tensor: torch.Tensor) -> frozenset[int]:
    """Dimensions with a static mark. Marks for torch.compile count too."""
    attributes = getattr(tensor, "__dict__", _NO_DIMS)
    if not attributes:
        return frozenset()
    return frozenset(attributes.get(_STATIC, ())) | frozenset(attributes.get(_STATIC_OF_TORCH, ()))


def _checked_dims(caller: str, tensor: Any, dims: int | Sequence[int]) -> list[int]:
    if not isinstance(tensor, torch.Tensor):
        raise UsageError(f"{caller} takes a tensor, not {shown(tensor)}")
    given = list(dims) if isinstance(dims, Iterable) else [dims]
    for dim in given:
        if not isinstance(dim, SupportsIndex):
            raise UsageError(f"{caller} takes a dimension or several, as integers, not {shown(dim)}")
    wanted = list(map(operator.index, given))
    ndim = tensor.dim()
    for dim in wanted:
        if not -ndim <= dim < ndim:
            raise UsageError(f"{caller}: the tensor has {ndim} dimensions, {dim} is none of them")
    return [dim % ndim for dim in wanted]
