"""Makes variables of other existing objects.

In:  a module, class, enum member or instance of a user class, and its source.
Out: the variable, with guards on the object.
"""

from __future__ import annotations

import enum
import types
from typing import TYPE_CHECKING, Any

import torch

from capture.variables.containers.named_tuple import field_names, overrides_sequence
from capture.variables.containers.wrap import contents, wrap_named_tuple
from capture.variables.core.base import Variable
from capture.variables.core.class_lookup import lookup_type, reads_attributes_plainly
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.makers import make
from capture.variables.core.opaque import OpaqueVariable
from capture.variables.core.wrap import guard_identity, guard_type, wraps
from capture.variables.objects.instance_dict import InstanceDictVariable
from capture.variables.objects.native_base import maker_of, native_base
from capture.variables.objects.python_module import PythonModuleVariable
from capture.variables.objects.user_object import ObjectVariable
from capture.variables.tensors.followed_classes import is_followed
from capture.variables.torch.nn_module import ModuleVariable
from codegen.kernel.errors import UnsupportedTensor
from guards.kinds.identity import SameObjectGuard
from guards.lookup import instance_dict, isinstance_raw
from guards.sources import ConstantSource, DictSource, Source, WeakrefSource

if TYPE_CHECKING:
    from capture.variables.core.protocols import Output
    from capture.variables.objects.user_object import ObjectVariable


@wraps(types.ModuleType)
def wrap_python_module(output: Output, value: types.ModuleType, source: Source | None) -> Variable:
    guard_identity(output, value, source)
    return PythonModuleVariable(value, ConstantSource(value))


def wrap_type(output: Output, value: type, source: Source | None) -> Variable:
    guard_identity(output, value, source)
    weak = isinstance(source, WeakrefSource)  # the guards must not keep this class alive
    return make(type, value, source if weak else ConstantSource(value))


def wrap_enum(output: Output, value: Any, source: Source | None) -> Variable:
    guard_identity(output, value, source)
    return ConstantVariable(value, None)


def wrap_nn_module(output: Output, value: torch.nn.Module, source: Source | None) -> Variable:
    guard_type(output, value, source)
    if not reads_attributes_plainly(lookup_type(type(value), "__getattribute__")):
        held = source or ConstantSource(value)
        return OpaqueVariable(value, held, "property", name="__getattribute__", value=held.text)
    return with_namespace(output, ModuleVariable(type(value), value, source or ConstantSource(value), output))


def with_namespace(output: Output, owner: ObjectVariable) -> Variable:
    """The object, with its `__dict__` registered.

    So code that reaches the dict in another way sees the stores on the object.
    """
    namespace = instance_dict(owner.value)
    known = output.objects.known(namespace) if namespace is not None else None
    if namespace is None:
        return owner
    if isinstance(known, InstanceDictVariable):  # a compiled module has the dict of its original
        if owner.source is not None and known.owner.source is not None:
            shared = (DictSource(owner.source), DictSource(known.owner.source))
            output.guards.add(SameObjectGuard.of(*shared))
        owner.attributes = known.owner.attributes
        return owner
    if known is not None:  # the dict was already read as a separate dict
        return OpaqueVariable(owner.value, owner.source, "get_attr", name="__dict__", value=owner)
    output.objects.remember(namespace, owner.dict_variable())
    return owner


def wrap_tensor_subclass(output: Output, value: torch.Tensor, source: Source | None) -> Variable:
    if is_followed(type(value)):
        try:
            return output.inputs.add_subclass(value, source)
        except UnsupportedTensor as error:
            guard_type(output, value, source)
            return OpaqueVariable(value, source, "unsupported_tensor", why=str(error))
    guard_type(output, value, source)
    return OpaqueVariable(value, source, "subclass", value=type(value).__name__)


def wrap_object(output: Output, value: Any, source: Source | None) -> Variable:
    """Any other object: a guard on its type, and a guard on each attribute that is read."""
    guard_type(output, value, source)
    held = source or ConstantSource(value)
    heap = bool(type(value).__flags__ & (1 << 9))
    base = native_base(type(value))
    if heap and base is not object and maker_of(type(value)) is base.__new__:
        return wrap_native_subclass(output, value, base, held)
    if isinstance_raw(value, BaseException) or (not heap and type(value) is not types.SimpleNamespace):
        return OpaqueVariable(value, held, "unknown_type", value=f"{type(value).__name__} object {held.text}")
    return with_namespace(output, ObjectVariable(type(value), value, held, output))


def wrap_native_subclass(output: Output, value: Any, base: type, source: Source) -> Variable:
    """An instance of a class based on a built-in one: an object whose built-in part has its own variable."""
    part = contents(output, value, base, source)
    if isinstance(part, OpaqueVariable):
        return part
    result = ObjectVariable(type(value), value, source, output)
    result.base_value = part
    return with_namespace(output, result)


#: (applies, wrapper), in the order of the search; the last one applies to any object.
#: The rules look at the real type, because `isinstance` runs code of a class that defines `__class__` or
#: `__getattribute__`.
BASE_WRAPPERS = (
    (lambda v: isinstance_raw(v, type), wrap_type),
    (lambda v: isinstance_raw(v, enum.Enum), wrap_enum),
    (lambda v: isinstance_raw(v, torch.nn.Module) and instance_dict(v) is not None, wrap_nn_module),
    (lambda v: isinstance_raw(v, torch.Tensor), wrap_tensor_subclass),
    (
        lambda v: isinstance_raw(v, tuple) and bool(field_names(type(v))) and not overrides_sequence(type(v)),
        wrap_named_tuple,
    ),
    (lambda v: isinstance_raw(v, types.ModuleType), wrap_python_module),
    (lambda v: True, wrap_object),
)


@wraps("by_base")
def wrapper_by_base(value: Any) -> Any:
    return next(wrapper for applies, wrapper in BASE_WRAPPERS if applies(value))
