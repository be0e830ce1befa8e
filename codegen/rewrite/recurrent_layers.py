"""Recurrent networks of several layers with dropout between them, one layer at a time.

In:  the arguments of `torch.lstm`, `gru`, `rnn_tanh` or `rnn_relu`, with symbolic sizes: a padded batch, or
     packed data and its batch sizes.
Out: the result of that function.

On symbolic sizes torch runs a body in Python in place of the one in C++. This body (`_rnn_helper` in
torch/_decomp/decompositions.py of 2.13) never drops anything. For a single layer both compute the same.

What `recurrent_operators` takes is computed there. The other LSTMs that oneDNN computes are one call for each
layer. The body in Python makes it one operation for each
product and gate of each step where gradients are computed, and its loop makes the length a number. So all
sizes become numbers before, and torch takes the body in C++:

    lstm(x[s0, s1, 8], ...)   ->   lstm(x.view(35, 10, 8), ...)      guards: s0 == 35, s1 == 10
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from codegen.kernel.errors import UntraceableError
from codegen.rewrite.recurrent_operators import KINDS, network


def is_for_onednn(data: torch.Tensor, states: Any, parameters: Any) -> bool:
    """Whether eager gives this LSTM to oneDNN. (Its other conditions hold for what is captured.)"""
    tensors = (data, *states, *parameters)
    return (
        torch._C._get_mkldnn_enabled()
        and all(t.dtype is torch.float32 and t.device.type == "cpu" for t in tensors)
        and states[0].shape[-1] == states[1].shape[-1]
        and not torch.is_autocast_enabled("cpu")
    )


def has_sizes(tensor: torch.Tensor) -> bool:
    """Whether all its sizes are known, as numbers or as symbols with values."""
    return all(isinstance(size, int) or size.node.has_hint() for size in tensor.shape)


def sized(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with numbers as sizes."""
    return tensor.view([int(size) for size in tensor.shape])


def by_onednn(data: torch.Tensor, states: Any, parameters: Any, *rest: Any) -> Any:
    """`torch.lstm(...)` by the body in C++. NotImplemented for what oneDNN does not compute."""
    if not is_for_onednn(data, states, parameters) or not all(map(has_sizes, (data, *states))):
        return NotImplemented
    with torch._C._DisablePythonDispatcher():  # it has the body in Python
        return torch.lstm(sized(data), [sized(state) for state in states], parameters, *rest)


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
        if function is torch.lstm and (made := by_onednn(*args)) is not NotImplemented:
            return made
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
