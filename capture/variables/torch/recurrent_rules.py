"""Recurrent networks whose loop over time is unrolled in a graph.

In:  a call of `torch.gru`, `rnn_tanh` or `rnn_relu`, on a padded batch.
Out: an operation of the graph; a graph break where the loop is unrolled and its length changes from call to
     call.

    gru(f32[8, s0, 64])     ->   an operation, with a native loop (`codegen.rewrite.recurrent_operators`)
    gru(bf16[8, 30, 64])    ->   an operation, which is unrolled
    gru(bf16[8, s0, 64])    ->   a break: each s0 would need the operations of s0 steps compiled for it alone

An LSTM is an operation like the first one, or one operator of oneDNN, whatever the number of its steps.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

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


def _maybe_unrolled(function: Any, tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    policy = tx.output.symbols.policy
    changes = not policy.dynamic and _unrolls_open_length(args)  # under dynamic=True a symbol tells nothing
    if policy.may_break and changes:
        raise GraphBreak("recurrent_length", name=function.__name__)
    return tx.output.call_function(tx, function, list(args), kwargs)


def _unrolls_open_length(args: tuple[Variable, ...]) -> bool:
    """Packed data have their batch sizes in the place of the states, and no layout as the last argument."""
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
