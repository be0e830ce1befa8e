"""Wrap existing Python values as variables: a table by type.

In:  a value and the source it came from (None: a value that no guard has to follow, held by the code itself).
Out: its Variable, with the guards that make what was concluded from the value hold.

One existing object has one variable, however it was reached; a second way to it is guarded to lead to the same object.
"""

from __future__ import annotations

import collections
import enum
import functools
import operator
import types
import weakref
from typing import TYPE_CHECKING, Any

import torch

from capture import torch_functions
from capture.break_reasons import GraphBreak
from capture.variables.base import LazyVariable, Variable
from capture.variables.constant import LITERALS, TORCH_CONSTANTS, ConstantVariable
from capture.variables.function import (
    BoundMethodVariable,
    CellVariable,
    PartialVariable,
    UserFunctionVariable,
)
from capture.variables.graph_float import GraphFloatVariable
from capture.variables.library import CachedFunctionVariable, LibraryCallable
from capture.variables.sequence import (
    DequeVariable,
    ListVariable,
    NamedTupleVariable,
    RangeVariable,
    SizeVariable,
    SliceVariable,
    TupleVariable,
    field_names,
    overrides_sequence,
)
from capture.variables.symbolic import SYMBOLIC, SymbolicVariable, from_symbolic
from guards import guard as make_guard
from guards.lookup import instance_dict
from guards.source import (
    AttrSource,
    CellContentsSource,
    ConstantSource,
    DequeItemSource,
    DictItemSource,
    DictKeySource,
    DictValueSource,
    ItemSource,
    IteratorSequenceSource,
    MethodFieldSource,
    Source,
)
from guards.values import is_constant as is_guardable_constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from capture.output_graph import OutputGraph

Wrapper = "Callable[[OutputGraph, Any, Source | None], Variable]"
WRAPPERS: dict[type, Any] = {}


def wraps(*types_: type) -> Callable[[Any], Any]:
    def register(wrapper: Any) -> Any:
        for kind in types_:
            WRAPPERS[kind] = wrapper
        return wrapper

    return register


def wrap(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    """The variable of an existing value."""
    known = output.known_object(value)
    if known is not None:
        if source is not None and known.source is not None and source != known.source:
            output.guard_same_object(known.source, source)
        return known
    wrapper = WRAPPERS.get(type(value)) or _wrapper_by_base(value)
    variable: Variable = wrapper(output, value, source)
    if not isinstance(variable, (ConstantVariable, SymbolicVariable, GraphFloatVariable)):
        output.remember_object(value, variable)
    return variable


def constant(value: Any) -> Variable:
    """A value computed at translation time from constants (and from sizes that are symbols)."""
    if isinstance(value, torch.Size):
        return SizeVariable([constant(v) for v in value])
    if isinstance(value, tuple):
        if type(value) is tuple:
            return TupleVariable([constant(v) for v in value])
        return NamedTupleVariable([constant(v) for v in value], type(value))
    if type(value) is list:
        return ListVariable([constant(v) for v in value])
    if type(value) is range:
        return RangeVariable(value)
    if type(value) is slice:
        return SliceVariable([constant(v) for v in (value.start, value.stop, value.step)])
    if type(value) in LITERALS or isinstance(value, (*TORCH_CONSTANTS, enum.Enum, torch.finfo, torch.iinfo)):
        return ConstantVariable(value)
    if isinstance(value, SYMBOLIC):
        return from_symbolic(value)
    raise GraphBreak("unknown_type", value=f"{type(value).__name__} object")


def wrap_class(output: OutputGraph, cls: type) -> Variable:
    """A class reached through the type of a known value: its guard is that value's."""
    return wrap(output, cls, ConstantSource(cls))


def _wrapper_by_base(value: Any) -> Any:
    for applies, wrapper in BASE_RULES:
        if applies(value):
            return wrapper
    return wrap_object


def guard_type(output: OutputGraph, value: Any, source: Source | None) -> None:
    if source is not None:
        output.guards.add(make_guard.type_match(source, value))


# --- constants -------------------------------------------------------------------------------------------------------------------


@wraps(*LITERALS, *TORCH_CONSTANTS)
def wrap_literal(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    if source is not None and not isinstance(source, ConstantSource):
        symbolic = output.symbols.int_variable(value, source) if type(value) is int else None
        if symbolic is not None:
            return symbolic
        if type(value) is float and output.symbols.policy.is_changed_float(
            value, source, output.is_of_module
        ):
            guard_type(output, value, source)
            return output.float_input(value, source)
        output.guards.add(make_guard.constant_match(source, value))
    return ConstantVariable(value, None)


@wraps(torch.finfo, torch.iinfo, types.CodeType)
def wrap_by_identity(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    if source is not None and not isinstance(source, ConstantSource):
        output.guards.add(make_guard.id_match(source, value))
    return ConstantVariable(value, None)


# --- tensors ---------------------------------------------------------------------------------------------------------------------


@wraps(torch.Tensor, torch.nn.Parameter)
def wrap_tensor(output: OutputGraph, value: torch.Tensor, source: Source | None) -> Variable:
    from capture.variables.opaque import OpaqueVariable
    from codegen.fake import UnsupportedTensor

    try:
        return output.add_tensor_input(value, source)
    except UnsupportedTensor as error:
        guard_type(output, value, source)
        return OpaqueVariable(value, source, "unsupported_tensor", why=str(error))


# --- containers ------------------------------------------------------------------------------------------------------------------


@wraps(tuple, list)
def wrap_sequence(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    cls = TupleVariable if type(value) is tuple else ListVariable
    if source is None:
        return cls([wrap(output, item, None) for item in value])
    guard_type(output, value, source)
    output.guards.add(make_guard.length_match(source, value))
    items: list[Variable] = [
        LazyVariable(output, item, ItemSource(source, i)) for i, item in enumerate(value)
    ]
    return cls(items, source)


@wraps(torch.Size)
def wrap_size(output: OutputGraph, value: torch.Size, source: Source | None) -> Variable:
    if source is not None:
        output.guards.add(make_guard.constant_match(source, value))
    return SizeVariable([ConstantVariable(v) for v in value], source)


def wrap_named_tuple(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    if source is None:
        return NamedTupleVariable([wrap(output, item, None) for item in value], type(value))
    guard_type(output, value, source)
    output.guards.add(make_guard.length_match(source, value))
    items: list[Variable] = [
        LazyVariable(output, item, ItemSource(source, i)) for i, item in enumerate(value)
    ]
    return NamedTupleVariable(items, type(value), source)


@wraps(collections.deque)
def wrap_deque(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    guard_type(output, value, source)
    if source is None:
        return DequeVariable([wrap(output, item, None) for item in value], maxlen=value.maxlen)
    output.guards.add(make_guard.length_match(source, value))
    items: list[Variable] = [
        LazyVariable(output, item, DequeItemSource(source, i)) for i, item in enumerate(value)
    ]
    return DequeVariable(items, source, value.maxlen, original=value)


@wraps(dict, collections.OrderedDict, collections.defaultdict, types.MappingProxyType)
def wrap_dict(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    from capture.variables.mapping import DictVariable, MappingProxyVariable

    if isinstance(value, types.MappingProxyType):
        if source is None:
            return MappingProxyVariable(_dict_entries(output, value, None), None)
        raise_source = source
        output.guards.add(make_guard.id_match(raise_source, value))
        return MappingProxyVariable(_dict_entries(output, value, None), source)
    guard_type(output, value, source)
    factory = None
    if isinstance(value, collections.defaultdict):
        factory = wrap(
            output, value.default_factory, AttrSource(source, "default_factory") if source else None
        )
    original = value if source is not None else None
    return DictVariable(
        _dict_entries(output, value, source), source, cls=type(value), factory=factory, original=original
    )


def _dict_entries(
    output: OutputGraph, value: Any, source: Source | None
) -> dict[Any, tuple[Variable, Variable]]:
    from capture.variables.compare import ByIdentity, ForeignKey, has_own_hash

    entries: dict[Any, tuple[Variable, Variable]] = {}
    for position, (key, item) in enumerate(dict.items(value) if isinstance(value, dict) else value.items()):
        if is_guardable_constant(key):
            key_variable = constant(key)
            held = (
                LazyVariable(output, item, DictItemSource(source, key))
                if source
                else wrap(output, item, None)
            )
            entries[key] = (key_variable, held)
        else:
            # an object as key: by position, which the guard on all keys fixes
            key_source = DictKeySource(source, position) if source else ConstantSource(key)
            key_variable = wrap(output, key, key_source)
            held = (
                LazyVariable(output, item, DictValueSource(source, position))
                if source
                else wrap(output, item, None)
            )
            by_object = ForeignKey if has_own_hash(type(key)) else ByIdentity
            name = (
                key
                if isinstance(key_variable, ConstantVariable) or _hashes_itself(key)
                else by_object(key_variable)
            )
            entries[name] = (key_variable, held)
    return entries


def _hashes_itself(key: Any) -> bool:
    return callable(key) and not isinstance(key, (type, torch.nn.Module))


@wraps(set, frozenset)
def wrap_set(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    from capture.variables.compare import ByIdentity, has_own_hash
    from capture.variables.mapping import SetVariable
    from capture.variables.opaque import OpaqueVariable

    guard_type(output, value, source)
    entries: dict[Any, Variable] = {}
    if len(value) > 1000:
        return OpaqueVariable(value, source, "iterate", value=f"a set of {len(value)} items")
    if any(has_own_hash(type(item)) and not isinstance(item, enum.Enum) for item in value):
        return OpaqueVariable(value, source, "iterate", value="a set of objects with their own __hash__")
    if source is not None:
        output.guards.add(make_guard.set_contents(source, value))
    for item in value:
        variable = constant(item) if is_guardable_constant(item) else wrap(output, item, ConstantSource(item))
        entries[item if is_guardable_constant(item) else ByIdentity(variable)] = variable
    return SetVariable(entries, source, cls=type(value))


@wraps(range)
def wrap_range(output: OutputGraph, value: range, source: Source | None) -> Variable:
    guard_type(output, value, source)
    if source is not None:
        for name in ("start", "stop", "step"):
            output.guards.add(make_guard.constant_match(AttrSource(source, name), getattr(value, name)))
    return RangeVariable(value, source)


@wraps(slice)
def wrap_slice(output: OutputGraph, value: slice, source: Source | None) -> Variable:
    guard_type(output, value, source)
    parts = [
        wrap(output, getattr(value, name), AttrSource(source, name) if source else None)
        for name in ("start", "stop", "step")
    ]
    return SliceVariable(parts, source)


@wraps(type(iter([])), type(iter(())))
def wrap_sequence_iterator(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    from capture.variables.iterator import SequenceIterator
    from capture.variables.opaque import OpaqueVariable

    state = value.__reduce__()
    guard_type(output, value, source)
    if len(state) != 3 or source is None or type(state[1][0]) not in (list, tuple):
        return OpaqueVariable(value, source, "iterate", value=f"{type(value).__name__}")
    held, position = state[1][0], state[2]
    if output.symbols.policy.is_moving_iterator(position, source):
        return OpaqueVariable(
            value, source, "iterate", value=f"{type(value).__name__}, of which each call takes another item,"
        )
    output.guards.add(make_guard.iterator_position(source, value))
    sequence_source = IteratorSequenceSource(source)
    output.guards.add(make_guard.type_match(sequence_source, held))
    output.guards.add(make_guard.length_match(sequence_source, held))
    items: list[Variable] = [
        LazyVariable(output, x, ItemSource(sequence_source, i)) for i, x in enumerate(held)
    ]
    iterator = SequenceIterator(items, source, type(value))
    iterator.position = position
    return iterator


# --- callables -------------------------------------------------------------------------------------------------------------------


def wrap_function(output: OutputGraph, value: types.FunctionType, source: Source | None) -> Variable:
    from capture.variables.torch_function import TorchFunctionVariable

    if torch_functions.kind_of(value) is not None:
        guard_identity(output, value, source)
        return TorchFunctionVariable(value, source)
    if source is not None and not isinstance(source, ConstantSource):
        output.guards.add(make_guard.function_match(source, value, defaults=False, closure=False))
    return UserFunctionVariable(value, source)


WRAPPERS[types.FunctionType] = wrap_function


def guard_identity(output: OutputGraph, value: Any, source: Source | None) -> None:
    if source is not None and not isinstance(source, ConstantSource):
        output.guards.add(make_guard.id_match(source, value))


@wraps(
    types.BuiltinFunctionType,
    type(torch.ops.aten.add),
    type(torch.ops.aten.add.Tensor),
    functools._lru_cache_wrapper,
)
def wrap_builtin(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    from capture.variables.builtin import BuiltinVariable, lookup
    from capture.variables.torch_function import TorchFunctionVariable

    owner = getattr(value, "__self__", None)
    if (
        owner is not None
        and not isinstance(owner, (types.ModuleType, type))
        and torch_functions.kind_of(value) is None
    ):
        return wrap_builtin_method(output, value, source)
    guard_identity(output, value, source)
    if isinstance(value, functools._lru_cache_wrapper):
        return CachedFunctionVariable(value, ConstantSource(value))
    if lookup(value) is None and torch_functions.kind_of(value) is not None:
        return TorchFunctionVariable(value, source)
    return BuiltinVariable(value, source)


def wrap_builtin_method(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    """`[].append` found as a value: bound to an existing object."""
    from capture.variables.function import ValueMethod
    from capture.variables.opaque import OpaqueVariable

    if source is None or isinstance(source, ConstantSource):
        return ValueMethod(wrap(output, value.__self__, ConstantSource(value.__self__)), value.__name__)
    guard_type(output, value, source)
    return OpaqueVariable(
        value,
        source,
        "method",
        name=value.__name__,
        value=f"{type(value.__self__).__name__} object {source.text}",
    )


@wraps(operator.itemgetter, operator.attrgetter, operator.methodcaller)
def wrap_operator_callable(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    guard_identity(output, value, source)
    made = value.__reduce__()
    if made[0] is not type(value):  # methodcaller with keyword arguments
        from capture.variables.opaque import OpaqueVariable

        return OpaqueVariable(value, source, "unknown_type", value=type(value).__name__)
    return LibraryCallable(
        type(value), [wrap(output, item, ConstantSource(item)) for item in made[1]], {}, source
    )


@wraps(types.WrapperDescriptorType, types.MethodDescriptorType)
def wrap_method_descriptor(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    from capture.variables.type_object import UnboundMethodVariable

    guard_identity(output, value, source)
    return UnboundMethodVariable(value, source)


@wraps(types.MethodType)
def wrap_method(output: OutputGraph, value: types.MethodType, source: Source | None) -> Variable:
    guard_type(output, value, source)
    parts = [
        wrap(output, getattr(value, field), MethodFieldSource(source, field) if source else None)
        for field in ("__func__", "__self__")
    ]
    return BoundMethodVariable(parts[0], parts[1], source)


@wraps(functools.partial)
def wrap_partial(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    guard_type(output, value, source)
    parts = {
        name: wrap(output, getattr(value, name), AttrSource(source, name) if source else None)
        for name in ("func", "args", "keywords")
    }
    keywords = parts["keywords"]
    keywords.guard_keys(_Context(output))  # type: ignore[attr-defined]
    kwargs = {k: v for k, (_, v) in keywords.entries.items()}  # type: ignore[attr-defined]
    context = _Context(output)
    realized = {k: v.realize() if isinstance(v, LazyVariable) else v for k, v in kwargs.items()}
    return PartialVariable(parts["func"], parts["args"].unpack(context), realized, source)  # type: ignore[arg-type]


class _Context:
    """Stands in for a translator where only its output is needed."""

    def __init__(self, output: OutputGraph) -> None:
        self.output = output


@wraps(types.CellType)
def wrap_cell(output: OutputGraph, value: types.CellType, source: Source | None) -> Variable:
    try:
        contents = value.cell_contents
    except ValueError:
        return CellVariable(None, source)
    held = source if source is not None else ConstantSource(value)
    return CellVariable(LazyVariable(output, contents, CellContentsSource(held)), source)


@wraps(types.ModuleType)
def wrap_python_module(output: OutputGraph, value: types.ModuleType, source: Source | None) -> Variable:
    from capture.variables.python_module import PythonModuleVariable

    guard_identity(output, value, source)
    return PythonModuleVariable(value, ConstantSource(value))


def wrap_type(output: OutputGraph, value: type, source: Source | None) -> Variable:
    from capture.variables.type_object import ClassVariable

    guard_identity(output, value, source)
    return ClassVariable(value, ConstantSource(value))


def wrap_enum(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    guard_identity(output, value, source)
    return ConstantVariable(value, None)


@wraps(weakref.ref)
def wrap_weak_reference(output: OutputGraph, value: weakref.ref[Any], source: Source | None) -> Variable:
    from capture.variables.weak_reference import WeakReferenceVariable

    guard_type(output, value, source)
    return WeakReferenceVariable(value, source or ConstantSource(value))


# --- other objects -----------------------------------------------------------------------------------------------------------------


def wrap_nn_module(output: OutputGraph, value: torch.nn.Module, source: Source | None) -> Variable:
    from capture.variables.nn_module import ModuleVariable

    guard_type(output, value, source)
    return ModuleVariable(type(value), value, source or ConstantSource(value), output)


def wrap_tensor_subclass(output: OutputGraph, value: torch.Tensor, source: Source | None) -> Variable:
    from capture.variables.opaque import OpaqueVariable

    guard_type(output, value, source)
    return OpaqueVariable(value, source, "subclass", value=type(value).__name__)


def wrap_object(output: OutputGraph, value: Any, source: Source | None) -> Variable:
    """Any other object: by its type, attributes guarded one by one as they are read."""
    from capture.variables.opaque import OpaqueVariable
    from capture.variables.user_object import ObjectVariable

    guard_type(output, value, source)
    held = source or ConstantSource(value)
    if isinstance(value, (dict, list)) and type(value).__flags__ & (1 << 9):
        return wrap_container_subclass(output, value, held)
    if isinstance(value, BASES_WITH_CONTENTS) or (
        (type(value).__flags__ & (1 << 9)) == 0 and type(value) is not types.SimpleNamespace
    ):
        return OpaqueVariable(value, held, "unknown_type", value=f"{type(value).__name__} object {held.text}")
    return ObjectVariable(type(value), value, held, output)


def wrap_container_subclass(output: OutputGraph, value: Any, source: Source) -> Variable:
    """An instance of a class on top of dict or list: an object whose built-in part is a container of its own."""
    from capture.variables.mapping import DictVariable
    from capture.variables.user_object import ObjectVariable

    result = ObjectVariable(type(value), value, source, output)
    if isinstance(value, dict):
        result.base_value = DictVariable(
            _dict_entries(output, value, source), source, cls=type(value), original=value
        )
    else:
        output.guards.add(make_guard.length_match(source, value))
        items: list[Variable] = [LazyVariable(output, x, ItemSource(source, i)) for i, x in enumerate(value)]
        result.base_value = ListVariable(items, source)
    return result


BASES_WITH_CONTENTS = (
    list,
    tuple,
    dict,
    set,
    frozenset,
    str,
    int,
    float,
    bytes,
    BaseException,
    collections.deque,
)

BASE_RULES: tuple[tuple[Any, Any], ...] = (
    (lambda v: isinstance(v, type), wrap_type),
    (lambda v: isinstance(v, enum.Enum), wrap_enum),
    (lambda v: isinstance(v, torch.nn.Module) and instance_dict(v) is not None, wrap_nn_module),
    (lambda v: isinstance(v, torch.Tensor), wrap_tensor_subclass),
    (
        lambda v: isinstance(v, tuple) and bool(field_names(type(v))) and not overrides_sequence(type(v)),
        wrap_named_tuple,
    ),
    (lambda v: isinstance(v, types.ModuleType), wrap_python_module),
)
