"""Attributes of `torch.Tensor` that torch computes, as objects on the class.

In:  `torch.Tensor.shape`, or `torch.Tensor.shape.__get__` (the function that a `__torch_function__` gets for
     `x.shape`).
Out: constants that can be compared and called.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Variable
from capture.variables.core.constant import NONE, ConstantVariable
from capture.variables.core.wrap import guard_identity, wraps
from capture.variables.objects.wrap import wrap_object
from capture.variables.tensors.tensor import TensorVariable
from guards.sources import ConstantSource

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter, Output
    from guards.sources import Source

NAMES = ("__name__", "__qualname__", "__doc__")


class TensorDescriptorVariable(ConstantVariable):
    """`torch.Tensor.shape`."""

    value: types.GetSetDescriptorType

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name in ("__get__", "__set__"):
            return AccessorVariable(getattr(self.value, name))
        if name in NAMES:
            return ConstantVariable(getattr(self.value, name))
        return super().get_attr(tx, name)


class AccessorVariable(ConstantVariable):
    """`torch.Tensor.shape.__get__`."""

    value: types.MethodWrapperType

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name == "__self__":
            return TensorDescriptorVariable(self.value.__self__)
        if name in NAMES:
            return ConstantVariable(getattr(self.value, name))
        return super().get_attr(tx, name)

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        attribute = self.value.__self__.__name__  # type: ignore[attr-defined]
        if kwargs or not args or not isinstance(args[0], TensorVariable):
            raise GraphBreak("call", value=self)
        if self.value.__name__ == "__get__":
            return args[0].torch_attribute(tx, attribute)
        TensorVariable.set_attr(args[0], tx, attribute, args[1])
        return NONE


@wraps(types.GetSetDescriptorType)
def wrap_attribute_of_tensors(
    output: Output, value: types.GetSetDescriptorType, source: Source | None
) -> Variable:
    if not issubclass(torch.Tensor, value.__objclass__):
        return wrap_object(output, value, source)
    guard_identity(output, value, source)
    return TensorDescriptorVariable(value)


@wraps(types.MethodWrapperType)
def wrap_accessor(output: Output, value: types.MethodWrapperType, source: Source | None) -> Variable:
    """A variable of an accessor that the translation itself has looked up. Each look-up makes a new one."""
    owner = value.__self__
    of_tensors = isinstance(owner, types.GetSetDescriptorType) and issubclass(
        torch.Tensor, owner.__objclass__
    )
    if not of_tensors or not isinstance(source, ConstantSource):
        return wrap_object(output, value, source)
    return AccessorVariable(value)
