"""Rows of the table of rewritings, and the decorators that enter them.

In:  a body: a function that computes the same by simpler operators.
Out: rows in `OPERATORS` and `FUNCTIONS`; `table.py` puts them together.

    @rewriting(aten.silu.default)                        for float32 and float64 tensors with elements
    def silu(tensor): return aten.mul(tensor, aten.sigmoid(tensor))

    @replacing(torch.prod, "prod")                       a function of the graph, or a method by its name
    def prod(*args, **kwargs): ...

A body that returns NotImplemented declines, and the next row is asked. If all rows decline, the operator or
function stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload

from capture_records import dataclass
from codegen.kernel.families import Table
from codegen.rewrite import contents

aten = torch.ops.aten
Body = Callable[..., Any]
WIDE = (torch.float32, torch.float64)
HALF = (torch.bfloat16, torch.float16)


@dataclass(frozen=True, slots=True)
class Row:
    """One body, and the arguments that it is for.

    `probe`: the position of the tensor argument that decides whether the body is asked. `dtypes`: the dtypes
    of this tensor (None: any arguments). `any_size`: the tensor may have no dims or no elements.
    """

    body: Body
    probe: int = 0
    dtypes: tuple[torch.dtype, ...] | None = None
    any_size: bool = True

    def is_for(self, args: tuple[Any, ...]) -> bool:
        if self.dtypes is None:
            return True
        tensor = args[self.probe]
        return tensor.dtype in self.dtypes and (self.any_size or (tensor.numel() > 0 and tensor.dim() > 0))


#: operator -> its rows, below autograd: the first one that fits the arguments and does not decline is taken
OPERATORS: Table[list[Row]] = Table(contents, "OPERATORS")
#: function, or name of a method -> the body that is called in its place, above autograd
FUNCTIONS: Table[Body] = Table(contents, "FUNCTIONS")


def rewriting(
    *ops: OpOverload, probe: int = 0, dtypes: tuple[torch.dtype, ...] | None = WIDE, any_size: bool = False
) -> Callable[[Body], Body]:
    def register(body: Body) -> Body:
        for op in ops:
            OPERATORS.setdefault(op, []).append(Row(body, probe, dtypes, any_size))
        return body

    return register


def replacing(*targets: Any) -> Callable[[Body], Body]:
    def register(body: Body) -> Body:
        for target in targets:
            FUNCTIONS[target] = body
        return body

    return register


def row_major(tensor: torch.Tensor) -> torch.Tensor:
    """Eager's kernels for rows give row-major results for every layout of the operand."""
    return tensor if tensor.is_contiguous() else aten.clone(tensor, memory_format=torch.contiguous_format)


def in_rows(tensor: torch.Tensor, dim: int) -> torch.Tensor:
    """`tensor`, for code that reads rows along `dim` several times.

    It is copied to row-major order where `dim` is the last dim, but its elements do not lie side by side.
    """
    last = tensor.dim() - 1
    across = dim % tensor.dim() == last and tensor.shape[last] != 1 and tensor.stride(last) not in (0, 1)
    return row_major(tensor) if across else tensor


def to(tensor: Any, dtype: torch.dtype) -> Any:
    return tensor if tensor is None or tensor.dtype is dtype else aten._to_copy(tensor, dtype=dtype)
