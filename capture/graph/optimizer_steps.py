"""Steps of optimizers over all parameters, as targets of graph nodes.

In:  lists of parameters, gradients and states; numbers.
Out: they have their new contents. On real tensors these are the ones of torch's loops, to the last bit. When
     a compiler traces a step on fake tensors, it is torch's fused operator, which rounds in another way.

    adam_steps([p0, p1], [g0, g1], ...)   ->   steps += 1; torch._fused_adamw_([p0, p1], [g0, g1], ...)
"""

from __future__ import annotations

from typing import Any

import torch

from capture.graph.number_operations import runs_for_real
from codegen.trace import updates

Tensors = list[torch.Tensor]


def adam_steps(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    max_exp_avg_sqs: Tensors,
    state_steps: Tensors,
    *,
    decoupled: bool,
    amsgrad: bool,
    **options: Any,
) -> None:
    """One step of AdamW (`decoupled`) or Adam."""
    if not runs_for_real(params):
        fused = torch._fused_adamw_ if decoupled else torch._fused_adam_
        torch._foreach_add_(state_steps, 1)
        lists = params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps
        fused(*lists, amsgrad=amsgrad, **options)
        return
    for i, (step, grad) in enumerate(zip(state_steps, grads, strict=True)):
        step += 1
        written = [states[i] for states in (params, exp_avgs, exp_avg_sqs, max_exp_avg_sqs) if states]
        largest = max_exp_avg_sqs[i] if amsgrad else None
        given = params[i], grad, exp_avgs[i], exp_avg_sqs[i], largest, step
        _write(written, updates.adam(*given, decoupled=decoupled, **options))


def sgd_steps(params: Tensors, grads: Tensors, momentum_buffers: Tensors, **options: Any) -> None:
    """One step of SGD."""
    if not runs_for_real(params):
        torch._fused_sgd_(params, grads, momentum_buffers, is_first_step=False, **options)
        return
    for i, grad in enumerate(grads):
        written = [states[i] for states in (params, momentum_buffers) if states]
        buffer = momentum_buffers[i] if momentum_buffers else None
        _write(written, updates.sgd(params[i], grad, buffer, is_first_step=False, **options))


def _write(targets: Tensors, values: updates.Tensors) -> None:
    for target, value in zip(targets, values, strict=True):
        target.copy_(value)
