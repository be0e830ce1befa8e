"""The operator of second and further derivatives of a recurrent layer over packed sequences.

In:  what the forward has kept, the tensors of the layer, the gradients of its results, and tangents of the
     gradients of its tensors (`codegen.rewrite.packed_gradients`). For each further order also tangents of
     the derivatives of the order before.
Out: the derivatives with respect to gates, tensors, gradients, and all tangents but the last ones.

    packed_derivatives("lstm", False, rows, kept, [first, first_cell, weight], ...)   ->   [of_gates, ...]

A graph can't unroll this loop: which steps have how many rows, only a run knows. So the operator takes the
steps one by one when it runs (`recurrent_steps`), and autograd differentiates them. The import of this module
defines it.
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
    """`tensors`: the states before the first step, the weight, the bias, if any."""
    count = 1 + len(tensors)
    with torch.enable_grad():
        given = [gates_of(kind, kept, tensors), *tensors, *grads, *tangents]
        inside = [tensor.detach().requires_grad_() for tensor in given]
        own, (sent, *later) = inside[:count], in_orders(inside[count:], count, len(grads))
        results = STEPS[kind](kept, Packed(reverse, rows.tolist()))(*own)
        found = torch.autograd.grad(results, own, sent, create_graph=True)
        inputs = [*own, *sent]
        for order in later:
            made, tangents = zip(*[pair for pair in zip(found, order) if pair[0].requires_grad])
            is_last = order is later[-1]
            found = torch.autograd.grad(
                made, inputs, tangents, create_graph=not is_last, materialize_grads=True
            )
            inputs += order
    return list(found)


def in_orders(given: Sequence[Any], results: int, grads: int) -> list[Sequence[Any]]:
    """The gradients of the results, and for each order its tangents: so many as the results of the order
    before, which are the derivatives with respect to all inputs of that.
    """
    orders, inputs = [given[:grads]], results + grads
    given = given[grads:]
    while given:
        orders.append(given[:results])
        given = given[results:]
        results, inputs = inputs, inputs + results
    return orders


def gates_of(kind: str, kept: Tensor, tensors: Sequence[Tensor]) -> Tensor:
    """Zeros: the steps read what is kept in the place of their values."""
    weight = tensors[2 if kind == "lstm" else 1]
    return kept.new_zeros(kept.shape[0], weight.shape[0])


def like_results(
    kind: str, reverse: bool, rows: Tensor, kept: Tensor, tensors: Any, grads: Any, tangents: Any
) -> list[Tensor]:
    *_, last = in_orders([*grads, *tangents], 1 + len(tensors), len(grads))
    given = [gates_of(kind, kept, tensors), *tensors, *grads, *tangents[: len(tangents) - len(last)]]
    return [tensor.new_empty(tensor.shape) for tensor in given]


NAME = LIBRARY.define(
    "packed_derivatives(str kind, bool reverse, Tensor rows, Tensor kept, Tensor[] tensors, Tensor[] grads, "
    "Tensor[] tangents) -> Tensor[]"
)
LIBRARY.impl(NAME, derivatives, "CPU")
LIBRARY.impl(NAME, like_results, "Meta")
KERNELS[f"{LIBRARY.ns}::{NAME}"] = derivatives
