"""The operator of second derivatives of a recurrent layer over packed sequences.

In:  what the forward has kept, the tensors of the layer, the gradients of its results, and tangents of the
     gradients of its tensors (`codegen.rewrite.packed_gradients`).
Out: the derivatives with respect to gates, tensors and gradients.

    packed_derivatives("lstm", False, rows, kept, [first, first_cell, weight], ...)   ->   [of_gates, ...]

A graph can't unroll this loop: which steps have how many rows, only a run knows. So the operator takes the
steps one by one when it runs (`recurrent_steps`), and autograd differentiates them. Its results have no
derivatives themselves. The import of this module defines it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from codegen.kernel.own_operators import KERNELS, LIBRARY
from codegen.kernel.recurrent_steps import STEPS, Packed

Tensor = torch.Tensor


def derivatives(
    kind: str,
    reverse: bool,
    rows: Tensor,
    kept: Tensor,
    tensors: Sequence[Tensor],
    grads: Sequence[Tensor],
    tangents: Sequence[Tensor],
) -> list[Tensor]:
    """The derivatives of the gradients of gates and `tensors`, with respect to gates, tensors, and `grads`,
    those of the results. `tensors`: the states before the first step, the weight, the bias, if any.
    """
    with torch.enable_grad():
        given = [gates_of(kind, kept, tensors), *tensors, *grads]
        inside = [tensor.detach().requires_grad_() for tensor in given]
        own, sent = inside[: -len(grads)], inside[-len(grads) :]
        results = STEPS[kind](kept, Packed(reverse, rows.tolist()))(*own)
        found = torch.autograd.grad(results, own, sent, create_graph=True)
        return list(torch.autograd.grad(found, inside, tangents, materialize_grads=True))


def gates_of(kind: str, kept: Tensor, tensors: Sequence[Tensor]) -> Tensor:
    """Zeros: the steps read what is kept in the place of their values."""
    weight = tensors[2 if kind == "lstm" else 1]
    return kept.new_zeros(kept.shape[0], weight.shape[0])


def like_results(
    kind: str, reverse: bool, rows: Tensor, kept: Tensor, tensors: Any, grads: Any, tangents: Any
) -> list[Tensor]:
    given = [gates_of(kind, kept, tensors), *tensors, *grads]
    return [tensor.new_empty(tensor.shape) for tensor in given]


NAME = LIBRARY.define(
    "packed_derivatives(str kind, bool reverse, Tensor rows, Tensor kept, Tensor[] tensors, Tensor[] grads, "
    "Tensor[] tangents) -> Tensor[]"
)
LIBRARY.impl(NAME, derivatives, "CPU")
LIBRARY.impl(NAME, like_results, "Meta")
KERNELS[f"{LIBRARY.ns}::{NAME}"] = derivatives
