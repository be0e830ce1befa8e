"""Rows of the table of rewritings, and the decorators that enter them.

In:  a body: what computes the same by simpler operators.
Out: rows in `OPERATORS` and `FUNCTIONS`, which `table.py` puts together.

    @rewriting(aten.silu.default)                        for float32 and float64 tensors, of some elements
    def silu(tensor): return aten.mul(tensor, aten.sigmoid(tensor))

    @replacing(torch.prod, "prod")                       a function of the graph, or a method by its name
    def prod(*args, **kwargs): ...

A body that gives NotImplemented declines: the next row is asked, at last the operator or function stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch._ops import OpOverload

aten = torch.ops.aten
Body = Callable[..., Any]
WIDE = (torch.float32, torch.float64)
HALF = (torch.bfloat16, torch.float16)


@dataclass(frozen=True, slots=True)
class Row:
    """`probe`: the position of the tensor argument that decides whether the body is asked; `dtypes`: those it is for
    (None: all arguments); `any_size`: also for tensors without dims or elements.
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


#: by operator, below autograd: the first row that is for the arguments and does not decline
OPERATORS: dict[OpOverload, list[Row]] = {}
#: by function, or name of a method, above autograd: what is called in its place
FUNCTIONS: dict[Any, Body] = {}


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
        FUNCTIONS.update(dict.fromkeys(targets, body))
        return body

    return register


def row_major(tensor: torch.Tensor) -> torch.Tensor:
    """Eager's kernels for rows give row-major results whatever the layout of the operand."""
    return tensor if tensor.is_contiguous() else aten.clone(tensor, memory_format=torch.contiguous_format)


def in_rows(tensor: torch.Tensor, dim: int) -> torch.Tensor:
    """`tensor`, of which rows along `dim` are to be read several times, without jumps from element to element
    where the result has such rows.
    """
    last = tensor.dim() - 1
    across = dim % tensor.dim() == last and tensor.shape[last] != 1 and tensor.stride(last) not in (0, 1)
    return row_major(tensor) if across else tensor
