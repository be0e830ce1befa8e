"""Gradients of a recurrent layer over packed sequences that have derivatives themselves.

In:  the tensors of a layer (`codegen.rewrite.recurrent_operators`), their gradients, the rows of each step.
Out: the same gradients as results of a node of autograd's graph. Its backward is one operator.

    (of_gates, ...)   ->   PackedGradients;   backward: packed_derivatives("lstm", False, rows, kept, ...)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from codegen.kernel import packed_derivatives  # noqa: F401  defines the operator
from codegen.kernel.errors import UntraceableError

Tensor = torch.Tensor


class PackedGradients(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        kind: str,
        reverse: bool,
        rows: Tensor,
        kept: Tensor,
        found: Sequence[Tensor],
        gates: Tensor,
        tensors: int,
        *rest: Tensor,
    ) -> tuple[Tensor, ...]:
        """`rest`: so many tensors, and the gradients of the results. Of a bias only the shape is read."""
        values = [t if t.dim() > 1 else torch.zeros(t.shape, dtype=t.dtype) for t in rest]
        ctx.save_for_backward(rows, kept, *values)
        ctx.kind, ctx.reverse, ctx.tensors = kind, reverse, tensors
        return tuple(torch.ops.aten.alias.default(grad) for grad in found)

    @staticmethod
    def backward(ctx: Any, *tangents: Tensor) -> Any:
        if torch.is_grad_enabled():
            raise UntraceableError("third derivatives through packed sequences")
        rows, kept, *rest = ctx.saved_tensors
        tensors, grads = rest[: ctx.tensors], rest[ctx.tensors :]
        of_gates, *others = torch.ops._capture.packed_derivatives(
            ctx.kind, ctx.reverse, rows, kept, tensors, grads, list(tangents)
        )
        return None, None, None, None, None, of_gates, None, *others


#: skips `torch.autograd.Function.apply`, whose checks are for functorch
apply = super(torch.autograd.Function, PackedGradients).apply


def differentiable(
    kind: str,
    reverse: bool,
    rows: Tensor,
    kept: Tensor,
    found: Sequence[Tensor],
    tensors: Sequence[Tensor],
    grads: Sequence[Tensor],
) -> tuple[Tensor, ...]:
    """`found`: the gradients of `tensors`, the gates first. Returns them as results of a node that leads to
    the tensors and to `grads`.
    """
    gates, *others = tensors
    made: tuple[Tensor, ...] = apply(kind, reverse, rows, kept, found, gates, len(others), *others, *grads)
    return made
