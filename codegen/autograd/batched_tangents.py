"""Batches of tangents under create_graph: `torch.autograd.grad(..., is_grads_batched=True)`.

In:  tangents that are batched tensors of vmap's mode, and a function that gives the gradients for plain ones.
Out: the gradients as batched tensors, each with its place in autograd's graph.

    grad(y, x, torch.eye(3), is_grads_batched=True, create_graph=True)  ->  three runs, their results stacked

Without create_graph the operators run on the batched tensors themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def gradients_of_batches(
    run: Callable[[Sequence[Any]], Sequence[Any]], tangents: Sequence[Any]
) -> tuple[Any, ...] | None:
    """The gradients for tangents of which some are batched; None without create_graph, and where it does not
    know their kind.

    `run` gets one member of the batch at a time, outside of vmap's mode. None is a missing tangent or
    gradient.
    """
    if not torch.is_grad_enabled():
        return None
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    if level != 1:  # a tensor doesn't tell to which of several levels it belongs
        return None
    batches = {i: physical(tangent, level) for i, tangent in enumerate(tangents) if is_batched(tangent)}
    if not batches:
        return None
    size = len(next(iter(batches.values())))  # torch refuses batches of none
    torch._C._vmapmode_decrement_nesting()
    try:
        members = [
            run([batches[i][k] if i in batches else tangent for i, tangent in enumerate(tangents)])
            for k in range(size)
        ]
        stacks = [None if grads[0] is None else torch.stack(grads) for grads in zip(*members)]
    finally:
        torch._C._vmapmode_increment_nesting()
    return tuple(None if grads is None else torch._add_batch_dim(grads, 0, level) for grads in stacks)


def is_batched(tangent: Any) -> bool:
    return type(tangent) is torch.Tensor and torch._C._dispatch_keys(tangent).has("Batched")


def physical(tangent: torch.Tensor, level: int) -> torch.Tensor:
    """The tensor below, its batches in dimension 0."""
    return torch._remove_batch_dim(tangent, level, 1, 0)
