"""Attributes and methods of tensors with rules of their own.

In:  `x.grad_fn`, `x.device`, `x.detach_()`, `x[key] = value`, ... on a TensorVariable.
Out: constants, nodes of the graph, or a break where only eager knows the answer.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch.utils import _pytree as pytree

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.sequence import SizeVariable, holds_symbols
from capture.variables.core.base import Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.wrap import wrap_class
from capture.variables.tensors.gradient_node import GradientNodeVariable
from capture.variables.tensors.tensor import TENSOR_ATTRIBUTES, TENSOR_METHODS, TensorVariable

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter


def _is_leaf(self: TensorVariable, tx: Interpreter) -> Variable:
    return ConstantVariable((self.leaf or self).fake.is_leaf)


def _grad_fn(self: TensorVariable, tx: Interpreter) -> Variable:
    if self.fake.grad_fn is None:
        return ConstantVariable(None)
    return GradientNodeVariable(tx, self)


def _base(self: TensorVariable, tx: Interpreter) -> Variable:
    if self.value is not None or self.fake._base is not None:
        raise self.unknown("get_attr", "_base")
    return ConstantVariable(None)


def _device(self: TensorVariable, tx: Interpreter) -> Variable:
    """A new object at every read, as in torch."""
    device = self.fake.device
    made = torch.device(device.type) if device.index is None else torch.device(device.type, device.index)
    return ConstantVariable(made)


def _nbytes(self: TensorVariable, tx: Interpreter) -> Variable:
    return tx.wrap_constant(self.fake.numel() * self.fake.itemsize)


def _nelement(self: TensorVariable, tx: Interpreter) -> Variable:
    return tx.wrap_constant(self.fake.numel())


def _class(self: TensorVariable, tx: Interpreter) -> Variable:
    return wrap_class(tx.output, self.python_type())


def _type_name(self: TensorVariable, tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    if args or kwargs:
        return tx.output.call_method(tx, "type", [self, *args], kwargs)
    return ConstantVariable(self.fake.type())


def _of_graph(name: str) -> Callable[[TensorVariable, Interpreter], Variable]:
    """The rule for the tensor's place in autograd's own graph. It is known only for leaves."""

    def read(self: TensorVariable, tx: Interpreter) -> Variable:
        if not self.fake.is_leaf:
            raise self.unknown("get_attr", name)
        return ConstantVariable(getattr(self.fake, name))

    return read


def _iter(self: TensorVariable, tx: Interpreter) -> Variable:
    return self.iterate(tx)


def _detach_in_place(self: TensorVariable, tx: Interpreter) -> Variable:
    """`x.detach_()` of a result. From here on the variable stands for the detached tensor.

    Breaks for an input, because the caller holds that tensor; for a view, which torch refuses; and for a
    tensor with views, whose gradients and writes depend on the tensor.
    """
    if self.source is not None:
        raise GraphBreak("method", name="detach_", value=self)
    if self.fake._is_view() or _has_views(self, tx):
        raise self.unknown("method", "detach_")
    detached = tx.output.call_method(tx, "detach", [self], {})
    assert isinstance(detached, TensorVariable)
    self.node, self.fake, self.is_detached = detached.node, detached.fake, True
    return self


def _has_views(self: TensorVariable, tx: Interpreter) -> bool:
    """Whether another tensor of the graph has its memory."""
    memory = self.fake.untyped_storage()._cdata
    values = pytree.tree_leaves([node.meta.get("example_value") for node in tx.output.graph.nodes])
    others = (v for v in values if isinstance(v, torch.Tensor) and v is not self.fake)
    return any(other.untyped_storage()._cdata == memory for other in others)


def _is_view(self: TensorVariable, tx: Interpreter) -> Variable:
    """Whether a result is a view. It breaks for an input, because no guard checks that."""
    if self.value is not None or self.is_detached:
        raise self.unknown("method", "_is_view")
    return ConstantVariable(self.fake._is_view())


def _get_item(self: TensorVariable, tx: Interpreter, key: Variable) -> Variable:
    return tx.output.call_function(tx, operator.getitem, [self, key], {})


def _new(self: TensorVariable, tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    """`x.new(size)` with separate sizes: in the graph a size is a tuple, which `new` takes for values."""
    if len(args) != 1 or not isinstance(args[0], SizeVariable):
        return tx.output.call_method(tx, "new", [self, *args], kwargs)
    sizes = args[0].unpack(tx)
    name = "new" if sizes else "new_empty"
    return tx.output.call_method(tx, name, [self, *(sizes or args)], kwargs)


def _set_item(self: TensorVariable, tx: Interpreter, key: Variable, value: Variable) -> Variable:
    tx.output.call_function(tx, operator.setitem, [self, key, value], {})
    return ConstantVariable(None)


def _new_tensor(self: TensorVariable, tx: Interpreter, *args: Variable, **kwargs: Variable) -> Variable:
    """`x.new_tensor(sizes)` as `torch.tensor`, which takes symbols."""
    if not args or not holds_symbols(tx, args[0]):
        return tx.output.call_method(tx, "new_tensor", [self, *args], kwargs)
    own: dict[str, Variable] = {name: self.get_attr(tx, name) for name in ("dtype", "device")}
    return tx.output.call_function(tx, torch.tensor, list(args), {**own, **kwargs})


TENSOR_ATTRIBUTES.update(
    {
        "is_leaf": _is_leaf,
        "grad_fn": _grad_fn,
        "_base": _base,
        "output_nr": _of_graph("output_nr"),
        "retains_grad": _of_graph("retains_grad"),
        "__class__": _class,
        "device": _device,
        "nbytes": _nbytes,
    }
)
TENSOR_METHODS.update(
    {
        "new_tensor": _new_tensor,
        "type": _type_name,
        "detach_": _detach_in_place,
        "_is_view": _is_view,
        "nelement": _nelement,
        "new": _new,
        "__iter__": _iter,
        "__getitem__": _get_item,
        "__setitem__": _set_item,
    }
)
