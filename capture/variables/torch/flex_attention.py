"""`torch.nn.attention.flex_attention` in a graph: the dense computation that torch runs on a CPU.

In:  the call of torch's operator, with functions of the program that change scores and masks.
Out: products, the functions under `vmap` over all four dims, and a softmax, as operations of the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch._higher_order_ops.flex_attention import FlexAttentionHOP

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable
from capture.variables.core.rules import rule
from capture.variables.torch import attention_polyfills

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter


@rule(FlexAttentionHOP.__call__)
def _flex_attention(tx: Interpreter, hop: Variable, *args: Variable, **kwargs: Variable) -> Variable:
    """Interprets the kernel for CPUs in plain Python. Under autocast, torch casts its arguments first."""
    if torch.is_autocast_enabled("cpu"):
        raise GraphBreak("call_skipped", name="flex_attention", why="it runs under autocast")
    return tx.wrap_function(attention_polyfills.dense_attention).call(tx, list(args), kwargs)
