"""Gradients of a recurrent layer over packed sequences that have derivatives themselves.

In:  the tensors of a layer (`codegen.rewrite.recurrent_operators`), their gradients, the rows of each step.
Out: the same gradients as results of a node of autograd's graph. Its backward is one operator, which has
     derivatives as well.

    (of_gates, ...)   ->   PackedGradients;   backward: packed_derivatives("lstm", False, rows, kept, ...)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from codegen.kernel import packed_derivatives  # noqa: F401  defines the operator

Tensor = torch.Tensor


class PackedGradients(torch.autograd.Function):
    """The gradients, or their derivatives of an order: the backward is this function again."""

    @staticmethod
    def forward(
        ctx: Any,
        layer: tuple[str, bool, int, int],
        rows: Tensor,
        kept: Tensor,
        found: Sequence[Tensor] | None,
        gates: Tensor,
        *given: Tensor,
    ) -> tuple[Tensor, ...]:
        """`given`: so many tensors as the layer has, the gradients of its results, and for each further order
        its tangents. `found`: the gradients; None where there are tangents.
        """
        ctx.save_for_backward(rows, kept, gates, *given)
        ctx.layer = kind, reverse, tensors, grads = layer
        if found is not None:
            return tuple(torch.ops.aten.alias.default(grad) for grad in found)
        # Of a bias only the shape is read: a graph of derivatives need not have its value.
        own = [t if t.dim() > 1 else torch.zeros(t.shape, dtype=t.dtype) for t in given[:tensors]]
        sent, tangents = given[tensors : tensors + grads], given[tensors + grads :]
        made: list[Tensor] = torch.ops._capture.packed_derivatives(
            kind, reverse, rows, kept, own, list(sent), list(tangents)
        )
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, *tangents: Tensor) -> Any:
        rows, kept, gates, *given = ctx.saved_tensors
        return None, None, None, None, *apply(ctx.layer, rows, kept, None, gates, *given, *tangents)


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
    layer = kind, reverse, len(others), len(grads)
    made: tuple[Tensor, ...] = apply(layer, rows, kept, found, gates, *others, *grads)
    return made
