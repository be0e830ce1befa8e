"""Recurrent networks of several layers with dropout between them, one layer at a time.

In:  the arguments of `torch.lstm`, `gru`, `rnn_tanh` or `rnn_relu`, with symbolic sizes: a padded batch, or
     packed data and its batch sizes.
Out: the result of that function.

On symbolic sizes torch runs a body in Python in place of the one in C++. This body (`_rnn_helper` in
torch/_decomp/decompositions.py of 2.13) never drops anything. For a single layer both compute the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from codegen.kernel.errors import UntraceableError
from codegen.rewrite.recurrent_operators import KINDS, network


def by_layers(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if function in KINDS and (made := network(function, *args, **kwargs)) is not NotImplemented:
        return made
    if kwargs or len(args) != 9:
        raise UntraceableError(
            f"{function.__name__} on symbolic sizes, with arguments other than nine positional ones"
        )
    if isinstance(args[3], (list, tuple)):
        data, batch_sizes, states, parameters, biases, layers, dropout, train, bidirectional = args
        sizes, layout, batch_first = [batch_sizes], [], False
    else:
        data, states, parameters, biases, layers, dropout, train, bidirectional, batch_first = args
        sizes, layout = [], [False]  # the layout of one layer: time first
    if layers == 1 or not train or dropout == 0:
        return function(*args)
    if batch_first:  # eager draws random numbers in the order of time
        data = data.transpose(0, 1)
    several = isinstance(states, (list, tuple))  # an LSTM has two
    directions, count = 2 if bidirectional else 1, len(parameters) // layers
    last = []
    for layer in range(layers):
        own = [state.narrow(0, layer * directions, directions) for state in (states if several else [states])]
        weights = parameters[layer * count : (layer + 1) * count]
        data, *state = function(
            data, *sizes, own if several else own[0], weights, biases, 1, 0.0, train, bidirectional, *layout
        )  # fmt: skip
        last.append(state)
        if layer < layers - 1:
            data = torch.dropout(data, dropout, True)
    if batch_first:
        data = data.transpose(0, 1)
    return data, *(torch.cat(parts) for parts in zip(*last))


FORMS: dict[Any, Callable[..., Any]] = {
    function: functools.partial(by_layers, function)
    for function in (torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu)
}
