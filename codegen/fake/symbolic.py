"""Operators on fake tensors some of whose sizes are symbols.

In:  an operator and its arguments, at least one of them a `SymInt` or a tensor with such sizes.
Out: fake tensors whose sizes are expressions of those symbols.

    mm(x: [s0, 4], w: [4, 8])   ->   FakeTensor(size=(s0, 8))

Meta kernels written in C++ need numbers. So an operator runs by the first of these that exists: torch's own
fast rule, its decomposition, its Python meta kernel. An operator that has none of them is unsupported: the
caller then takes sizes as numbers.

These rules accept dtypes that eager refuses, and some know row-major results only. So the first call with
each kind of arguments also runs with the present sizes, for its errors and strides. So does each view.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload
from torch._subclasses.fake_impls import get_fast_op_impls
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)

from codegen.fake import dispatch
from codegen.fake.fake import FakeMode, FakeTensor, SymbolicRules
from codegen.fake.open_shapes import run_on_all_sizes
from codegen.fake.open_views import view_strides
from codegen.fake.shapes.spec import Spec, contiguous, is_dense
from codegen.fake.shapes.table import SHAPE_RULES
from codegen.fake.size_env import SizeEnv
from codegen.fake.unbacked import VIEWS, read_scalar, view_of, with_unbacked_sizes
from codegen.kernel.foreign import is_foreign
from codegen.kernel.hints import SYMBOLIC, hint_of

aten = torch.ops.aten
# C++ code calls these when it needs plain numbers: it gets numbers, and the environment gets a guard.
METADATA: dict[Any, Any] = {
    aten.size.default: lambda tensor: tuple(int(size) for size in tensor.size()),
    aten.stride.default: lambda tensor: tuple(int(stride) for stride in tensor.stride()),
    aten.storage_offset.default: lambda tensor: int(tensor.storage_offset()),
}
INDEXING = (aten.index.Tensor, aten._unsafe_index.Tensor)


def use_sizes(mode: FakeMode, env: SizeEnv) -> None:
    """From now on the mode accepts symbols of `env` as sizes and numbers."""
    mode.shape_env = env
    mode.static_shapes = False
    mode.symbolic = RULES


def is_symbolic(values: Any) -> bool:
    """Whether an argument, or an item of a list among them, is a symbol or has symbolic sizes."""
    for value in values:
        if isinstance(value, torch.Tensor):
            if value._has_symbolic_sizes_strides:
                return True
        elif isinstance(value, SYMBOLIC) or (isinstance(value, (list, tuple)) and is_symbolic(value)):
            return True
    return False


def run_symbolic(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs `func`.

    Raises UnsupportedOperatorException where nothing can run it on symbols, and the errors of eager.
    """
    is_mixed = func in dispatch.OF_ONE_DTYPE and dispatch.are_mixed(args)
    results = NotImplemented if is_mixed else run_on_all_sizes(mode, func, args, kwargs)
    if results is not NotImplemented:
        return results
    key = (func, kinds_of((args, kwargs)))
    is_view = (func.is_view or func in AS_IN_EAGER) and func not in BY_STRIDES
    is_known = not (is_mixed or is_view or func in SHAPE_RULES) or key in mode.tried
    present = None if is_known else try_present_sizes(mode, func, args, kwargs)
    results = run_on_symbols(mode, func, args, kwargs)
    if is_view:
        return checked_view(mode, func, args[0], results, present)
    if present is None:
        return results
    laid_out = laid_out_as(mode, func, results, present)
    if laid_out is results:
        mode.tried.add(key)
    return laid_out


NUMBERS = (torch._C.BoolType, torch._C.IntType, torch._C.FloatType, torch._C.NumberType)


def run_on_symbols(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if func in VIEWS:
        view = view_of(mode, func, args, kwargs)
        if view is not NotImplemented:
            return view
    if func in INDEXING:
        if any(index is not None and index.dtype in (torch.bool, torch.uint8) for index in args[1]):
            return dispatch.raise_dynamic_shape(mode, func, args, kwargs)
    elif func in dispatch.RULES:
        return dispatch.RULES[func](mode, func, args, kwargs)
    elif is_foreign(func):
        return dispatch.rule_of(func)(mode, func, args, kwargs)
    if torch.Tag.data_dependent_output in func.tags:
        return dispatch.raise_data_dependent(mode, func, args, kwargs)
    if torch.Tag.dynamic_output_shape in func.tags and func not in INDEXING:
        return dispatch.raise_dynamic_shape(mode, func, args, kwargs)
    if func in METADATA:
        return METADATA[func](args[0])
    if func is aten.expand.default:
        return expanded(mode, *args)
    if func in PART_OF:
        check_part(mode, func, args, kwargs)
    if func in OF_GIVEN_SIZE:
        return mode.new(contiguous(args[OF_GIVEN_SIZE[func]], args[0].dtype), args[0].device)
    fast = get_fast_op_impls().get(func)
    if fast is not None:
        return fast(mode, *args, **kwargs)
    found, results = run_as_others(mode, func, args, kwargs)
    if found:
        return results
    if func.namespace == "prims" and hasattr(func, "prim_meta_impl"):
        with mode:
            return func.prim_meta_impl(*args, **kwargs)
    if any(argument.name == "device" for argument in func._schema.arguments):
        return dispatch.run_with_device(mode, func, args, kwargs)
    try:
        results = mode.run_meta(func, args, kwargs)
    except NotImplementedError:
        error = DataDependentOutputException if gives_numbers(func) else UnsupportedOperatorException
        raise error(func) from None
    return dispatch.wrap_results(mode, results, dispatch.common_device(mode, func, args, kwargs))


#: operators without a meta kernel for symbols -> the argument that is the result's size
OF_GIVEN_SIZE: dict[Any, int] = {
    aten.upsample_bilinear2d_backward.default: 2,
    aten.upsample_trilinear3d_backward.default: 2,
}


def gives_numbers(func: OpOverload) -> bool:
    """Whether a result is a number: without a meta kernel, that depends on values, whatever the sizes are."""
    return any(isinstance(result.type, NUMBERS) for result in func._schema.returns)


# --- errors of eager --------------------------------------------------------------------------------------


#: errors that eager does not raise: fake tensors have no answer
OF_OURS = (UnsupportedOperatorException, DataDependentOutputException, DynamicOutputShapeException)


class NoPresentValue(Exception):
    """Raised for a number that is known only when the graph runs, or a tensor wrapped by `torch.func`."""


def try_present_sizes(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of `func` for the present sizes, or None where these are not known; raises eager's error.

    Errors normally depend on dtypes, and strides on the order of the arguments' strides. So this runs once
    for each kind of arguments.
    """
    try:
        present = present_of(mode, args), {name: present_of(mode, value) for name, value in kwargs.items()}
    except NoPresentValue:
        return None
    with contextlib.suppress(*OF_OURS):
        return dispatch.rule_of(func)(mode, func, *present)
    return None


def kinds_of(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.dtype, value.dim(), layout_of(value)
    if isinstance(value, dict):
        return tuple((name, kinds_of(item)) for name, item in value.items())
    return tuple(map(kinds_of, value)) if isinstance(value, (list, tuple)) else type(value)


def layout_of(tensor: torch.Tensor) -> Any:
    """The order of the dims in memory, which dims do not count, and whether there are gaps."""
    shape, strides = [hint_of(n) for n in tensor.shape], [hint_of(n) for n in tensor.stride()]
    if None in shape or None in strides:
        return None
    order = tuple(sorted(range(len(shape)), key=lambda dim: (strides[dim], -dim)))
    return order, tuple(n == 1 for n in shape), tuple(n == 0 for n in strides), is_dense(shape, strides)


def laid_out_as(mode: FakeMode, func: OpOverload, results: Any, present: Any) -> Any:
    """New results with the strides and dtypes of the results for the present sizes.

    Some of torch's rules for symbols know row-major results only, or the dtypes of other devices.
    """
    if isinstance(results, (list, tuple)):
        laid_out = [laid_out_as(mode, func, *pair) for pair in zip(results, present, strict=True)]
        same = all(one is other for one, other in zip(laid_out, results))
        return results if same else type(results)(laid_out)
    if not isinstance(results, torch.Tensor) or not isinstance(present, torch.Tensor) or func.is_view:
        return results
    shape, strides = tuple(results.shape), present.stride()
    is_alike = tuple(map(hint_of, results.stride())) == strides and results.dtype is present.dtype
    if is_alike or any(result.alias_info is not None for result in func._schema.returns):
        return results
    found: dict[int, Any] = {}
    step: Any = 1
    for dim in sorted(range(len(shape)), key=lambda dim: (strides[dim], present.shape[dim] != 1, -dim)):
        found[dim] = step
        step = step * shape[dim]
    packed = tuple(found[dim] for dim in range(len(shape)))
    if tuple(map(hint_of, packed)) != strides:
        raise UnsupportedOperatorException(func)
    return mode.new(Spec(shape, packed, present.dtype), results.device)


def present_of(mode: FakeMode, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        if type(value) is not FakeTensor:
            raise NoPresentValue
        if not value._has_symbolic_sizes_strides:
            return value
        shape, strides = (tuple(present_of(mode, n) for n in ns) for ns in (value.shape, value.stride()))
        return mode.new(Spec(shape, strides, value.dtype), value.device)
    if isinstance(value, (list, tuple)):
        return type(value)(present_of(mode, item) for item in value)
    if isinstance(value, SYMBOLIC):
        if value.node._hint is None:
            raise NoPresentValue
        return value.node._hint
    return value


# --- operators --------------------------------------------------------------------------------------------


def expanded(mode: FakeMode, tensor: torch.Tensor, sizes: list[Any], **options: Any) -> torch.Tensor:
    """The expanded tensor with eager's strides, also for dims of size 1."""
    from torch.fx.experimental.symbolic_shapes import guard_or_true  # lazy: imports sympy

    lead = len(sizes) - tensor.dim()
    if lead < 0:
        raise RuntimeError(f"expand: a tensor of {tensor.dim()} dims can't have {len(sizes)}")
    shape, strides = list(sizes), list(sizes)
    following = 0  # the stride of a new dim that is not repeated
    for dim in reversed(range(len(sizes))):
        own = dim >= lead
        size = tensor.shape[dim - lead] if own else 1
        stride = tensor.stride(dim - lead) if own else following
        target = size if type(sizes[dim]) is int and sizes[dim] == -1 else sizes[dim]
        if isinstance(target, torch.SymInt):
            torch._check(target >= 0)
        if guard_or_true(size != target):
            if size != 1:
                raise RuntimeError(f"expand: a dim of size {size} can't be of size {target}")
            stride = 0
        shape[dim], strides[dim] = target, stride
        following = target * stride
    with mode:
        return aten.as_strided.default(tensor, shape, strides, tensor.storage_offset())


#: operators that replace a part of a tensor -> the view that is this part
PART_OF: dict[Any, OpOverload] = {
    aten.select_scatter.default: aten.select.int,
    aten.slice_scatter.default: aten.slice.Tensor,
    aten.diagonal_scatter.default: aten.diagonal.default,
}


def check_part(mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Guards that the new elements have the sizes of the part. torch's rules for symbols do not ask."""
    tensor, source, *place = args
    with mode:
        part = PART_OF[func](tensor, *place, **kwargs)
    fits = source.dim() == part.dim()
    for size, other in zip(source.shape, part.shape) if fits else ():
        torch._check(size == other)
    if not fits:
        raise RuntimeError(f"{func}: {source.dim()} dims for a part of {part.dim()} dims")


#: views that say their strides, of which the present sizes tell nothing
BY_STRIDES = (aten.as_strided.default, aten._reshape_alias.default)


def checked_view(mode: FakeMode, func: OpOverload, tensor: torch.Tensor, results: Any, present: Any) -> Any:
    """The view (or list of views), with eager's strides and offset for the present sizes.

    Raises UnsupportedOperatorException where it has others.
    """
    if isinstance(results, (list, tuple)):
        return type(results)(
            checked_view(mode, func, tensor, *pair)
            for pair in zip(results, present or [None] * len(results), strict=True)
        )
    if func in AS_IN_EAGER:
        results = AS_IN_EAGER[func](mode, tensor, results)
    if present is None:
        return results
    start = tensor.storage_offset()
    moved = present.storage_offset() - (0 if tensor._has_symbolic_sizes_strides else start)
    found = [hint_of(number) for number in (*results.stride(), results.storage_offset() - start)]
    if None not in found and found != [*present.stride(), moved]:
        raise UnsupportedOperatorException(func)
    return results


def reshaped(mode: FakeMode, tensor: torch.Tensor, viewed: torch.Tensor) -> torch.Tensor:
    """The view, with eager's strides for dims of size 1 and for tensors without elements."""
    if None in [hint_of(size) for size in (*tensor.shape, *tensor.stride(), *viewed.shape)]:
        return viewed
    strides = view_strides(tensor.shape, tensor.stride(), viewed.shape)
    if strides is None:
        return viewed
    with mode:
        return aten.as_strided.default(tensor, viewed.shape, strides, tensor.storage_offset())


def diagonal_of(mode: FakeMode, tensor: torch.Tensor, viewed: torch.Tensor) -> torch.Tensor:
    """The diagonal: one without elements begins where the tensor begins."""
    start, size = tensor.storage_offset(), viewed.shape[-1]
    if hint_of(size) is None or hint_of(start) == hint_of(viewed.storage_offset()) or size != 0:
        return viewed
    with mode:
        return aten.as_strided.default(tensor, viewed.shape, viewed.stride(), start)


#: views for which torch's rule gives other strides or another offset than eager
AS_IN_EAGER: dict[OpOverload, Callable[[FakeMode, torch.Tensor, torch.Tensor], torch.Tensor]] = {
    aten.view.default: reshaped,
    aten._unsafe_view.default: reshaped,
    aten.diagonal.default: diagonal_of,
}


def run_as_others(
    mode: FakeMode, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[bool, Any]:
    """(whether it is possible, results), by the operators that `func` decomposes to."""
    if func in torch._decomp.meta_table or mode.cpp_meta_supports_symint(func):
        return False, None
    with mode:
        decomposition = torch._decomp.decomposition_table.get(func)
        if decomposition is not None:
            return True, decomposition(*args, **kwargs)
        results = func.decompose(*args, **kwargs)
    return results is not NotImplemented, results


class _Rules:
    is_symbolic = staticmethod(is_symbolic)
    run_symbolic = staticmethod(run_symbolic)
    read_scalar = staticmethod(read_scalar)
    with_unbacked_sizes = staticmethod(with_unbacked_sizes)


RULES: SymbolicRules = _Rules()
