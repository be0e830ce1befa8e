"""Tensors of a class based on `torch.Tensor`.

Such a class defines operations itself (`__torch_function__`), or adds methods and attributes.

In:  existing tensors of such a class; `as_subclass`, the constructor of the class, and results of operations
     that become tensors of the class.
Out: a `TensorVariable`. It looks attributes and methods up in the class first. In the graph it is the plain
     tensor on the same memory.

A tensor of a class with its own `__torch_dispatch__` stands for another tensor. Python runs code with such
tensors.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.named_tuple import NamedTupleVariable
from capture.variables.containers.sequence import SequenceVariable, SizeVariable
from capture.variables.core.base import Variable
from capture.variables.core.class_lookup import (
    MISSING,
    class_attribute,
    class_value,
    is_data_descriptor,
    lookup_type,
)
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.rules import rule
from capture.variables.core.wrap import wrap_class
from capture.variables.objects.type_object import ClassVariable
from capture.variables.objects.user_object import answer_of_bool
from capture.variables.tensors import tensor_attributes
from capture.variables.tensors.followed_classes import is_followed
from capture.variables.tensors.tensor import TENSOR_METHODS, TensorVariable

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.output.result_recipe import Recipe
    from capture.variables.core.protocols import Interpreter
    from guards.sources import Source


def of_class(value: torch.Tensor, cls: type[torch.Tensor]) -> torch.Tensor:
    with torch._C.DisableTorchFunction():
        return torch.Tensor.as_subclass(value, cls)


class SubclassVariable(TensorVariable):
    def __init__(
        self, cls: type, node: torch.fx.Node, fake: torch.Tensor, source: Source | None = None
    ) -> None:
        super().__init__(node, fake, source)
        self.cls = cls

    def python_type(self) -> type:
        return self.cls

    def own_entry(self, tx: Interpreter, name: str) -> Any:
        """The raw entry of the class if it is the program's. MISSING if it is torch's. Guarded."""
        tx.output.guarding.class_entry(self, self.cls, name)
        found = lookup_type(self.cls, name)
        return MISSING if found is lookup_type(torch.Tensor, name) else found

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        found = self.own_entry(tx, name)
        if found is MISSING:
            return self.torch_attribute(tx, name)
        if not is_data_descriptor(found):
            own = tensor_attributes.load(self, tx, name)
            if own is not None:
                return own
        result = class_attribute(tx, self, self.cls, name)
        assert result is not None
        return result

    def torch_attribute(self, tx: Interpreter, name: str) -> Variable:
        if name in ("is_leaf", "grad", "grad_fn") and self.fake.requires_grad:
            # The guard that finds `grad` knows only torch's own classes.
            if self.value is None or name == "grad":
                raise GraphBreak("get_attr", value=self, name=name)
            if name == "is_leaf":
                with torch._C.DisableTorchFunction():
                    return ConstantVariable(self.value.is_leaf)
        return super().get_attr(tx, name)

    def set_attr(self, tx: Interpreter, name: str, value: Variable) -> None:
        found = self.own_entry(tx, name)
        if isinstance(found, property) and found.fset is not None:
            class_value(tx, self, found.fset, name, "fset").call(tx, [self, value], {})
        elif found is not MISSING and is_data_descriptor(found):
            raise GraphBreak("set_attr", value=self, name=name)
        elif found is MISSING and not tensor_attributes.is_free_name(name):
            raise GraphBreak("set_attr", value=self, name=name)  # torch passes it to the class
        else:
            tx.output.side_effects.store_attr(self, name, value)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if self.own_entry(tx, name) is not MISSING or name in self.attributes:
            return self.get_attr(tx, name).call(tx, args, kwargs)
        return super().call_method(tx, name, args, kwargs)

    def dunder(self, tx: Interpreter, name: str, args: list[Variable]) -> Variable | None:
        """Calls a special method that the program's class defines. None if the class has torch's method."""
        found = self.own_entry(tx, name)
        if found is MISSING:
            return None
        result = class_attribute(tx, self, self.cls, name)
        assert result is not None
        return result.call(tx, args, {})

    def truth(self, tx: Interpreter) -> bool:
        result = self.dunder(tx, "__bool__", [])
        return super().truth(tx) if result is None else answer_of_bool(tx, result)

    def length(self, tx: Interpreter) -> int:
        result = self.dunder(tx, "__len__", [])
        return super().length(tx) if result is None else result.as_constant()

    def iterate(self, tx: Interpreter) -> Variable:
        result = self.dunder(tx, "__iter__", [])
        return super().iterate(tx) if result is None else result

    def reconstruct(self, code: PythonCode) -> None:
        rebuild_as(self.cls, self, code)


class PlainAliasVariable(TensorVariable):
    """`x.as_subclass(torch.Tensor)`: another object on the memory of `x`, which is a view for autograd."""

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name in ("is_leaf", "grad_fn", "_base", "output_nr", "retains_grad"):
            raise self.unknown("get_attr", name)
        return super().get_attr(tx, name)

    def call_method(
        self, tx: Interpreter, name: str, args: list[Variable], kwargs: dict[str, Variable]
    ) -> Variable:
        if name == "_is_view":
            raise self.unknown("method", name)
        return super().call_method(tx, name, args, kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        rebuild_as(torch.Tensor, self, code)

    def add_to_recipe(self, recipe: Recipe) -> bool:
        return False


def rebuild_as(cls: type, value: TensorVariable, code: PythonCode) -> None:
    """Emits code for a tensor object of the class on the memory of `value`, with its attributes."""
    code.load_callable(of_class)
    code.load_memory(value.node)
    code.load_constant(cls)
    code.call(2)
    if value.attributes:
        tensor_attributes.rebuild(value, code)


def as_class(tx: Interpreter, value: TensorVariable, cls: type) -> TensorVariable:
    """A new tensor object of the class on the memory of `value`."""
    if cls is torch.Tensor:
        return PlainAliasVariable(value.node, value.fake)
    if not is_followed(cls) or issubclass(cls, torch.nn.Parameter):
        raise GraphBreak("subclass", value=cls.__name__)
    result = SubclassVariable(cls, value.node, value.fake)
    tx.output.side_effects.remember_class_source(
        result, tx.output.guarding.class_source(wrap_class(tx.output, cls))
    )
    return result


def converted(tx: Interpreter, value: Variable, cls: type) -> Variable:
    """The result of an operation, with its tensors made tensors of the class where they are not yet."""
    if cls is torch.Tensor:
        return value
    if isinstance(value, TensorVariable):
        return value if issubclass(value.python_type(), cls) else as_class(tx, value, cls)
    if isinstance(value, SequenceVariable) and not isinstance(value, SizeVariable):
        items = [converted(tx, item, cls) for item in value.unpack(tx)]
        return (
            NamedTupleVariable(items, value.python_type())
            if isinstance(value, NamedTupleVariable)
            else value.like(items)
        )
    return value


# --- functions that make such tensors ---------------------------------------------------------------------


def _as_subclass(self: TensorVariable, tx: Interpreter, cls: Variable) -> Variable:
    if not isinstance(cls, ClassVariable):
        raise GraphBreak("method", name="as_subclass", value=self)
    return as_class(tx, self, cls.cls)


TENSOR_METHODS["as_subclass"] = _as_subclass


@rule(torch.Tensor._make_subclass)
def _make_subclass(
    tx: Interpreter, cls: Variable, data: Variable, *args: Variable, **kwargs: Variable
) -> Variable:
    """A detached tensor of the class."""
    needs_grad = bool(args or kwargs) and any(not a.is_exactly(False) for a in (*args, *kwargs.values()))
    if not isinstance(cls, ClassVariable) or not isinstance(data, TensorVariable) or needs_grad:
        raise GraphBreak("builtin", name="_make_subclass", value=cls)
    with torch._C.DisableTorchFunction():
        detached = tx.output.call_method(tx, "detach", [data], {})
    assert isinstance(detached, TensorVariable)
    return as_class(tx, detached, cls.cls)


def is_subclass(cls: type) -> bool:
    return issubclass(cls, torch.Tensor) and is_followed(cls) and not issubclass(cls, torch.nn.Parameter)


def make_instance(
    tx: Interpreter, cls: ClassVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """`type.__call__` of such a class.

    torch's own `__new__` takes a tensor and returns a tensor of the class on the same memory.
    """
    for name in ("__new__", "__init__"):
        tx.output.guarding.class_entry(cls, cls.cls, name)
    maker, initializer = lookup_type(cls.cls, "__new__"), lookup_type(cls.cls, "__init__")
    if isinstance(maker, staticmethod):
        result = class_value(tx, cls, maker.__func__, "__new__", "__func__").call(tx, [cls, *args], kwargs)
    else:
        result = new_tensor(tx, cls, args)
    if issubclass(result.python_type(), cls.cls) and isinstance(initializer, types.FunctionType):
        class_value(tx, cls, initializer, "__init__").call(tx, [result, *args], kwargs)
    return result


def new_tensor(tx: Interpreter, cls: Variable, args: list[Variable]) -> Variable:
    """`torch.Tensor.__new__(cls, tensor)`."""
    data = args[0] if args else None
    if not isinstance(cls, ClassVariable) or not isinstance(data, TensorVariable):
        raise GraphBreak("call", value=cls)
    return as_class(tx, data, cls.cls)
