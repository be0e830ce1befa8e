"""Recurrent networks by operators of our own, whose loop over time is native.

In:  the arguments of `torch.lstm`, `gru`, `rnn_tanh` or `rnn_relu`: a padded batch in float32 or float64.
Out: for each layer and direction one product of all steps with the weight of the inputs, and one operator of
     `codegen.kernel.recurrent`. NotImplemented for all others, which torch unrolls.

    gru(x[30, 8, 16], h0, ...)   ->   addmm(bias, x.view(240, 16), weight.t()); gru_layer(...)

The backward goes through the steps once for the gradients of the gates. Those of weights, biases and inputs
are one product or sum of all steps each. A graph of gradients that have derivatives themselves unrolls the
loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch.autograd import forward_ad

from codegen.kernel import recurrent
from codegen.rewrite import recurrent_steps
from codegen.rewrite.rows import WIDE, replacing

operators: Any = torch.ops._capture
Tensor = torch.Tensor
KINDS: dict[Any, str] = {torch.lstm: "lstm", torch.gru: "gru", torch.rnn_tanh: "tanh", torch.rnn_relu: "relu"}
#: of the gates, in states
WIDTHS = {"lstm": recurrent.LSTM_GATES, "gru": recurrent.GATES, "tanh": 1, "relu": 1}


# --- which calls --------------------------------------------------------------------------------------------


def takes(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the operators compute what this call does: its tensors have the sizes and dtypes that eager
    asks for, and nothing else has a say.
    """
    if not is_on or kwargs or len(args) != 9 or (states := states_of(function, args[1])) is None:
        return False
    data, _, weights, biased, layers, dropout, _, both, batch_first = args
    tensors = (data, *states, *weights)
    return (
        len(weights) == layers * (2 if both else 1) * (4 if biased else 2)
        and all(tensor.dim() == 3 for tensor in (data, *states))
        and all(t.dtype is data.dtype and t.device.type == "cpu" for t in tensors)
        and data.dtype in WIDE
        and all(size != 0 for weight in weights for size in weight.shape)
        and data.shape[1 if batch_first else 0] != 0
        and dropout != 1
        and not torch.is_autocast_enabled("cpu")
        and forward_ad._current_level < 0
        and torch._C._functorch.peek_interpreter_stack() is None
        and fit(KINDS[function], states, args)
        and not (function is torch.lstm and onednn_is_faster(data, states, weights, batch_first))
    )


#: layers that eager's oneDNN computes faster than our loop: many rows in each of many steps, or weights that
#: no cache holds (measured by AVX-512 on one core)
MANY_ROWS, MANY_STEPS, LEAST_WIDTH, LARGE_WIDTH = 48, 8, 128, 768


def onednn_is_faster(data: Tensor, states: tuple[Tensor, ...], weights: Any, batch_first: bool) -> bool:
    """Only of sizes that are numbers: each length is a graph of its own there. A backward of ours gains more
    than a forward loses.
    """
    steps, batch = (data.shape[dim] for dim in ((1, 0) if batch_first else (0, 1)))
    if data.dtype is not torch.float32 or not (isinstance(steps, int) and isinstance(batch, int)):
        return False
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (data, *states, *weights)):
        return False
    width = states[0].shape[2]
    many = batch > MANY_ROWS and steps > MANY_STEPS and width >= LEAST_WIDTH
    return bool(many or (width > LARGE_WIDTH and batch > 1 and steps > 1))


def states_of(function: Any, given: Any) -> tuple[Tensor, ...] | None:
    """The states before the first step: of an LSTM also the cells. None for others: packed data have their
    batch sizes in the place of the states.
    """
    if function is not torch.lstm:
        return (given,) if isinstance(given, Tensor) else None
    states = tuple(given) if isinstance(given, (tuple, list)) else ()
    return states if len(states) == 2 and all(isinstance(state, Tensor) for state in states) else None


def fit(kind: str, states: tuple[Tensor, ...], args: tuple[Any, ...]) -> bool:
    """Whether the sizes of the tensors fit together."""
    data, _, weights, biased, layers, _, _, both, batch_first = args
    directions, each = 2 if both else 1, 4 if biased else 2
    width, inputs = states[0].shape[2], data.shape[2]
    batch = data.shape[0 if batch_first else 1]
    if any(tuple(state.shape) != (layers * directions, batch, width) for state in states):
        return False
    rows = WIDTHS[kind] * width
    for place in range(layers * directions):
        own = weights[place * each : (place + 1) * each]
        inner = inputs if place < directions else width * directions
        if [tuple(weight.shape) for weight in own] != [(rows, inner), (rows, width), (rows,), (rows,)][:each]:
            return False
    return True


is_on = True


@contextmanager
def unrolled() -> Iterator[None]:
    """Traces of this block have the steps of recurrent networks one by one."""
    global is_on
    before, is_on = is_on, False
    try:
        yield
    finally:
        is_on = before


# --- one layer in one direction -----------------------------------------------------------------------------


class Lstm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, first: Tensor, first_cell: Tensor, weight: Tensor, reverse: bool
    ) -> tuple[Tensor, Tensor]:
        states, cell, kept = operators.lstm_layer(gates, first, first_cell, weight, reverse, True)
        ctx.save_for_backward(gates, first, first_cell, weight, states, kept)
        ctx.reverse = reverse
        return states, cell

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        gates, first, first_cell, weight, states, kept = ctx.saved_tensors
        if torch.is_grad_enabled():
            steps = recurrent_steps.lstm(kept, ctx.reverse)
            return *recurrent_steps.gradients(steps, (gates, first, first_cell, weight), grads), None
        of_gates, of_first, of_cell = operators.lstm_layer_backward(
            *grads, first_cell, kept, weight, ctx.reverse
        )
        return of_gates, of_first, of_cell, of_weight(of_gates, states, first, ctx.reverse), None


class Gru(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, first: Tensor, weight: Tensor, bias: Tensor | None, reverse: bool
    ) -> Tensor:
        states, kept = operators.gru_layer(gates, first, weight, bias, reverse, True)
        ctx.save_for_backward(gates, first, weight, bias, states, kept)
        ctx.reverse = reverse
        return states

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (gates, first, weight, bias, states, kept), (grad,) = ctx.saved_tensors, grads
        if torch.is_grad_enabled():
            steps = recurrent_steps.gru(kept, ctx.reverse)
            return *recurrent_steps.gradients(steps, (gates, first, weight, bias), grads), None
        of_gates, of_products, of_first = operators.gru_layer_backward(
            grad, states, first, kept, weight, ctx.reverse
        )
        of_bias = None if bias is None else of_products.sum([0, 1])
        return of_gates, of_first, of_weight(of_products, states, first, ctx.reverse), of_bias, None


class Rnn(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gates: Tensor, first: Tensor, weight: Tensor, relu: bool, reverse: bool) -> Tensor:
        states = operators.rnn_layer(gates, first, weight, relu, reverse)
        ctx.save_for_backward(gates, first, weight, states)
        ctx.relu, ctx.reverse = relu, reverse
        return states

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        (gates, first, weight, states), (grad,) = ctx.saved_tensors, grads
        if torch.is_grad_enabled():
            steps = recurrent_steps.rnn(states, ctx.relu, ctx.reverse)
            return *recurrent_steps.gradients(steps, (gates, first, weight), grads), None, None
        of_gates, of_first = operators.rnn_layer_backward(grad, states, weight, ctx.relu, ctx.reverse)
        return of_gates, of_first, of_weight(of_gates, states, first, ctx.reverse), None, None


def of_weight(of_products: Tensor, states: Tensor, first: Tensor, reverse: bool) -> Tensor:
    """The gradient of the weight of the states, from all steps."""
    steps, first = states.shape[0], first.unsqueeze(0)
    parts = (states.narrow(0, 1, steps - 1), first) if reverse else (first, states.narrow(0, 0, steps - 1))
    return of_products.flatten(0, 1).t().mm(torch.cat(parts).flatten(0, 1))


#: skips `torch.autograd.Function.apply`, whose checks are for functorch
lstm_with_gradients = super(torch.autograd.Function, Lstm).apply
gru_with_gradients = super(torch.autograd.Function, Gru).apply
rnn_with_gradients = super(torch.autograd.Function, Rnn).apply


def one_layer(
    kind: str, data: Tensor, first: list[Tensor], weights: list[Tensor], reverse: bool
) -> tuple[Tensor, ...]:
    """The states of all steps, and of an LSTM the last cell. `first`: the state before the first step, and of
    an LSTM the cell. `weights`: of the inputs, of the states, and the biases of both, if any.
    """
    of_inputs, of_states, *biases = weights
    steps, batch, inputs = data.shape
    flat, across = data.reshape(steps * batch, inputs), of_inputs.t()
    if biases:
        products = torch.addmm(biases[0] if kind == "gru" else biases[0] + biases[1], flat, across)
    else:
        products = torch.mm(flat, across)
    gates = products.view(steps, batch, of_inputs.shape[0])
    tensors = (gates, *first, of_states, *biases)
    learns = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    return FAMILIES[kind](learns, gates, *first, of_states, *biases[1:], reverse=reverse)


def lstm(
    learns: bool, gates: Tensor, first: Tensor, first_cell: Tensor, weight: Tensor, *_: Any, reverse: bool
) -> tuple[Tensor, ...]:
    if learns:
        found: tuple[Tensor, ...] = lstm_with_gradients(gates, first, first_cell, weight, reverse)
        return found
    states, cell, _ = operators.lstm_layer(gates, first, first_cell, weight, reverse, False)
    return states, cell


def gru(
    learns: bool, gates: Tensor, first: Tensor, weight: Tensor, bias: Tensor | None = None, *, reverse: bool
) -> tuple[Tensor, ...]:
    if learns:
        return (gru_with_gradients(gates, first, weight, bias, reverse),)
    return (operators.gru_layer(gates, first, weight, bias, reverse, False)[0],)


def rnn(
    relu: bool, learns: bool, gates: Tensor, first: Tensor, weight: Tensor, *_: Any, reverse: bool
) -> tuple[Tensor, ...]:
    run = rnn_with_gradients if learns else operators.rnn_layer
    return (run(gates, first, weight, relu, reverse),)


FAMILIES: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "lstm": lstm,
    "gru": gru,
    "tanh": partial(rnn, False),
    "relu": partial(rnn, True),
}


# --- all layers ---------------------------------------------------------------------------------------------


def network(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`torch.gru(data, states, weights, ...)`"""
    if not takes(function, args, kwargs):
        return NotImplemented
    data, given, weights, biased, layers, dropout, train, both, batch_first = args
    states = states_of(function, given) or ()
    directions, each = 2 if both else 1, 4 if biased else 2
    if batch_first:
        data = data.transpose(0, 1)
    last: list[tuple[Tensor, ...]] = []
    for layer in range(layers):
        made: list[Tensor] = []
        for reverse in (False, True)[:directions]:
            place = len(last)
            own = weights[place * each : (place + 1) * each]
            first = [state.select(0, place) for state in states]
            all_steps, *cell = one_layer(KINDS[function], data, first, own, reverse)
            made.append(all_steps)
            last.append((all_steps.select(0, 0 if reverse else -1), *cell))
        data = torch.cat(made, -1) if both else made[0]
        if dropout and train and layer < layers - 1:
            data = torch.dropout(data, dropout, True)
    return data.transpose(0, 1) if batch_first else data, *map(torch.stack, zip(*last))


for _function in KINDS:
    replacing(_function)(partial(network, _function))
