"""Operators of our own: a recurrent layer in one direction, over all its steps.

In:  gates [steps, batch, width of all gates]: the inputs times their weight, with the bias; the state before
     the first step [batch, width]; the weight of the states, in torch's layout.
Out: `torch.ops._capture.gru_layer` and its like: the states of all steps [steps, batch, width].

    gru_layer(f32[30, 8, 192], f32[8, 64], f32[192, 64], f32[192], False, True)   ->   f32[30, 8, 64], kept

An LSTM also takes the cell before the first step, and gives the cell behind the last one. `kept` holds what
the backward needs; it is empty where none follows. `native/recurrent/` has the loop over the steps. The
import of this module defines the operators.
"""

from __future__ import annotations

from typing import Any

import _capture
import torch

from codegen.kernel.own_operators import addresses, defined

GATES = 3  # of a GRU, in the order of torch: reset, update, new
LSTM_GATES = 4  # input, forget, candidate, output
Tensor = torch.Tensor


def sizes(states: Tensor, reverse: bool, relu: bool = False) -> tuple[Any, ...]:
    return states.dtype is torch.float64, reverse, relu, *states.shape


@defined(
    "lstm_layer(Tensor gates, Tensor first, Tensor first_cell, Tensor weight, bool reverse, bool keep) "
    "-> (Tensor, Tensor, Tensor)"
)
def lstm_layer(
    gates: Tensor, first: Tensor, first_cell: Tensor, weight: Tensor, reverse: bool, keep: bool
) -> Any:
    """The states of all steps, the last cell [batch, width], and what the backward needs."""
    steps, batch, width = gates.shape[0], *first.shape
    states, cell = gates.new_empty(steps, batch, width), gates.new_empty(batch, width)
    kept = gates.new_empty(steps, batch, (LSTM_GATES + 1) * width) if keep else gates.new_empty(0)

    def run() -> None:
        written = addresses(gates, first, first_cell, weight, states, cell, kept if keep else None)
        _capture.lstm_forward(sizes(states, reverse), written)

    return (states, cell, kept), run


@defined(
    "lstm_layer_backward(Tensor grad, Tensor grad_of_cell, Tensor first_cell, Tensor kept, Tensor weight, "
    "bool reverse) -> (Tensor, Tensor, Tensor)"
)
def lstm_layer_backward(
    grad: Tensor, grad_of_cell: Tensor, first_cell: Tensor, kept: Tensor, weight: Tensor, reverse: bool
) -> Any:
    """The gradients of the gates, of the first state and of the first cell."""
    steps, batch, width = grad.shape
    of_gates = grad.new_empty(steps, batch, LSTM_GATES * width)
    of_first, of_cell = (grad.new_empty(batch, width) for _ in range(2))

    def run() -> None:
        read = (grad, grad_of_cell, first_cell, kept, weight)
        _capture.lstm_backward(sizes(grad, reverse), addresses(*read, of_gates, of_first, of_cell))

    return (of_gates, of_first, of_cell), run


@defined(
    "gru_layer(Tensor gates, Tensor first, Tensor weight, Tensor? bias, bool reverse, bool keep) "
    "-> (Tensor, Tensor)"
)
def gru_layer(
    gates: Tensor, first: Tensor, weight: Tensor, bias: Tensor | None, reverse: bool, keep: bool
) -> Any:
    steps, batch, width = gates.shape[0], *first.shape
    states = gates.new_empty(steps, batch, width)
    kept = gates.new_empty(steps, batch, (GATES + 1) * width) if keep else gates.new_empty(0)

    def run() -> None:
        written = addresses(gates, first, weight, bias, states, kept if keep else None)
        _capture.gru_forward(sizes(states, reverse), written)

    return (states, kept), run


@defined(
    "gru_layer_backward(Tensor grad, Tensor states, Tensor first, Tensor kept, Tensor weight, bool reverse) "
    "-> (Tensor, Tensor, Tensor)"
)
def gru_layer_backward(
    grad: Tensor, states: Tensor, first: Tensor, kept: Tensor, weight: Tensor, reverse: bool
) -> Any:
    """The gradients of the gates, of the products of states and weight, and of the first state."""
    steps, batch, width = states.shape
    of_gates, of_products = (states.new_empty(steps, batch, GATES * width) for _ in range(2))
    of_first = first.new_empty(batch, width)

    def run() -> None:
        written = addresses(grad, states, first, kept, weight, of_gates, of_products, of_first)
        _capture.gru_backward(sizes(states, reverse), written)

    return (of_gates, of_products, of_first), run


@defined("rnn_layer(Tensor gates, Tensor first, Tensor weight, bool relu, bool reverse) -> Tensor")
def rnn_layer(gates: Tensor, first: Tensor, weight: Tensor, relu: bool, reverse: bool) -> Any:
    states = gates.new_empty(gates.shape)

    def run() -> None:
        _capture.rnn_forward(sizes(states, reverse, relu), addresses(gates, first, weight, states))

    return states, run


@defined(
    "rnn_layer_backward(Tensor grad, Tensor states, Tensor weight, bool relu, bool reverse) "
    "-> (Tensor, Tensor)"
)
def rnn_layer_backward(grad: Tensor, states: Tensor, weight: Tensor, relu: bool, reverse: bool) -> Any:
    """The gradients of the gates and of the first state."""
    of_gates, of_first = states.new_empty(states.shape), states.new_empty(states.shape[1:])

    def run() -> None:
        written = addresses(grad, states, weight, of_gates, of_first)
        _capture.rnn_backward(sizes(states, reverse, relu), written)

    return (of_gates, of_first), run
