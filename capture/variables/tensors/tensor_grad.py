"""`x.grad`: read and stored.

In:  loads and stores of `grad` on a TensorVariable.
Out: the gradient as an input of the graph; the real store happens after the graph.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch

from capture.policy import first_steps
from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.wrap import wrap
from capture.variables.tensors.tensor import TENSOR_ATTRIBUTES, TENSOR_STORES, TensorVariable
from guards.sources import GradSource

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter


def _grad(self: TensorVariable, tx: Interpreter) -> Variable:
    if self.value is None or self.source is None:
        if self.fake.is_leaf or not self.fake.requires_grad:
            return ConstantVariable(None)
        raise GraphBreak("get_attr", value=self, name="grad")
    first_steps.check(tx, functools.partial(_waits_for_gradient, self.value))
    return wrap(tx.output, self.value.grad, GradSource(self.source))


def _waits_for_gradient(tensor: torch.Tensor) -> bool:
    return tensor.grad is None and tensor.is_leaf and tensor.requires_grad


def _set_grad(self: TensorVariable, tx: Interpreter, value: Variable) -> None:
    if self.source is None or not fits_as_grad(self, value):
        raise GraphBreak("set_attr", value=self, name="grad")
    tx.output.side_effects.store_attr(self, "grad", value)


def fits_as_grad(owner: TensorVariable, value: Variable) -> bool:
    """Whether torch accepts the value. If not, torch raises, and Python runs the statement."""
    if not isinstance(value, TensorVariable):
        return value.is_exactly(None)
    same = all(
        getattr(owner.fake, name) == getattr(value.fake, name)
        for name in ("dtype", "device", "layout", "shape")
    )
    return same and value is not owner


TENSOR_ATTRIBUTES["grad"] = _grad
TENSOR_STORES["grad"] = _set_grad
