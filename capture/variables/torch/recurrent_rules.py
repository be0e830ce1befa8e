"""Recurrent networks over sequences whose lengths the graph does not know.

In:  a call of `torch.lstm`, `gru`, `rnn_tanh` or `rnn_relu`; the packing of a padded batch, and its way back.
Out: an operation of the graph; a graph break where the loop is unrolled and its length changes from call to
     call, and for packed data whose loop is not native.

    gru(f32[8, s0, 64])       ->   an operation, with a native loop (`codegen.rewrite.recurrent_operators`)
    gru(packed f32[s0, 64])   ->   the same
    gru(bf16[8, 30, 64])      ->   an operation, which is unrolled
    gru(bf16[8, s0, 64])      ->   a break: each s0 would need the operations of s0 steps compiled alone
    gru(packed bf16[s0, 64])  ->   a break: the values of the lengths say which operations there are
    pack_padded_sequence(...) ->   a break: the shapes depend on the values of the lengths

An LSTM is an operation like the first one, or one operator of oneDNN, whatever the number of its steps.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch
import torch._VF

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable, realize
from capture.variables.core.rules import rule
from capture.variables.tensors.tensor import TensorVariable

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter

#: which of the arguments are the data, and whether their second dim is time
DATA, BATCH_FIRST = 0, 8
#: dtypes of networks that are not unrolled, unless autocast converts them
NATIVE = (torch.float32, torch.float64)


def _network(function: Any, tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    if _is_packed(function, args) and not _has_native_loop(function, args, kwargs):
        raise _depends_on_lengths(function.__name__)
    policy = tx.output.symbols.policy
    tells = policy.may_break and not policy.dynamic  # under dynamic=True a symbol tells nothing
    if function is not torch.lstm and tells and _unrolls_open_length(args):
        raise GraphBreak("recurrent_length", name=function.__name__)
    return tx.output.call_function(tx, function, list(args), kwargs)


def _is_packed(function: Any, args: tuple[Variable, ...]) -> bool:
    """Whether the batch sizes of packed data stand in the place of the states, or of the weights."""
    place = 1 if function is torch.lstm else 2
    return len(args) > place and isinstance(realize(args[place]), TensorVariable)


def _has_native_loop(function: Any, args: tuple[Variable, ...], kwargs: dict[str, Variable]) -> bool:
    from codegen.rewrite.recurrent_operators import call_of, takes  # lazy: import time

    proxies = (
        tuple(arg.as_proxy_for(function) for arg in args),
        {name: arg.as_proxy_for(function) for name, arg in kwargs.items()},
    )
    call = call_of(function, *torch.fx.node.map_arg(proxies, lambda node: node.meta["example_value"]))
    return call is not None and takes(call)


def _depends_on_lengths(name: str) -> GraphBreak:
    """The break comes before torch reads a fake tensor of lengths: after an error of torch's the frame would
    be translated again with all of its sizes fixed, and so once for each longest sequence.
    """
    return GraphBreak("data_dependent_shape", what=f"{name} of a packed sequence")


def _packing(name: str, tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    raise _depends_on_lengths(name)


def _unrolls_open_length(args: tuple[Variable, ...]) -> bool:
    if len(args) != BATCH_FIRST + 1 or not isinstance(data := realize(args[DATA]), TensorVariable):
        return False
    if data.fake.dtype in NATIVE and not torch.is_autocast_enabled("cpu"):
        return False
    layout = args[BATCH_FIRST]
    if data.fake.dim() < 2 or not (layout.is_exactly(True) or layout.is_exactly(False)):
        return False
    return isinstance(data.fake.shape[int(layout.is_exactly(True))], torch.SymInt)


for _function in (torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu):
    rule(_function)(functools.partial(_network, _function))
for _name in ("_pack_padded_sequence", "_pad_packed_sequence"):
    rule(getattr(torch._VF, _name))(functools.partial(_packing, _name))
