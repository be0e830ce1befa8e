"""The steps of a recurrent layer one by one, for gradients that have derivatives themselves.

In:  the tensors of a layer (`codegen.rewrite.recurrent_operators`), its states, and the gradient of these.
Out: the gradients of its inputs, as operations that autograd can differentiate.

    update = sigmoid(gates + products)   ->   known(gates + products, update, "sigmoid")

The forward has kept what the gates are. A graph of derivatives can read that, but not what they were computed
from, so no step computes its gates again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

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


class Padded(NamedTuple):
    """The order of steps that all have the whole batch."""

    reverse: bool

    def order(self, gates: Tensor) -> list[int]:
        return list(range(gates.shape[0]))[:: -1 if self.reverse else 1]

    def of(self, tensor: Tensor, step: int) -> Tensor:
        return tensor.select(0, step)

    def before(self, state: Tensor, step: int) -> Tensor:
        """The rows of a state, or of a cell, that this step goes on with."""
        return state

    def after(self, new: Tensor, state: Tensor, step: int) -> Tensor:
        return new

    def together(self, made: dict[int, Tensor]) -> Tensor:
        return torch.stack([made[step] for step in range(len(made))])


class Packed(NamedTuple):
    """The order of steps of packed sequences: each has so many rows. Others keep their state."""

    reverse: bool
    rows: list[int]

    def order(self, gates: Tensor) -> list[int]:
        return list(range(len(self.rows)))[:: -1 if self.reverse else 1]

    def of(self, tensor: Tensor, step: int) -> Tensor:
        return tensor.narrow(0, sum(self.rows[:step]), self.rows[step])

    def before(self, state: Tensor, step: int) -> Tensor:
        return state[: self.rows[step]]

    def after(self, new: Tensor, state: Tensor, step: int) -> Tensor:
        return torch.cat((new, state[self.rows[step] :]))

    def together(self, made: dict[int, Tensor]) -> Tensor:
        return torch.cat([made[step] for step in range(len(made))])


def lstm(kept: Tensor, walk: Padded | Packed) -> Callable[..., tuple[Tensor, Tensor]]:
    def steps(gates: Tensor, state: Tensor, cell: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        made: dict[int, Tensor] = {}
        for step in walk.order(gates):
            sums = (walk.of(gates, step) + walk.before(state, step) @ weight.t()).chunk(4, 1)
            *values, now = walk.of(kept.detach(), step).chunk(5, 1)
            functions = ("sigmoid", "sigmoid", "tanh", "sigmoid")
            given, forget, candidate, output = map(known, sums, values, functions)
            new = known(forget * walk.before(cell, step) + given * candidate, now, "identity")
            made[step] = output * known(new, now.tanh(), "tanh")
            state, cell = walk.after(made[step], state, step), walk.after(new, cell, step)
        return walk.together(made), cell

    return steps


def gru(kept: Tensor, walk: Padded | Packed) -> Callable[..., Tensor]:
    def steps(gates: Tensor, state: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        made: dict[int, Tensor] = {}
        for step in walk.order(gates):
            before = walk.before(state, step)
            products = before @ weight.t()
            given, own = walk.of(gates, step).chunk(3, 1), (products if bias is None else products + bias)
            of_reset, of_update, of_new = own.chunk(3, 1)
            values = walk.of(kept.detach(), step).chunk(4, 1)
            reset = known(given[0] + of_reset, values[0], "sigmoid")
            update = known(given[1] + of_update, values[1], "sigmoid")
            new = known(given[2] + reset * known(of_new, values[3], "identity"), values[2], "tanh")
            made[step] = (before - new) * update + new
            state = walk.after(made[step], state, step)
        return walk.together(made)

    return steps


def rnn(function: str, states: Tensor, walk: Padded | Packed) -> Callable[..., Tensor]:
    def steps(gates: Tensor, state: Tensor, weight: Tensor) -> Tensor:
        made: dict[int, Tensor] = {}
        for step in walk.order(gates):
            value = walk.of(states.detach(), step)
            total = walk.of(gates, step) + walk.before(state, step) @ weight.t()
            made[step] = known(total, value, function)
            state = walk.after(made[step], state, step)
        return walk.together(made)

    return steps


#: kind of a layer -> its steps, by what the forward has kept (of an RNN its states) and an order
STEPS: dict[str, Callable[..., Callable[..., Tensor | tuple[Tensor, ...]]]] = {
    "lstm": lstm,
    "gru": gru,
    "tanh": partial(rnn, "tanh"),
    "relu": partial(rnn, "relu"),
}
