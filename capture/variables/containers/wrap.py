"""Wrapping existing containers.

In:  a container that existed before the frame, and its source.
Out: its variable, with guards on keys and lengths. An item stays lazy, without a guard, until it is read.
"""

from __future__ import annotations

import collections
import enum
import gc
import types
import weakref
from typing import TYPE_CHECKING, Any

import torch

from capture.report.break_reasons import GraphBreak
from capture.variables.containers.lists import DequeVariable, ListVariable
from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.named_tuple import NamedTupleVariable
from capture.variables.containers.ranges import BOUNDS, RangeVariable, SliceVariable
from capture.variables.containers.sequence import SizeVariable, TupleVariable
from capture.variables.containers.set_table import SetTable
from capture.variables.containers.sets import SetVariable
from capture.variables.containers.unread import Unread
from capture.variables.containers.views import MappingProxyVariable
from capture.variables.core.base import LazyVariable, Variable
from capture.variables.core.constant import ConstantVariable, holds_nan
from capture.variables.core.makers import constant
from capture.variables.core.opaque import OpaqueVariable
from capture.variables.core.wrap import (
    guard_identity,
    guard_type,
    wrap,
    wraps,
)
from capture.variables.objects.native_base import LITERAL_BASES
from capture.variables.operations.equality import ByIdentity, ForeignKey, hashes_by_identity
from guards.kinds.constants import ContentsGuard
from guards.kinds.containers import LARGEST_SET, SetContentsGuard
from guards.lookup import dict_items
from guards.sources import (
    AttrSource,
    ConstantSource,
    DictItemSource,
    DictKeySource,
    DictValueSource,
    Source,
    WeakrefSource,
)
from guards.values import PLAIN_VALUE
from guards.values import is_constant as is_guardable_constant

if TYPE_CHECKING:
    from capture.variables.core.protocols import Output


@wraps(tuple, list, collections.deque)
def wrap_sequence(output: Output, value: Any, source: Source | None) -> Variable:
    guard_type(output, value, source)
    return sequence_of(output, value, type(value), source)


def sequence_of(output: Output, value: Any, base: Any, source: Source | None) -> Variable:
    if base is tuple:
        return TupleVariable(_items(output, value, source), source)
    unread = Unread(output, value, base, source) if source is not None else None
    items = [] if unread is not None else [wrap(output, item, None) for item in base.__iter__(value)]
    if base is list:
        return ListVariable(items, source, unread)
    return DequeVariable(items, source, value.maxlen, value if source is not None else None, unread)


def _items(output: Output, value: Any, source: Source | None) -> list[Variable]:
    """The stored items of a tuple, each with its index in its source."""
    if source is None:
        return [wrap(output, item, None) for item in tuple.__iter__(value)]
    return Unread(output, value, tuple, source).items()


@wraps(torch.Size)
def wrap_size(output: Output, value: torch.Size, source: Source | None) -> Variable:
    guard_type(output, value, source)
    items: list[Variable] = [
        item.realize() if isinstance(item, LazyVariable) else item for item in _items(output, value, source)
    ]
    return SizeVariable(items, source)


def wrap_named_tuple(output: Output, value: Any, source: Source | None) -> Variable:
    guard_type(output, value, source)
    return NamedTupleVariable(_items(output, value, source), type(value), source)


@wraps(types.MappingProxyType)
def wrap_mapping_proxy(output: Output, value: Any, source: Source | None) -> Variable:
    """A mapping proxy has an identity guard, which also fixes its dict. The dict is wrapped as usual."""
    guard_identity(output, value, source)
    (held,) = gc.get_referents(value)
    mapping = wrap(output, held, ConstantSource(held))
    if not isinstance(mapping, DictVariable):
        return OpaqueVariable(value, source, "unknown_type", value=f"mappingproxy of {mapping.describe()}")
    return MappingProxyVariable(mapping, source)


@wraps(dict, collections.OrderedDict, collections.defaultdict)
def wrap_dict(output: Output, value: Any, source: Source | None) -> Variable:
    guard_type(output, value, source)
    if output.side_effects.writes_globals(value):
        raise GraphBreak("mutation", value="a module whose dict is read")
    return dict_of(output, value, type(value), source)


def dict_of(output: Output, value: Any, base: type, source: Source | None) -> DictVariable:
    factory = None
    if base is collections.defaultdict:
        factory = wrap(
            output, value.default_factory, AttrSource(source, "default_factory") if source else None
        )
    original = value if source is not None else None
    entries = _dict_entries(output, value, source)
    result = DictVariable(entries, source, cls=base, factory=factory, original=original)
    if source is not None and any(map(_is_mixed, dict.keys(value))):
        output.guarding.dict_keys(source, value)
        result.keys_guarded = True
    return result


def _dict_entries(output: Output, value: Any, source: Source | None) -> dict[Any, tuple[Variable, Variable]]:
    entries: dict[Any, tuple[Variable, Variable]] = {}
    for position, (key, item) in enumerate(dict_items(value)):
        if is_guardable_constant(key) and not _is_mixed(key) and not holds_nan(key):
            key_variable = constant(key)
            held = (
                LazyVariable(output, item, DictItemSource(source, key))
                if source
                else wrap(output, item, None)
            )
            entries[key] = (key_variable, held)
        else:
            # an object as key has its position as source, which the guard on all keys fixes
            key_source = DictKeySource(source, position) if source else ConstantSource(key)
            key_variable = wrap(output, key, key_source)
            held = (
                LazyVariable(output, item, DictValueSource(source, position))
                if source
                else wrap(output, item, None)
            )
            entries[_name_of_key(key, key_variable)] = (key_variable, held)
    return entries


def _is_mixed(key: Any) -> bool:
    """Whether the key is a member of IntEnum or a similar enum.

    Such a member equals plain values, so the look-up of a guard does not tell them apart.
    """
    return isinstance(key, enum.Enum) and isinstance(key, (int, str, float))


def _name_of_key(key: Any, variable: Variable) -> Any:
    """The hash key of an existing key, as `hash_key` gives it."""
    if isinstance(variable, LazyVariable):
        variable = variable.realize()
    if isinstance(variable, ConstantVariable):
        return key
    if type(variable) is TupleVariable:
        return tuple(map(_name_of_key, key, variable.items))
    if hashes_by_identity(type(key)):
        return ByIdentity(variable)
    return key if isinstance(key, types.BuiltinFunctionType) else ForeignKey(variable)


@wraps(set, frozenset)
def wrap_set(output: Output, value: Any, source: Source | None) -> Variable:
    guard_type(output, value, source)
    return set_of(output, value, type(value), source)


def set_of(output: Output, value: Any, base: Any, source: Source | None) -> Variable:
    if base is set and source is not None:
        return SetVariable({}, source, cls=set, unread=lambda: _read_set(output, value, base, source))
    reason = _why_unreadable(list(base.__iter__(value)))
    if reason:
        return OpaqueVariable(value, source, "iterate", value=reason)
    entries, table = _read_set(output, value, base, source)
    return SetVariable(entries, source, cls=base, table=table)


def _why_unreadable(items: list[Any]) -> str:
    if len(items) > LARGEST_SET:
        return f"a set of {len(items)} items"
    if not all(map(_has_known_hash, items)):
        return "a set of objects with their own __hash__"
    return "a set with a NaN, which equals only itself," if any(map(holds_nan, items)) else ""


def _has_known_hash(item: Any) -> bool:
    return is_guardable_constant(item) or hashes_by_identity(type(item)) or _is_function_in_c(item)


def _is_function_in_c(value: Any) -> bool:
    """Whether it is a function of a module or class, such as `len` or `torch.relu`: a key of its own."""
    owners = (types.NoneType, types.ModuleType, type)
    return isinstance(value, types.BuiltinFunctionType) and isinstance(value.__self__, owners)


def _read_set(
    output: Output, value: Any, base: Any, source: Source | None
) -> tuple[dict[Any, Variable], SetTable | None]:
    items = list(base.__iter__(value))
    reason = _why_unreadable(items)
    if reason:
        raise GraphBreak("iterate", value=reason)
    if source is not None:
        output.guards.add(SetContentsGuard.of(source, value))
    entries: dict[Any, Variable] = {}
    for item in items:
        is_plain = is_guardable_constant(item)
        variable = constant(item) if is_plain else wrap(output, item, _element_source(item))
        is_key = is_plain or _is_function_in_c(item)
        entries[item if is_key else ByIdentity(variable)] = variable
    return entries, SetTable.existing(value, entries, source)


def _element_source(item: Any) -> Source:
    """An element has no place in its set. Captured code does not keep an object alive that may end."""
    lasts = isinstance(item, (type, types.ModuleType)) or type(item).__weakrefoffset__ == 0
    return ConstantSource(item) if lasts else WeakrefSource(ConstantSource(weakref.ref(item)))


@wraps(range)
def wrap_range(output: Output, value: range, source: Source | None) -> Variable:
    guard_type(output, value, source)
    if source is None:
        return RangeVariable(value)
    return RangeVariable(
        value, source, [wrap(output, getattr(value, n), AttrSource(source, n)) for n in BOUNDS]
    )


@wraps(slice)
def wrap_slice(output: Output, value: slice, source: Source | None) -> Variable:
    guard_type(output, value, source)
    parts = [
        wrap(output, getattr(value, name), AttrSource(source, name) if source else None) for name in BOUNDS
    ]
    return SliceVariable(parts, source)


def contents(output: Output, value: Any, base: Any, source: Source) -> Variable:
    """The built-in part of an instance whose class derives from `base`."""
    if base in LITERAL_BASES:
        if not isinstance(source, ConstantSource):
            output.guards.add(ContentsGuard.of(source, value))
        return ConstantVariable(PLAIN_VALUE[base](value))
    if issubclass(base, dict):
        result = dict_of(output, value, base, source)
        result.held_by_subclass = True
        return result
    return (set_of if base in (set, frozenset) else sequence_of)(output, value, base, source)
