"""The steps of a recurrent layer one by one, for gradients that have derivatives themselves.

In:  the tensors of a layer (`codegen.rewrite.recurrent_operators`), its states, and the gradient of these.
Out: the gradients of its inputs, as operations that autograd can differentiate.

    update = sigmoid(gates + products)   ->   known(gates + products, update, "sigmoid")

The forward has kept what the gates are. A graph of derivatives can read that, but not what they were computed
from, so no step computes its gates again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Tensor = torch.Tensor
#: function -> its derivative, by its value
SLOPES: dict[str, Callable[[Tensor], Any]] = {
    "identity": lambda value: 1,
    "sigmoid": lambda value: value * (1 - value),
    "tanh": lambda value: 1 - value * value,
    "relu": lambda value: value > 0,
}


class Known(torch.autograd.Function):
    """`value`, which is function(argument), with the derivatives of that."""

    @staticmethod
    def forward(ctx: Any, argument: Tensor, value: Tensor, function: str) -> Tensor:
        result: Tensor = torch.ops.aten.alias.default(value)
        ctx.save_for_backward(result)
        ctx.function = function
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (value,), (grad,) = ctx.saved_tensors, grads
        return grad * SLOPES[ctx.function](value), None, None


#: skips `torch.autograd.Function.apply`, whose checks are for functorch
known = super(torch.autograd.Function, Known).apply


def gradients(
    steps: Callable[..., Tensor | tuple[Tensor, ...]],
    tensors: Sequence[Tensor | None],
    grads: Sequence[Tensor],
) -> list[Tensor | None]:
    """The gradients of those of the tensors that require one; `steps` computes the results from all."""
    # Aliases: a tensor may depend on another one, whose gradient has no part that comes through the first.
    inside = [tensor if tensor is None else torch.ops.aten.alias.default(tensor) for tensor in tensors]
    wanted = [tensor for tensor in inside if tensor is not None and tensor.requires_grad]
    found = dict(zip(map(id, wanted), torch.autograd.grad(steps(*inside), wanted, grads, create_graph=True)))
    return [found.get(id(tensor)) for tensor in inside]


def in_order(count: int, reverse: bool) -> list[int]:
    return list(range(count))[:: -1 if reverse else 1]


def lstm(kept: Tensor, reverse: bool) -> Callable[..., tuple[Tensor, Tensor]]:
    def steps(gates: Tensor, state: Tensor, cell: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        made: dict[int, Tensor] = {}
        for step in in_order(gates.shape[0], reverse):
            sums = (gates.select(0, step) + state @ weight.t()).chunk(4, 1)
            *values, now = kept.detach().select(0, step).chunk(5, 1)
            functions = ("sigmoid", "sigmoid", "tanh", "sigmoid")
            given, forget, candidate, output = map(known, sums, values, functions)
            cell = known(forget * cell + given * candidate, now, "identity")
            state = made[step] = output * known(cell, now.tanh(), "tanh")
        return torch.stack([made[step] for step in range(len(made))]), cell

    return steps


def gru(kept: Tensor, reverse: bool) -> Callable[..., Tensor]:
    def steps(gates: Tensor, state: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        made: dict[int, Tensor] = {}
        for step in in_order(gates.shape[0], reverse):
            products = state @ weight.t()
            given, own = gates.select(0, step).chunk(3, 1), (products if bias is None else products + bias)
            of_reset, of_update, of_new = own.chunk(3, 1)
            values = kept.detach().select(0, step).chunk(4, 1)
            reset = known(given[0] + of_reset, values[0], "sigmoid")
            update = known(given[1] + of_update, values[1], "sigmoid")
            new = known(given[2] + reset * known(of_new, values[3], "identity"), values[2], "tanh")
            state = made[step] = (state - new) * update + new
        return torch.stack([made[step] for step in range(len(made))])

    return steps


def rnn(states: Tensor, relu: bool, reverse: bool) -> Callable[..., Tensor]:
    def steps(gates: Tensor, state: Tensor, weight: Tensor) -> Tensor:
        made: dict[int, Tensor] = {}
        for step in in_order(gates.shape[0], reverse):
            value = states.detach().select(0, step)
            total = gates.select(0, step) + state @ weight.t()
            state = made[step] = known(total, value, "relu" if relu else "tanh")
        return torch.stack([made[step] for step in range(len(made))])

    return steps
