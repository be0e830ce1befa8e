"""Attributes that a program sets on tensors: `x.scale = 3`.

In:  stores, loads and deletions on a TensorVariable, of names that `torch.Tensor` itself does not have.
Out: variables. The real tensor gets its attributes after the graph. For an existing tensor this is a side
     effect; for a result it happens when the result is taken from the outputs of the graph.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import Deleted, Variable
from capture.variables.core.class_lookup import MISSING, lookup_type
from capture.variables.core.exception import raise_new
from capture.variables.core.wrap import wrap_class
from guards.sources import AttrSource

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter
    from capture.variables.tensors.tensor import TensorVariable


def is_free_name(name: str) -> bool:
    """Whether the name belongs to the user: no code of torch runs when it is read or set."""
    return not hasattr(torch.Tensor, name) and name not in ("__dict__", "__class__")


def load(owner: TensorVariable, tx: Interpreter, name: str) -> Variable | None:
    """The attribute. None if the tensor has no attribute of that name; a guard checks it."""
    stored = owner.attributes.get(name)
    if stored is not None:
        return None if isinstance(stored, Deleted) else stored
    if owner.value is None:
        return None
    namespace: dict[str, Any] = owner.value.__dict__
    if name in namespace:
        assert owner.source is not None
        return tx.wrap(namespace[name], AttrSource(owner.source, name))
    if is_free_name(name):
        tx.output.guarding.no_attribute(owner, name)
        guard_name(tx, name)
    return None


def guard_name(tx: Interpreter, name: str) -> None:
    """Guards an entry of the class `torch.Tensor` that the program made, or may make under a free name.

    `guards.properties.tensor_methods` covers the names of torch.
    """
    found = lookup_type(torch.Tensor, name)
    function = found.fget if isinstance(found, property) else found
    written = isinstance(function, types.FunctionType) and not (function.__module__ or "").startswith("torch")
    if found is MISSING or written:
        tx.output.guarding.class_entry(wrap_class(tx.output, torch.Tensor), torch.Tensor, name)


def store(owner: TensorVariable, tx: Interpreter, name: str, value: Variable) -> None:
    if not is_free_name(name):
        raise GraphBreak("set_attr", value=owner, name=name)
    tx.output.side_effects.store_attr(owner, name, value)


def delete(owner: TensorVariable, tx: Interpreter, name: str) -> None:
    if not is_free_name(name):
        raise GraphBreak("set_attr", value=owner, name=name)
    if load(owner, tx, name) is None:
        raise raise_new(AttributeError, f"'{owner.python_type().__name__}' object has no attribute '{name}'")
    tx.output.side_effects.delete_attr(owner, name)


def rebuild(owner: TensorVariable, code: PythonCode) -> None:
    """Sets the attributes of a result of the graph that is on the stack, and leaves it there."""
    code.store_as(owner)  # an attribute may lead back to the tensor
    for name, value in owner.attributes.items():
        if not isinstance(value, Deleted):
            code.copy()
            code.load_swapped(value)
            code.store_attribute(name)


#: torch's kinds of tensors, with the attribute that marks another tensor as one of them.
MARKS: dict[Any, str] = {torch.nn.Buffer: "_is_buffer", torch.nn.Parameter: "_is_param"}


def has_mark(tx: Interpreter, tensor: TensorVariable, kind: Any) -> bool:
    mark = load(tensor, tx, MARKS[kind])
    return mark is not None and mark.truth(tx)
