"""`torch.autograd.Function` in plain Python: what its methods are given."""

from __future__ import annotations

from typing import Any

import torch


class FunctionContext:
    """The `ctx` of a custom function."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        pass

    def mark_non_differentiable(self, *tensors: Any) -> None:
        pass

    def set_materialize_grads(self, value: bool) -> None:
        pass


def forward(function: Any, has_setup: bool, needs_input_grad: Any, args: Any) -> Any:
    """The context, and what the forward returns."""
    ctx = FunctionContext(needs_input_grad)
    grad_was_enabled = torch.is_grad_enabled()
    try:
        torch.set_grad_enabled(False)
        if has_setup:
            result = function.forward(*args)
            function.setup_context(ctx, args, result)
        else:
            result = function.forward(ctx, *args)
    finally:
        torch.set_grad_enabled(grad_was_enabled)
    return ctx, result


def forward_and_backward(function: Any, has_setup: bool, needs_input_grad: Any, args: Any) -> Any:
    """Both directions, with gradients like the results."""
    ctx, result = forward(function, has_setup, needs_input_grad, args)
    results = result if isinstance(result, tuple) else (result,)
    grads = [torch.zeros_like(r) if isinstance(r, torch.Tensor) else None for r in results]
    grad_was_enabled = torch.is_grad_enabled()
    try:
        torch.set_grad_enabled(False)
        function.backward(ctx, *grads)
    finally:
        torch.set_grad_enabled(grad_was_enabled)
    return result
