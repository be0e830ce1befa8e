"""Recurrent networks over sequences whose lengths the graph does not know.

In:  a call of `torch.lstm`, `gru`, `rnn_tanh` or `rnn_relu`; the packing of a padded batch, and its way back.
Out: an operation of the graph; a graph break where the loop is unrolled and its length changes from call to
     call, and for packed data.

    gru(f32[8, s0, 64])     ->   an operation, with a native loop (`codegen.rewrite.recurrent_operators`)
    gru(bf16[8, 30, 64])    ->   an operation, which is unrolled
    gru(bf16[8, s0, 64])    ->   a break: each s0 would need the operations of s0 steps compiled for it alone
    gru(packed data)        ->   a break: the shapes depend on the values of the lengths

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


def _lstm(tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    if len(args) > 1 and isinstance(realize(args[1]), TensorVariable):
        raise _depends_on_lengths("lstm")
    return tx.output.call_function(tx, torch.lstm, list(args), kwargs)


def _maybe_unrolled(function: Any, tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    if len(args) > 2 and isinstance(realize(args[2]), TensorVariable):
        raise _depends_on_lengths(function.__name__)
    policy = tx.output.symbols.policy
    changes = not policy.dynamic and _unrolls_open_length(args)  # under dynamic=True a symbol tells nothing
    if policy.may_break and changes:
        raise GraphBreak("recurrent_length", name=function.__name__)
    return tx.output.call_function(tx, function, list(args), kwargs)


def _depends_on_lengths(name: str) -> GraphBreak:
    """For packed data, which have their batch sizes in the place of the states.

    It comes before torch reads a fake tensor of lengths: after an error of torch's the frame would be
    translated again with all of its sizes fixed, and so once for each longest sequence.
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


for _function in (torch.gru, torch.rnn_tanh, torch.rnn_relu):
    rule(_function)(functools.partial(_maybe_unrolled, _function))
rule(torch.lstm)(_lstm)
for _name in ("_pack_padded_sequence", "_pad_packed_sequence"):
    rule(getattr(torch._VF, _name))(functools.partial(_packing, _name))
