"""Existing containers: their items stay lazy (unguarded) until they are read; keys and lengths are guarded."""

from __future__ import annotations

import collections
import enum
import types
from typing import TYPE_CHECKING, Any

import torch

from capture.variables.base import LazyVariable, Variable
from capture.variables.constant import ConstantVariable
from capture.variables.lists import DequeVariable, ListVariable
from capture.variables.named_tuple import NamedTupleVariable
from capture.variables.ranges import RangeVariable, SliceVariable
from capture.variables.sequence import SizeVariable, TupleVariable
from capture.wrap import constant, guard_type, wrap, wraps
from guards import guard as make_guard
from guards.lookup import dict_items
from guards.source import (
    AttrSource,
    ConstantSource,
    DequeItemSource,
    DictItemSource,
    DictKeySource,
    DictValueSource,
    ItemSource,
    IteratorSequenceSource,
    Source,
)
from guards.values import is_constant as is_guardable_constant

if TYPE_CHECKING:
    from capture.output_graph import OutputGraph


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
    for position, (key, item) in enumerate(dict_items(value) if isinstance(value, dict) else value.items()):
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
    from capture.variables.opaque import OpaqueVariable
    from capture.variables.sets import SetVariable

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
