"""Operators whose results depend on values, on fake tensors: numbers and sizes that are unbacked symbols.

In:  an operator that reads a number (`item`), or returns a tensor whose size depends on values (`nonzero`, a
     mask as an index, `unique`, ...); a mode whose `shape_env` allows such symbols.
Out: the symbol, or fake tensors with symbols among their sizes. Where the environment does not allow it, or
     no rule is known, an exception.

    x[mask]   ->   FakeTensor(size=(u0, 4)), and 0 <= u0 <= 8 is known
"""

from __future__ import annotations

from typing import Any

import torch
from torch._meta_registrations import meta_index_Tensor
from torch._ops import OpOverload
from torch._subclasses.fake_impls import op_implementations_dict
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException

from codegen.fake.fake import FakeMode
from codegen.fake.size_env import SizeEnv

aten = torch.ops.aten
SCALARS = (aten.item.default, aten._local_scalar_dense.default)
#: operators for which torch's own rules are right in any environment
RESIZING: dict[OpOverload, Any] = {
    func: op_implementations_dict[func]
    for func in (
        aten.nonzero.default,
        aten.nonzero_numpy.default,
        aten.masked_select.default,
        aten._unique.default,
        aten._unique2.default,
        aten.unique_dim.default,
        aten.unique_consecutive.default,
        aten.repeat_interleave.Tensor,
        aten.bincount.default,
    )
}
RESIZING[aten.index.Tensor] = lambda mode, func, *args: meta_index_Tensor(*args)
INDEXING = (aten.index.Tensor, aten._unsafe_index.Tensor)
#: views whose rules in torch know unbacked numbers; the rules of other views need to know more of them
VIEWS: dict[OpOverload, Any] = {
    func: op_implementations_dict[func]
    for func in (
        aten.slice.Tensor,
        aten.select.int,
        aten.view.default,
        aten._unsafe_view.default,
        aten._reshape_copy.default,
    )
}


def env_of(mode: FakeMode) -> SizeEnv:
    env: Any = mode.shape_env
    return env


FRESH = (aten.slice.Tensor, aten.select.int)


def view_of(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The view; NotImplemented where nothing in the arguments is unbacked."""
    if not env_of(mode).has_unbacked((args, kwargs)):
        return NotImplemented
    if func in FRESH:
        return without_assumptions(mode, VIEWS[func], func, args, kwargs)
    with mode:
        return VIEWS[func](mode, func, *args, **kwargs)


def without_assumptions(
    mode: FakeMode, rule: Any, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """For rules that return a new symbol for an unknown size: no assumption that they make is needed."""
    env = env_of(mode)
    before = dict(env.assumptions)
    with mode:
        results = rule(mode, func, *args, **kwargs)
    env.assumptions = before
    return results


def read_scalar(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The number in a tensor of one element."""
    env = env_of(mode)
    if func not in SCALARS or not env.allow_scalar_outputs or args[0].dtype.is_complex:
        raise DataDependentOutputException(func)
    torch._check(args[0].numel() == 1, lambda: "only a tensor of one element is a number")
    return op_implementations_dict[func](mode, func, *args, **kwargs)


def with_unbacked_sizes(
    mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A result whose size depends on values."""
    if not env_of(mode).allow_dynamic_output_shape_ops:
        raise DynamicOutputShapeException(func)
    if func in INDEXING:
        if any(index is not None and index.dtype == torch.uint8 for index in args[1]):
            raise DynamicOutputShapeException(func)
        func = aten.index.Tensor
    if func not in RESIZING:
        raise DynamicOutputShapeException(func)
    return without_assumptions(mode, RESIZING[func], func, args, kwargs)
