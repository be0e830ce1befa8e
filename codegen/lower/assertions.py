"""Assertions: kernels that compute nothing but may fail.

In:  a condition, as `TensorExpr`.
Out: a store that fails the kernel if the condition is false.

    aten._assert_async(c)   ->   a store of Checked(c, c) to a buffer that nobody reads
"""

from __future__ import annotations

from typing import Any

import torch

from codegen.lower.registry import lowering
from codegen.lower.scalar_math import nonzero
from codegen.lower.tensor_expr import Checked, TensorExpr

aten = torch.ops.aten


@lowering(aten._assert_async.default, aten._assert_async.msg)
def assertion(ctx: Any, condition: TensorExpr, message: str = "") -> None:
    """If the kernel fails, eager runs the graph again and raises its own error."""
    holds = nonzero(condition)
    ctx.realize(Checked(holds, holds))
