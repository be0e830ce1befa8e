"""Calls of a custom autograd function in plain Python.

In:  the class of the function, and the arguments or the gradients.
Out: the context with the result of the forward, or the gradients of the arguments.
"""

from __future__ import annotations

from typing import Any

import torch


class FunctionContext:
    """The `ctx` of a custom function.

    It keeps its arguments for `capture.variables.torch.autograd_function`.
    """

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[Any, ...] = ()
        self.dirty_tensors: tuple[Any, ...] = ()
        self.non_differentiable: tuple[Any, ...] = ()
        self.materialize_grads = True

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        pass

    def mark_dirty(self, *tensors: Any) -> None:
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        self.materialize_grads = value


def forward(function: Any, has_setup: bool, needs_input_grad: Any, args: Any) -> Any:
    """The context and the result of the forward."""
    ctx = FunctionContext(needs_input_grad)
    if has_setup:
        result = function.forward(*args)
        function.setup_context(ctx, args, result)
    else:
        result = function.forward(ctx, *args)
    return ctx, result


def backward(function: Any, ctx: Any, grads: Any) -> Any:
    """The gradients of the arguments: one, or a tuple."""
    if function.vjp is not torch.autograd.Function.vjp:
        return function.vjp(ctx, *grads)
    return function.backward(ctx, *grads)
