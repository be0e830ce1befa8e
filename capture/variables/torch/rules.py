"""Rules for parts of torch's Python libraries (`torch.distributions`, `torch.nn`) that can't be interpreted.

In:  a call of such a function.
Out: a variable, or a node of the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.distributions.utils import _lazy_property_and_property

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.rules import late_rule, rule
from capture.variables.tensors.tensor import TensorVariable
from guards.sources import ConstantSource

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter


@rule(_lazy_property_and_property)
def _lazy_property_of_class(tx: Interpreter, wrapped: Variable) -> Variable:
    """A lazy property read from its class. The caller only checks its type, so one object is enough."""
    made = _lazy_property_and_property(wrapped.real_value())
    return tx.wrap(made, ConstantSource(made))


@rule(torch.nn.Buffer)
def _buffer(tx: Interpreter, data: Variable, *, persistent: Variable = ConstantVariable(True)) -> Variable:
    """A plain tensor with two attributes."""
    if not isinstance(data, TensorVariable) or data.cls is not torch.Tensor or data.fake.requires_grad:
        raise GraphBreak("call", value="torch.nn.Buffer")
    made = tx.output.call_method(tx, "detach", [data], {})
    for name, value in (("persistent", persistent), ("_is_buffer", ConstantVariable(True))):
        made.set_attr(tx, name, value)
    return made


@late_rule("torch._dynamo._trace_wrapped_higher_order_op", "ModIndex.apply")
def _index_of_tensors(tx: Interpreter, cls: Variable, tensor: Variable, indices: Variable) -> Variable:
    """The operator that `TransformGetItemToIndex` makes of `tensor[...]`.

    torch has another backward of it, written for its own tracers.
    """
    return tx.output.call_function(tx, torch.ops.aten.index, [tensor, indices], {})
