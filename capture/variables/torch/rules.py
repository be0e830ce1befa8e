"""Rules for parts of torch's Python libraries (`torch.distributions`, `torch.nn`) that can't be interpreted.

In:  a call of such a function.
Out: a variable, or a node of the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.distributions.utils import _lazy_property_and_property
from torch.nn.modules.transformer import _detect_is_causal_mask

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable, realize
from capture.variables.core.constant import NONE, ConstantVariable
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


@rule(torch.autograd.Variable)
def _variable(
    tx: Interpreter, data: Variable, requires_grad: Variable = ConstantVariable(False), **rest: Variable
) -> Variable:
    """The class of old programs: its tensors have the memory of `data`, and no gradient leads there."""
    data = realize(data)
    is_plain = isinstance(data, TensorVariable) and data.cls in (torch.Tensor, torch.nn.Parameter)
    if not is_plain or rest or not requires_grad.is_constant():
        raise GraphBreak("call", value="class Variable")
    made = tx.output.call_method(tx, "detach", [data], {})
    if requires_grad.is_exactly(False):
        return made
    return made.call_method(tx, "requires_grad_", [requires_grad], {})


@rule(_detect_is_causal_mask)
def _is_causal_mask(
    tx: Interpreter, mask: Variable, is_causal: Variable = NONE, size: Variable = NONE
) -> Variable:
    """Whether an existing mask is causal: known now, and asked again each time before the graph runs."""
    if is_causal.is_exactly(None) and _is_unwritten_input(tx, mask):
        rows = mask.call_method(tx, "size", [ConstantVariable(-2)], {})
        if size.is_exactly(None) or tx.compare("==", size, rows).truth(tx):
            causal = _is_causal(mask.real_value())
            asked = _is_causal if causal else _is_not_causal
            if tx.output.side_effects.deferred.require(asked, mask):
                return ConstantVariable(causal)
    return tx.inline(tx.wrap_function(_detect_is_causal_mask), [mask, is_causal, size], {})


def _is_unwritten_input(tx: Interpreter, value: Variable) -> bool:
    if not isinstance(value, TensorVariable) or value.source is None or type(value.value) is not torch.Tensor:
        return False
    return not tx.output.modes.function_modes and all(
        i.node is not value.node for i in tx.output.inputs.written()
    )


def _is_causal(mask: torch.Tensor) -> bool:
    """What `_detect_is_causal_mask(mask)` returns. The hook would capture torch's own function."""
    rows = mask.size(-2)
    causal = torch.full((rows, rows), float("-inf"), dtype=mask.dtype, device=mask.device).triu(1)
    return mask.size() == causal.size() and bool((mask == causal).all())


def _is_not_causal(mask: torch.Tensor) -> bool:
    return not _is_causal(mask)


@late_rule("torch._dynamo._trace_wrapped_higher_order_op", "ModIndex.apply")
def _index_of_tensors(tx: Interpreter, cls: Variable, tensor: Variable, indices: Variable) -> Variable:
    """The operator that `TransformGetItemToIndex` makes of `tensor[...]`.

    torch has another backward of it, written for its own tracers.
    """
    return tx.output.call_function(tx, torch.ops.aten.index, [tensor, indices], {})
