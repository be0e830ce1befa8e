"""Writes that are left to eager, which may refuse them or may do them in another way.

In:  an operator that writes, the values that it would write, the tensors that they go to.
Out: nothing, or `UntraceableError`: the operator runs as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._ops import OpOverload

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
    if not torch.can_cast(value.dtype, target.dtype):
        raise UntraceableError(f"a write of {value.dtype} to a tensor of {target.dtype}")
