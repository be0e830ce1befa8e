"""`x.requires_grad = flag` and `x.requires_grad_(flag)`.

In:  stores of `requires_grad` and calls of `requires_grad_` on a TensorVariable.
Out: nothing, if the tensor has that flag; for an existing leaf that no later operation reads, a side
     effect: the real flag changes after the graph (`capture/interpret/changed_flags.py`). Else the graph
     breaks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.tensors.tensor import TENSOR_METHODS, TENSOR_STORES, TensorVariable

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter


def _store(self: TensorVariable, tx: Interpreter, value: Variable) -> None:
    if not _set_flag(self, tx, value):
        raise GraphBreak("set_attr", value=self, name="requires_grad")


def _call(
    self: TensorVariable, tx: Interpreter, requires_grad: Variable = ConstantVariable(True)
) -> Variable:
    if not _set_flag(self, tx, requires_grad):
        raise GraphBreak("method", name="requires_grad_", value=self)
    return self


def _set_flag(self: TensorVariable, tx: Interpreter, flag: Variable) -> bool:
    """False where Python has to do it: also where torch raises an error."""
    transformed = torch._C._functorch.peek_interpreter_stack() is not None  # there it is an error
    if transformed or not flag.is_constant() or type(flag.as_constant()) is not bool:
        return False
    if self.get_attr(tx, "requires_grad").is_exactly(flag.as_constant()):
        return True  # a guard checks the flag of an input
    if not _is_leaf(self):
        return False
    tx.output.changed_flags.note(self)
    tx.output.side_effects.store_attr(self, "requires_grad", flag)
    return True


def _is_leaf(self: TensorVariable) -> bool:
    fake = self.fake
    exists = self.value is not None and self.source is not None and self.cls is torch.Tensor
    plain = fake.is_leaf and not fake.is_inference() and (fake.is_floating_point() or fake.is_complex())
    return exists and plain and self.leaf is None and self.node.op == "placeholder"


TENSOR_STORES["requires_grad"] = _store
TENSOR_METHODS["requires_grad_"] = _call
