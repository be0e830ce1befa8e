"""Memory that nothing wrote to, where deterministic algorithms fill it.

In:  an operator that makes a tensor without values, under `torch.use_deterministic_algorithms(True)` with
     `torch.utils.deterministic.fill_uninitialized_memory`.
Out: the tensor with eager's values: NaN, the largest int, True.

    empty([2, 3])   ->   full([2, 3], nan)

A guard on the state of the process fixes both settings.
"""

from __future__ import annotations

from typing import Any

import torch

from codegen.kernel.errors import UntraceableError
from codegen.rewrite.rows import rewriting

aten = torch.ops.aten

INTS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
VALUES: dict[torch.dtype, Any] = {
    torch.bool: True,
    **{dtype: torch.iinfo(dtype).max for dtype in INTS},
    **dict.fromkeys((torch.float16, torch.bfloat16, torch.float32, torch.float64), float("nan")),
}


def is_filled() -> bool:
    return (
        torch.are_deterministic_algorithms_enabled()
        and torch._C._get_deterministic_fill_uninitialized_memory()
    )


def full(shape: Any, dtype: torch.dtype, device: Any) -> Any:
    if dtype not in VALUES:
        raise UntraceableError(f"memory of {dtype} that deterministic algorithms fill")
    return aten.full(shape, VALUES[dtype], dtype=dtype, device=device)


@rewriting(aten.empty.memory_format, aten.empty_strided.default, dtypes=None)
def empty(shape: Any, *strides: Any, dtype: Any = None, device: Any = None, **layout: Any) -> Any:
    return full(shape, dtype or torch.get_default_dtype(), device) if is_filled() else NotImplemented


@rewriting(aten.empty_like.default, dtypes=None)
def empty_like(tensor: torch.Tensor, *, dtype: Any = None, device: Any = None, **layout: Any) -> Any:
    if not is_filled():
        return NotImplemented
    return full(tensor.shape, dtype or tensor.dtype, device or tensor.device)


@rewriting(aten.new_empty.default, aten.new_empty_strided.default, dtypes=None)
def new_empty(
    tensor: torch.Tensor, shape: Any, *strides: Any, dtype: Any = None, device: Any = None, **layout: Any
) -> Any:
    return full(shape, dtype or tensor.dtype, device or tensor.device) if is_filled() else NotImplemented
