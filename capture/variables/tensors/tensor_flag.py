"""`x.requires_grad = flag` and `x.requires_grad_(flag)`.

In:  stores of `requires_grad` and calls of `requires_grad_` on a TensorVariable.
Out: nothing, if the tensor has that flag; for a tensor that the graph makes, an operation of the graph, which
     makes it a leaf (`capture/interpret/inner_gradients.py`); for an existing leaf that no later operation
     reads, a side effect: the real flag changes after the graph (`capture/interpret/changed_flags.py`). Else
     the graph breaks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.tensors.tensor import TENSOR_METHODS, TENSOR_STORES, TensorVariable

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter, Output


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
    tx.output.modes.grad_mode_counts = True
    if self.get_attr(tx, "requires_grad").is_exactly(flag.as_constant()):
        return True  # a guard checks the flag of an input
    if _is_made(self) and flag.as_constant() and may_differentiate(tx.output):
        made = tx.output.call_method(tx, "requires_grad_", [self], {})
        tx.output.inner_gradients.note_leaf(self.fake)
        return made is self
    if not _is_leaf(self):
        return False
    tx.output.changed_flags.note(self)
    tx.output.side_effects.store_attr(self, "requires_grad", flag)
    return True


def may_differentiate(output: Output) -> bool:
    """Whether the graph may have its own leaves and gradients. A body may run more than once, or in a mode of
    its own; other projects' compilers need not know such operations.
    """
    return output.is_own and not output.unbacked.bodies


def _is_made(self: TensorVariable) -> bool:
    """Whether the graph makes the tensor, and may make it a leaf that gradients come to."""
    plain = type(self) is TensorVariable and self.cls is torch.Tensor and not self.is_detached
    exists = self.value is not None or self.source is not None or self.node.op == "placeholder"
    return plain and not exists and self.leaf is None and _may_require(self.fake)


def _may_require(fake: torch.Tensor) -> bool:
    kind = fake.is_floating_point() or fake.is_complex()
    return fake.is_leaf and not fake.is_inference() and kind


def _is_leaf(self: TensorVariable) -> bool:
    exists = self.value is not None and self.source is not None and self.cls is torch.Tensor
    return exists and _may_require(self.fake) and self.leaf is None and self.node.op == "placeholder"


TENSOR_STORES["requires_grad"] = _store
TENSOR_METHODS["requires_grad_"] = _call
