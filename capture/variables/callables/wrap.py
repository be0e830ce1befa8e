"""Makes variables of existing callables.

In:  a function, method or cell, or a function that torch has made of another one; and its source.
Out: the variable, with guards on the callable.
"""

from __future__ import annotations

import functools
import operator
import types
from typing import TYPE_CHECKING, Any

import _capture
import torch

from capture.policy import function_kinds
from capture.variables.callables.builtin import BuiltinVariable
from capture.variables.callables.function import BoundMethodVariable, CellVariable, UserFunctionVariable
from capture.variables.callables.library import CachedFunctionVariable, LibraryCallable
from capture.variables.callables.value_method import ValueMethod
from capture.variables.core.base import LazyVariable, Variable
from capture.variables.core.class_lookup import lookup_type
from capture.variables.core.constant import ConstantMethod, ConstantVariable, is_literal
from capture.variables.core.opaque import OpaqueVariable
from capture.variables.core.rules import CALLS, lookup
from capture.variables.core.wrap import WRAPPERS, guard_identity, guard_type, wrap, wrap_class, wraps
from capture.variables.numbers.random_draws import DrawFunction, bounds_of
from capture.variables.torch.torch_function import TorchFunctionVariable
from guards.kinds.attributes import FunctionGuard
from guards.sources import (
    HEAP_TYPE,
    BuiltinSelfSource,
    CellContentsSource,
    ConstantSource,
    MethodFieldSource,
    Source,
    descriptor_of,
)
from guards.values import ObjectRef

if TYPE_CHECKING:
    from capture.variables.core.protocols import Interpreter, Output


def wrap_function(output: Output, value: types.FunctionType, source: Source | None) -> Variable:
    if function_kinds.kind_of(value) is not None:
        guard_identity(output, value, source)
        return TorchFunctionVariable(value, source)
    if source is not None and not isinstance(source, ConstantSource):
        output.guards.add(FunctionGuard.of(source, value, defaults=False, closure=False))
    return UserFunctionVariable(value, source)


WRAPPERS[types.FunctionType] = wrap_function
if hasattr(_capture, "HookedFunction"):
    WRAPPERS[_capture.HookedFunction] = wrap_function


@wraps(
    types.BuiltinFunctionType,
    type(torch.ops.aten.add),
    type(torch.ops.aten.add.Tensor),
    functools._lru_cache_wrapper,
)
def wrap_builtin(output: Output, value: Any, source: Source | None) -> Variable:
    if bounds_of(value) is not None:
        return wrap_draw_function(output, value, source)
    owner = getattr(value, "__self__", None)
    if (
        owner is not None
        and not isinstance(owner, (types.ModuleType, type))
        and function_kinds.kind_of(value) is None
    ):
        return wrap_builtin_method(output, value, source)
    guard_identity(output, value, source)
    if isinstance(owner, type) and _has_class_method_rule(owner, value):
        from capture.variables.callables.native_method import ClassMethodVariable  # lazy: import time

        bound: Any = wrap_class(output, owner)
        method = ClassMethodVariable(bound, value.__name__)
        method.source = source
        return method
    if isinstance(value, functools._lru_cache_wrapper):
        return CachedFunctionVariable(value, ConstantSource(value))
    if lookup(value) is None and function_kinds.kind_of(value) is not None:
        return TorchFunctionVariable(value, source)
    return BuiltinVariable(value, source)


def _has_class_method_rule(owner: type, value: Any) -> bool:
    """Whether a rule knows the class method in C that `value` binds to its class: `f = Scaled.apply`."""
    entry = lookup_type(owner, value.__name__)
    return (
        isinstance(entry, types.ClassMethodDescriptorType)
        and entry in CALLS
        and entry.__get__(None, owner) == value
    )


def wrap_draw_function(output: Output, value: Any, source: Source | None) -> Variable:
    guard_identity(output, value, source)
    return DrawFunction(value, source)


def wrap_builtin_method(output: Output, value: Any, source: Source | None) -> Variable:
    """A variable of `[].append` and similar values: a method in C, bound to an existing object."""
    if source is None or isinstance(source, ConstantSource):
        made = ValueMethod(wrap(output, value.__self__, ConstantSource(value.__self__)), value.__name__)
        made.source = source
        return made
    if is_literal(value.__self__):
        guard_identity(output, value, source)
        return ConstantMethod(ConstantVariable(value.__self__), value.__name__)
    descriptor = descriptor_of(value)
    cls = type(value.__self__)
    overrides = cls.__flags__ & HEAP_TYPE and cls not in (torch.Tensor, torch.nn.Parameter)
    if descriptor is not None and not overrides:
        method = ValueMethod(
            wrap(output, value.__self__, BuiltinSelfSource(source, ObjectRef(descriptor))), value.__name__
        )
        method.source = source
        return method
    guard_type(output, value, source)
    return OpaqueVariable(
        value,
        source,
        "method",
        name=value.__name__,
        value=f"{type(value.__self__).__name__} object {source.text}",
    )


@wraps(torch.jit.ScriptFunction)
def wrap_script_function(output: Output, value: Any, source: Source | None) -> Variable:
    """TorchScript made of a Python function: that function stands for it."""
    guard_identity(output, value, source)
    written = getattr(value, "_torchdynamo_inline", None)
    if not isinstance(written, types.FunctionType):
        return OpaqueVariable(value, source, "unknown_type", value="a traced function")
    return ScriptFunctionVariable(value, written, source or ConstantSource(value))


class ScriptFunctionVariable(Variable):
    def __init__(self, value: Any, written: types.FunctionType, source: Source) -> None:
        super().__init__(source)
        self.value = value
        self.written = written

    def python_type(self) -> type:
        return type(self.value)

    def real_value(self) -> Any:
        return self.value

    def truth(self, tx: Interpreter) -> bool:
        return True

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        function = UserFunctionVariable(self.written, ConstantSource(self.written))
        return function.call(tx, args, kwargs)


@wraps(operator.itemgetter, operator.attrgetter, operator.methodcaller)
def wrap_operator_callable(output: Output, value: Any, source: Source | None) -> Variable:
    guard_identity(output, value, source)
    made = value.__reduce__()
    if made[0] is not type(value):  # methodcaller with keyword arguments
        return OpaqueVariable(value, source, "unknown_type", value=type(value).__name__)
    return LibraryCallable(
        type(value), [wrap(output, item, ConstantSource(item)) for item in made[1]], {}, source
    )


@wraps(types.MethodType)
def wrap_method(output: Output, value: types.MethodType, source: Source | None) -> Variable:
    if bounds_of(value) is not None:
        return wrap_draw_function(output, value, source)
    guard_type(output, value, source)
    parts = [
        wrap(output, getattr(value, field), MethodFieldSource(source, field) if source else None)
        for field in ("__func__", "__self__")
    ]
    return BoundMethodVariable(parts[0], parts[1], source)


@wraps(types.CellType)
def wrap_cell(output: Output, value: types.CellType, source: Source | None) -> Variable:
    try:
        contents = value.cell_contents
    except ValueError:
        return CellVariable(None, source)
    held = source if source is not None else ConstantSource(value)
    return CellVariable(LazyVariable(output, contents, CellContentsSource(held)), source)
