"""Writes that are left to eager, which may refuse them or may do them in another way.

In:  an operator that writes, the values that it would write, the tensors that they go to.
Out: nothing, or `UntraceableError`: the operator runs as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._ops import OpOverload

from codegen.fake.shapes.spec import can_cast
from codegen.kernel.errors import UntraceableError


def check_drawn(func: OpOverload, value: torch.Tensor, target: torch.Tensor) -> None:
    """Random numbers are drawn in the order of the memory."""
    if torch.Tag.nondeterministic_seeded in func.tags and value.stride() != target.stride():
        raise UntraceableError(f"a call of {func} with a tensor of other strides than its result")


def check_out_dtypes(func: OpOverload, made: Sequence[Any], targets: Sequence[torch.Tensor]) -> None:
    """Raises where a tensor given by `out=` has another dtype than the result.

    Some kernels convert then, others raise; only eager knows which.
    """
    if any(a.is_out for a in func._schema.arguments) and any(
        value.dtype is not target.dtype for value, target in zip(made, targets)
    ):
        raise UntraceableError(f"a call of {func} with a tensor of another dtype than its result")


def check_cast(value: torch.Tensor, target: torch.Tensor) -> None:
    """Eager refuses some writes, such as floats to integers."""
    if not can_cast(value.dtype, target.dtype):
        raise UntraceableError(f"a write of {value.dtype} to a tensor of {target.dtype}")


def check_overlap(func: OpOverload, target: torch.Tensor, operand: torch.Tensor) -> None:
    """Eager refuses `x[1:].add_(x[:-1])`: dense tensors that share a part of their memory, or all of it in
    another order. Of tensors with gaps it refuses none.
    """
    if target is operand or not (_is_dense(target) and _is_dense(operand)):
        return
    (begin, end), (other_begin, other_end) = _bytes_of(target), _bytes_of(operand)
    if (begin, end) == (other_begin, other_end):
        refused = target.stride() != operand.stride()
    else:
        refused = begin < other_end and other_begin < end
    if refused:
        raise UntraceableError(f"a call of {func} that writes to a part of one of its operands")


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether the elements fill their memory without gaps, in some order of the dims."""
    expected = 1
    dims = ((stride, size) for stride, size in zip(tensor.stride(), tensor.shape) if size != 1)
    for stride, size in sorted(dims):
        if stride != expected:
            return False
        expected *= size
    return tensor.numel() > 0


def _bytes_of(tensor: torch.Tensor) -> tuple[Any, Any]:
    begin = tensor.storage_offset() * tensor.element_size()
    return begin, begin + tensor.numel() * tensor.element_size()
