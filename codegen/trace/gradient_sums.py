"""Sums of gradients that autograd's engine adds in place.

In:  an addition that a traced backward calls, and its result.
Out: whether eager writes the sum into its first operand, whose strides the sum has then.

    f32[16, 1, 3, 3] with strides (9, 1, 3, 1) + another gradient of the same weight
        ->   (9, 1, 3, 1); out of place it were (9, 9, 3, 1)

Where a tensor is read in several places, the engine adds what comes from them. Nobody else has the first
gradient, as a rule: the engine adds to it in place. It never does so with fake tensors. A dense tensor and
its sums out of place differ in the strides of dims of size 1 alone.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch
from torch._ops import OpOverload

from codegen.fake.shapes.spec import is_dense
from codegen.kernel.hints import are_numbers

if TYPE_CHECKING:
    from codegen.trace.recorder import Recorder

ADD = torch.ops.aten.add.Tensor
#: references to a gradient that waits alone: the engine's, Python's, and two of the call
ALONE = 4


def is_added_in_place(recorder: Recorder, func: OpOverload, args: tuple[Any, ...], result: Any) -> bool:
    """Asked by the function that torch calls for an operator."""
    if func is not ADD or torch.is_grad_enabled() or not is_called_by_engine(sys._getframe(2)):
        return False
    first, second = args

    def is_laid_out_otherwise() -> bool:
        shape, strides = first.shape, first.stride()
        return shape == second.shape and strides != result.stride() and is_dense(shape, strides)

    if are_numbers(*first.shape, *second.shape, *first.stride(), *result.stride()):
        differs = is_laid_out_otherwise()
    else:
        env: Any = recorder.mode.shape_env
        differs = env.knows(is_laid_out_otherwise)
    return differs and first.dtype is second.dtype and is_free(recorder, first)


def is_called_by_engine(frame: Any) -> bool:
    """Whether no Python function of a step of the backward makes the call."""
    return frame.f_code is torch.autograd.graph._engine_run_backward.__code__


def is_free(recorder: Recorder, gradient: torch.Tensor) -> bool:
    """Whether it is memory that an earlier step has made, and nobody else holds it. In the step that runs now
    it would be an intermediate value.
    """
    tracked = recorder.find(gradient)
    if tracked.parent is not None or tracked.memory.placeholder is not None:
        return False
    made_by = None if recorder.steps is None else recorder.steps.get(tracked.node)
    references: int = gradient._use_count()  # type: ignore[attr-defined]
    return made_by is not torch._C._current_autograd_node() and references <= ALONE
