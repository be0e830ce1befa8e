"""Operators of our own: a recurrent layer in one direction, over all its steps.

In:  gates [steps, batch, width of all gates]: the inputs times their weight, with the bias; the state before
     the first step [batch, width]; the weight of the states, in torch's layout.
Out: `torch.ops._capture.gru_layer` and its like: the states of all steps [steps, batch, width].

    gru_layer(f32[30, 8, 192], f32[8, 64], f32[192, 64], f32[192], False, True)   ->   f32[30, 8, 64], kept

An LSTM also takes the cell before the first step, and gives the cell behind the last one. `kept` holds what
the backward needs; it is empty where none follows. Packed sequences have their steps in one dim: gates
[all rows, width], and `rows`, the number of those of each step (int64, what torch calls `batch_sizes`).
`packed_places` raises a ValueError where they do not fit; the others take what it has checked.
`native/recurrent/` has the loop over the steps. The import of this module defines the operators.
"""

from __future__ import annotations

from typing import Any

import _capture
import torch

from codegen.kernel.own_operators import addresses, defined

GATES = 3  # of a GRU, in the order of torch: reset, update, new
LSTM_GATES = 4  # input, forget, candidate, output
Tensor = torch.Tensor


def sizes(
    states: Tensor, first: Tensor, rows: Tensor | None, reverse: bool, relu: bool = False
) -> tuple[Any, ...]:
    """Those of a layer with these states, as native code takes them."""
    steps = (states if rows is None else rows).shape[0]
    return states.dtype is torch.float64, reverse, relu, steps, *first.shape, packed(rows, states)


def packed(rows: Tensor | None, states: Tensor) -> tuple[int, int] | None:
    return None if rows is None else (rows.data_ptr(), states.shape[0])


def like(gates: Tensor, width: Any) -> Tensor:
    """For all steps, with other elements."""
    return gates.new_empty(*gates.shape[:-1], width)


@defined(
    "lstm_layer(Tensor gates, Tensor first, Tensor first_cell, Tensor weight, bool reverse, bool keep, "
    "Tensor? rows=None) -> (Tensor, Tensor, Tensor)"
)
def lstm_layer(
    gates: Tensor,
    first: Tensor,
    first_cell: Tensor,
    weight: Tensor,
    reverse: bool,
    keep: bool,
    rows: Tensor | None = None,
) -> Any:
    """The states of all steps, the last cell [batch, width], and what the backward needs."""
    batch, width = first.shape
    states, cell = like(gates, width), gates.new_empty(batch, width)
    kept = like(gates, (LSTM_GATES + 1) * width) if keep else gates.new_empty(0)

    def run() -> None:
        written = addresses(gates, first, first_cell, weight, states, cell, kept if keep else None)
        _capture.lstm_forward(sizes(states, first, rows, reverse), written)

    return (states, cell, kept), run


@defined(
    "lstm_layer_backward(Tensor grad, Tensor grad_of_cell, Tensor first_cell, Tensor kept, Tensor weight, "
    "bool reverse, Tensor? rows=None) -> (Tensor, Tensor, Tensor)"
)
def lstm_layer_backward(
    grad: Tensor,
    grad_of_cell: Tensor,
    first_cell: Tensor,
    kept: Tensor,
    weight: Tensor,
    reverse: bool,
    rows: Tensor | None = None,
) -> Any:
    """The gradients of the gates, of the first state and of the first cell."""
    of_gates = like(grad, LSTM_GATES * grad.shape[-1])
    of_first, of_cell = (first_cell.new_empty(first_cell.shape) for _ in range(2))

    def run() -> None:
        written = addresses(grad, grad_of_cell, first_cell, kept, weight, of_gates, of_first, of_cell)
        _capture.lstm_backward(sizes(grad, first_cell, rows, reverse), written)

    return (of_gates, of_first, of_cell), run


@defined(
    "gru_layer(Tensor gates, Tensor first, Tensor weight, Tensor? bias, bool reverse, bool keep, "
    "Tensor? rows=None) -> (Tensor, Tensor)"
)
def gru_layer(
    gates: Tensor,
    first: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    reverse: bool,
    keep: bool,
    rows: Tensor | None = None,
) -> Any:
    width = first.shape[1]
    states = like(gates, width)
    kept = like(gates, (GATES + 1) * width) if keep else gates.new_empty(0)

    def run() -> None:
        written = addresses(gates, first, weight, bias, states, kept if keep else None)
        _capture.gru_forward(sizes(states, first, rows, reverse), written)

    return (states, kept), run


@defined(
    "gru_layer_backward(Tensor grad, Tensor states, Tensor first, Tensor kept, Tensor weight, bool reverse, "
    "Tensor? rows=None) -> (Tensor, Tensor, Tensor)"
)
def gru_layer_backward(
    grad: Tensor,
    states: Tensor,
    first: Tensor,
    kept: Tensor,
    weight: Tensor,
    reverse: bool,
    rows: Tensor | None = None,
) -> Any:
    """The gradients of the gates, of the products of states and weight, and of the first state."""
    of_gates, of_products = (like(states, GATES * states.shape[-1]) for _ in range(2))
    of_first = first.new_empty(first.shape)

    def run() -> None:
        written = addresses(grad, states, first, kept, weight, of_gates, of_products, of_first)
        _capture.gru_backward(sizes(states, first, rows, reverse), written)

    return (of_gates, of_products, of_first), run


@defined(
    "rnn_layer(Tensor gates, Tensor first, Tensor weight, bool relu, bool reverse, Tensor? rows=None) "
    "-> Tensor"
)
def rnn_layer(
    gates: Tensor, first: Tensor, weight: Tensor, relu: bool, reverse: bool, rows: Tensor | None = None
) -> Any:
    states = gates.new_empty(gates.shape)

    def run() -> None:
        written = addresses(gates, first, weight, states)
        _capture.rnn_forward(sizes(states, first, rows, reverse, relu), written)

    return states, run


@defined(
    "rnn_layer_backward(Tensor grad, Tensor states, Tensor first, Tensor weight, bool relu, bool reverse, "
    "Tensor? rows=None) -> (Tensor, Tensor)"
)
def rnn_layer_backward(
    grad: Tensor,
    states: Tensor,
    first: Tensor,
    weight: Tensor,
    relu: bool,
    reverse: bool,
    rows: Tensor | None = None,
) -> Any:
    """The gradients of the gates and of the first state."""
    of_gates, of_first = states.new_empty(states.shape), first.new_empty(first.shape)

    def run() -> None:
        written = addresses(grad, states, weight, of_gates, of_first)
        _capture.rnn_backward(sizes(states, first, rows, reverse, relu), written)

    return (of_gates, of_first), run


@defined("packed_places(Tensor rows, SymInt count, SymInt batch, bool reverse) -> (Tensor, Tensor, Tensor)")
def packed_places(rows: Tensor, count: Any, batch: Any, reverse: bool) -> Any:
    """The rows of each step, checked, and places of states: in the `batch` first ones, and behind them the
    `count` of all steps.

    [batch]: of the last state of each sequence, without the first ones. [count]: of the state before each.
    """
    checked, last, before = rows.new_empty(rows.shape), rows.new_empty(batch), rows.new_empty(count)

    def run() -> None:
        given = (rows.data_ptr(), count)
        _capture.packed_places(reverse, rows.shape[0], batch, given, last.data_ptr(), before.data_ptr())
        checked.copy_(rows)

    return (checked, last, before), run
