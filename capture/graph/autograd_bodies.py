"""A custom autograd function whose forward and backward are graphs.

A node of `capture.variables.torch.autograd_function` runs it where the node can't run the program's class,
and in native code: another process finds no class of the program, but it can read these graphs.

In:  `Bodies` (two graphs, and which values each of them reads), and the tensors of the call. Sizes that the
     bodies read are among the tensors.
Out: the results of the forward. Autograd calls the backward.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from capture_records import dataclass


@dataclass
class Bodies:
    """A place counts the tensors of the call, then the results, then other tensors of the forward.

    `forward_reads`, `backward_reads`: the inputs of the graphs. The backward takes them after the gradients.
    `results`: how many tensors of the forward are results of the program's function.
    `dirty`: the tensors of the call that are written to.
    `constant`: the results without a gradient.
    `gradients`: for each tensor of the call, its place among the results of the backward.
    `once`: the backward raises when it is differentiated.
    """

    forward: torch.fx.GraphModule
    backward: torch.fx.GraphModule
    forward_reads: list[int]
    backward_reads: list[int]
    results: int
    dirty: list[int]
    constant: list[int]
    gradients: list[int | None]
    once: bool


class InBodies(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, bodies: Bodies, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        made = bodies.forward(*(tensors[i] for i in bodies.forward_reads))
        results = made[: bodies.results]
        held = (*tensors, *made)
        ctx.bodies = bodies
        read = [held[i] for i in bodies.backward_reads]
        ctx.numbers = [None if isinstance(value, torch.Tensor) else value for value in read]
        ctx.save_for_backward(*(value for value in read if isinstance(value, torch.Tensor)))
        ctx.mark_dirty(*(tensors[i] for i in bodies.dirty))
        ctx.mark_non_differentiable(*(results[i] for i in bodies.constant))
        return results

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        tensors = iter(ctx.saved_tensors)
        read = [next(tensors) if number is None else number for number in ctx.numbers]
        made = ctx.bodies.backward(*grads, *read)
        return None, *(None if i is None else made[i] for i in ctx.bodies.gradients)


class InBodiesOnce(InBodies):
    backward = staticmethod(once_differentiable(InBodies.backward))  # type: ignore[assignment]


@functools.cache
def _apply_of(name: str, once: bool) -> Any:
    """It skips `torch.autograd.Function.apply`, whose checks serve functorch. Errors of autograd name the
    class as they name the program's.
    """
    cls: Any = type(name, (InBodiesOnce if once else InBodies,), {})
    return super(torch.autograd.Function, cls).apply


def in_bodies(name: str, parts: tuple[Any, ...], *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The results of `Bodies(*parts)`. The parts are values that the store can write. `name`: that of the
    program's class.
    """
    bodies = Bodies(*parts)
    results: tuple[torch.Tensor, ...] = _apply_of(name, bodies.once)(bodies, *tensors)
    return results
