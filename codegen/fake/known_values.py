"""Fake tensors whose values are known: results of `torch.tensor(...)`, and results computed from these alone.

In:  an operator, its arguments and its fake result.
Out: the result's `.constant`, a real tensor; operators that read numbers from tensors use it.

`x.view(torch.div(x.size(0), 2, rounding_mode="trunc"), -1)` needs the value of such a tensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree

aten = torch.ops.aten
FEW = 16  # most elements of a result whose values are kept
UNDEFINED = (aten.empty_like.default, aten.new_empty.default, aten.new_empty_strided.default)


def tensors_in(values: Any) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def is_still_constant(tensor: Any) -> bool:
    """Whether the contents of the tensor are known.

    They are not if something was written to it or to a view of it.
    """
    return tensor.constant is not None and not tensor.is_inference() and tensor._version == 0


def can_be_known(result: Any, args: tuple[Any, ...]) -> bool:
    """Whether the values may be known; runs after each operator. The first argument nearly always decides."""
    for value in args:
        if type(value) is FakeTensor and value.constant is None:
            return False
    if type(result) is not FakeTensor or result.constant is not None:
        return False
    count = result.numel()
    return type(count) is int and count <= FEW


def remember_values(
    func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], result: FakeTensor
) -> None:
    """Computes the result where all tensors among the arguments are constants.

    A pointwise operator may have no tensor argument at all.
    """
    leaves = pytree.tree_leaves((args, kwargs))
    if any(isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) for value in leaves):
        return
    tensors = list(tensors_in(leaves))
    if not tensors and torch.Tag.pointwise not in func.tags:
        return
    if func in UNDEFINED or func._schema.is_mutable or torch.Tag.nondeterministic_seeded in func.tags:
        return
    if result._fake_device.type != "cpu" or not all(map(is_still_constant, tensors)):
        return

    def real(value: Any) -> Any:
        if isinstance(value, FakeTensor):
            return value.constant
        return type(value)(map(real, value)) if type(value) in (list, tuple) else value

    with torch._C._DisableTorchDispatch(), torch.no_grad():
        result.constant = func(*real(args), **{name: real(value) for name, value in kwargs.items()})
