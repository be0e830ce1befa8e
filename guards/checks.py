"""The Python twin's checks: one function a kind of guard.

In:  a guard and the values at its sources, in a frame.
Out: whether it holds. Same answers as native/guards/guard_checks.c; runs no user code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref as weak_reference

from guards.conditions import ShapeOverflow
from guards.guard import Guard, GuardError, raw_length
from guards.kinds import GuardKind
from guards.lookup import (
    Unresolved,
    dict_get,
    dict_items,
    function_field,
    has_attribute,
    instance_dict,
    isinstance_raw,
    type_lookup,
)
from guards.namespace import FrameNamespace
from guards.properties.global_state import read_global_state
from guards.properties.iterator_state import numbers_of
from guards.properties.set_layout import layout_of
from guards.properties.tensor import storage_key
from guards.sources import FloatSource, GradSource, Source
from guards.values import PLAIN_VALUE, ObjectRef, constants_equal

Check = Callable[[Guard, tuple[Any, ...]], bool]
CHECKS: dict[GuardKind, Check] = {}
INT64 = range(-(2**63), 2**63)


def check(kind: GuardKind) -> Callable[[Check], Check]:
    """Register the check of a kind."""

    def register(function: Check) -> Check:
        CHECKS[kind] = function
        return function

    return register


def guard_holds(guard: Guard, frame: FrameNamespace) -> bool:
    """Whether the guard holds in this frame; a source that leads nowhere fails it."""
    if guard.kind is GuardKind.GLOBAL_STATE:
        return bool(read_global_state() == guard.payload)
    try:
        values = tuple(source.resolve(frame) for source in guard.sources)
        return CHECKS[guard.kind](guard, values)
    except (Unresolved, GuardError):
        return False


def _same_key(expected: Any, key: Any) -> bool:
    return expected.is_same(key) if isinstance(expected, ObjectRef) else constants_equal(expected, key)


@check(GuardKind.TYPE)
def _type(guard: Guard, values: tuple[Any, ...]) -> bool:
    return bool(guard.payload.is_same(type(values[0])))


@check(GuardKind.ID)
def _id(guard: Guard, values: tuple[Any, ...]) -> bool:
    return bool(guard.payload.is_same(values[0]))


@check(GuardKind.OBJECT_ALIASING)
def _object_aliasing(guard: Guard, values: tuple[Any, ...]) -> bool:
    return values[0] is values[1]


@check(GuardKind.OBJECTS_DISTINCT)
def _objects_distinct(guard: Guard, values: tuple[Any, ...]) -> bool:
    return len(set(map(id, values))) == len(values)


@check(GuardKind.NOT_NONE)
def _not_none(guard: Guard, values: tuple[Any, ...]) -> bool:
    return values[0] is not None


@check(GuardKind.LENGTH)
def _length(guard: Guard, values: tuple[Any, ...]) -> bool:
    return raw_length(values[0]) == guard.payload


@check(GuardKind.BOOL)
def _bool(guard: Guard, values: tuple[Any, ...]) -> bool:
    return (raw_length(values[0]) > 0) == guard.payload


@check(GuardKind.CONTENTS)
def _contents(guard: Guard, values: tuple[Any, ...]) -> bool:
    base = type(guard.payload)
    return isinstance_raw(values[0], base) and constants_equal(guard.payload, PLAIN_VALUE[base](values[0]))


@check(GuardKind.CONSTANT)
def _constant(guard: Guard, values: tuple[Any, ...]) -> bool:
    return constants_equal(guard.payload, values[0])


@check(GuardKind.INT_RANGE)
def _int_range(guard: Guard, values: tuple[Any, ...]) -> bool:
    low, high = guard.payload
    value = values[0]
    return (
        type(value) is int
        and value in INT64
        and (low is None or low <= value)
        and (high is None or value <= high)
    )


@check(GuardKind.WEAKREF_ALIVE)
def _weakref_alive(guard: Guard, values: tuple[Any, ...]) -> bool:
    return type(values[0]) is weak_reference and values[0]() is not None


@check(GuardKind.ITERATOR_STATE)
def _iterator_state(guard: Guard, values: tuple[Any, ...]) -> bool:
    try:
        return numbers_of(values[0]) == guard.payload
    except Unresolved:
        return False


@check(GuardKind.GRAD_NONE)
def _grad_none(guard: Guard, values: tuple[Any, ...]) -> bool:
    return (GradSource(guard.source).read(values[0]) is None) == guard.payload


@check(GuardKind.TENSOR_MATCH)
def _tensor_match(guard: Guard, values: tuple[Any, ...]) -> bool:
    return guard.payload.mismatch(values[0]) is None


@check(GuardKind.TENSOR_UNWRITTEN)
def _tensor_unwritten(guard: Guard, values: tuple[Any, ...]) -> bool:
    import torch

    tensor = values[0]
    if not isinstance_raw(tensor, torch.Tensor) or tensor.is_inference():
        return False
    return bool(guard.payload == (tensor._version, tensor.data_ptr()))


@check(GuardKind.BUFFER)
def _buffer(guard: Guard, values: tuple[Any, ...]) -> bool:
    return guard.payload.mismatch(values[0]) is None


@check(GuardKind.TENSOR_ALIASING)
def _tensor_aliasing(guard: Guard, values: tuple[Any, ...]) -> bool:
    import torch

    if not all(isinstance_raw(value, torch.Tensor) for value in values):
        return False
    first: dict[int, int] = {}
    return tuple(first.setdefault(storage_key(value), i) for i, value in enumerate(values)) == guard.payload


@check(GuardKind.FUNCTION)
def _function(guard: Guard, values: tuple[Any, ...]) -> bool:
    code, defaults, kwdefaults, cells = guard.payload
    fn = values[0]
    return (
        code.is_same(function_field(fn, "__code__"))
        and (defaults is None or defaults.is_same(fn.__defaults__))
        and (kwdefaults is False or _same_keyword_defaults(kwdefaults, fn.__kwdefaults__))
        and (cells is False or _same_cells(cells, fn.__closure__ or ()))
    )


def _same_keyword_defaults(
    expected: tuple[tuple[str, ObjectRef], ...] | None, now: dict[str, Any] | None
) -> bool:
    if expected is None or now is None:
        return expected is now
    return tuple(now) == tuple(name for name, _ in expected) and all(
        ref.is_same(now[name]) for name, ref in expected
    )


def _same_cells(expected: tuple[ObjectRef, ...], now: tuple[Any, ...]) -> bool:
    return len(expected) == len(now) and all(ref.is_same(cell) for ref, cell in zip(expected, now))


@check(GuardKind.NO_ATTRIBUTE)
def _no_attribute(guard: Guard, values: tuple[Any, ...]) -> bool:
    return guard.payload not in (instance_dict(values[0]) or {})


@check(GuardKind.HAS_ATTRIBUTE)
def _has_attribute(guard: Guard, values: tuple[Any, ...]) -> bool:
    name, present = guard.payload
    return has_attribute(values[0], name) == present


@check(GuardKind.CLASS_LACKS)
def _class_lacks(guard: Guard, values: tuple[Any, ...]) -> bool:
    return isinstance_raw(values[0], type) and type_lookup(values[0], guard.payload, guard) is guard


@check(GuardKind.DICT_CONTAINS)
def _dict_contains(guard: Guard, values: tuple[Any, ...]) -> bool:
    key, present = guard.payload
    if not isinstance_raw(values[0], dict):
        return False
    if isinstance(key, ObjectRef) and key.get() is None:
        return False
    try:
        dict_get(values[0], key.get() if isinstance(key, ObjectRef) else key)
    except Unresolved:
        return not present
    return bool(present)


@check(GuardKind.DICT_KEYS)
def _dict_keys(guard: Guard, values: tuple[Any, ...]) -> bool:
    if not isinstance_raw(values[0], dict):
        return False
    keys = [key for key, _ in dict_items(values[0])]
    return len(keys) == len(guard.payload) and all(
        _same_key(expected, key) for expected, key in zip(guard.payload, keys)
    )


@check(GuardKind.SET_CONTENTS)
def _set_contents(guard: Guard, values: tuple[Any, ...]) -> bool:
    if not isinstance_raw(values[0], set) and not isinstance_raw(values[0], frozenset):
        return False
    items = list(set.__iter__(values[0]) if isinstance_raw(values[0], set) else frozenset.__iter__(values[0]))
    return len(items) == len(guard.payload) and all(
        any(_same_key(expected, item) for expected in guard.payload) for item in items
    )


@check(GuardKind.SET_LAYOUT)
def _set_layout(guard: Guard, values: tuple[Any, ...]) -> bool:
    is_set = isinstance_raw(values[0], set) or isinstance_raw(values[0], frozenset)
    return is_set and layout_of(values[0]) == guard.payload


def _is_number_of(source: Source, value: Any) -> bool:
    return isinstance(source, FloatSource) or (type(value) is int and value in INT64)


@check(GuardKind.SHAPE_EXPRESSION)
def _shape_expression(guard: Guard, values: tuple[Any, ...]) -> bool:
    if not all(map(_is_number_of, guard.payload.sources, values)):
        return False
    try:
        return guard.payload.evaluate(values) != 0
    except ShapeOverflow:
        return False
