"""Sources and guards as plain data, for the next process.

In:  the guards of an entry, and the sources that its graph reads.
Out: `Writer`: data for JSON. `Reader`: equal sources and guards, about the objects of its own process.

    AttrSource(LocalSource("x"), "n"), ConstantGuard(_, 3)
        ->   sources [["LocalSource", "x"], ["AttrSource", 0, "n"]], guards [["ConstantGuard", [1], 3]]

Addresses, versions and hashes are never stored: the reader takes them from the objects that it finds. A kind
that is not in these tables has no plain form (`NotPlain`), and neither has an object that only this process
knows.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import fields
from typing import Any, cast

from guards import sources as s
from guards.conditions import ComputedSource, ShapeExpression
from guards.guard import Guard
from guards.kinds import attributes, constants, containers, identity, iterators, sizes, state, tensors
from guards.plain_values import (
    OBJECT,
    SINGLE,
    NotPlain,
    Numbers,
    Objects,
    Plain,
    plain,
    plain_key,
    real,
)
from guards.properties.buffer import BufferProperties
from guards.properties.global_state import GlobalState
from guards.properties.tensor import TensorProperties
from guards.values import ObjectRef

SOURCES: dict[str, type[s.Source]] = {
    kind.__name__: kind
    for kind in (
        s.AttrSource, s.BuiltinSelfSource, s.BuiltinSource, s.CellContentsSource, s.CellSource,
        s.ClassNameSource, s.ConstantSource, s.DequeItemSource, s.DictItemSource, s.DictKeySource,
        s.DictSource, s.DictValueSource, s.FloatSource, s.FreeCellSource, s.FunctionFieldSource,
        s.FunctionModeSource, s.FunctionSource, s.GlobalSource, s.GlobalStateSource, s.GlobalsSource,
        s.GradSource, s.ItemSource, s.IteratorPartSource, s.LengthSource, s.LocalSource,
        s.MethodFieldSource, s.ModuleAttrSource, s.MroItemSource, s.NumpyIntSource, s.ShapeSource,
        s.StateSource, s.TypeAttrSource, s.TypeSource, s.WeakrefSource, ComputedSource,
    )
}  # fmt: skip


_FIELDS = {kind: tuple(field.name for field in fields(kind)) for kind in SOURCES.values()}


# --- payloads of guards -----------------------------------------------------------------------------------


def identified(writer: Writer, ref: ObjectRef, number: Callable[[Any], int] | None = None) -> Plain:
    """An object that a guard knows by identity. `number` numbers it, if not as guards do."""
    value = ref.get()
    if value is None and ref.is_weak:
        raise NotPlain("an object that is gone")
    single = type(value) in SINGLE
    data = (
        plain(value, writer.objects)
        if single
        else [OBJECT, (number or writer.objects.number_in_guard)(value)]
    )
    writer.identified[ref.id] = data
    return data


def _found(reader: Reader, data: Plain) -> ObjectRef:
    return ObjectRef(real(data, reader.objects))


def _key(writer: Writer, key: Any, written: Callable[[Any, Numbers], Plain] = plain) -> Plain:
    """A key of a dict or an element of a set."""
    if not isinstance(key, ObjectRef):
        return written(key, writer.objects)
    return ["ref", identified(writer, key, writer.objects.number_of_key)]


def _found_key(reader: Reader, data: Plain) -> Any:
    if type(data) is list and data[0] == "ref":
        value = real(data[1], reader.objects)
        return ObjectRef(value, hash_value=hash(value))
    return real(data, reader.objects)


def _function(writer: Writer, payload: Any) -> Plain:
    code, defaults, keyword, cells = payload
    if defaults is not None or keyword is not False or cells is not False:
        raise NotPlain("a function whose defaults and cells are known by identity")
    return identified(writer, code)


def _tensor(writer: Writer, p: TensorProperties) -> Plain:
    plain_parts = (
        p.dtype,
        p.device,
        p.layout,
        p.dispatch_keys,
        p.requires_grad,
        p.is_leaf,
        p.sizes,
        p.strides,
    )
    return [identified(writer, p.type), *[plain(part, writer.objects) for part in plain_parts]]


def _found_tensor(reader: Reader, data: Plain) -> TensorProperties:
    kind, *parts = data
    return TensorProperties(_found(reader, kind), *[real(part, reader.objects) for part in parts])


def _buffer(writer: Writer, p: BufferProperties) -> Plain:
    return [identified(writer, p.cls), p.format, list(p.shape), list(p.strides), p.readonly]


def _found_buffer(reader: Reader, data: Plain) -> BufferProperties:
    cls, letters, shape, strides, readonly = data
    return BufferProperties(_found(reader, cls), letters, tuple(shape), tuple(strides), readonly)


def _expression(writer: Writer, payload: ShapeExpression) -> Plain:
    tokens = [[word, *[plain(operand, writer.objects) for operand in rest]] for word, *rest in payload.code]
    return [list(map(writer.source, payload.sources)), tokens]


def _found_expression(reader: Reader, data: Plain) -> ShapeExpression:
    places, tokens = data
    code = tuple((word, *[real(operand, reader.objects) for operand in rest]) for word, *rest in tokens)
    return ShapeExpression(tuple(map(reader.source, places)), cast("Any", code))


Form = tuple[Callable[["Writer", Any], Plain], Callable[["Reader", Plain], Any]]

CONSTANT: Form = (lambda w, value: plain(value, w.objects), lambda r, data: real(data, r.objects))
REFERENCE: Form = (identified, _found)
NOTHING: Form = (lambda w, payload: None, lambda r, data: None)
KEYS: Form = (
    lambda w, keys: [_key(w, key, w.written_key) for key in keys],
    lambda r, data: tuple(_found_key(r, key) for key in data),
)
GUARDS: dict[type[Guard], Form] = {
    constants.IntRangeGuard: CONSTANT,
    constants.ConstantGuard: CONSTANT,
    constants.ContentsGuard: CONSTANT,
    containers.LengthGuard: CONSTANT,
    containers.SetLayoutGuard: CONSTANT,
    containers.DictContainsGuard: (
        lambda w, payload: [_key(w, payload[0], plain_key), payload[1]],
        lambda r, data: (_found_key(r, data[0]), data[1]),
    ),
    containers.DictKeysGuard: KEYS,
    containers.SetContentsGuard: KEYS,
    attributes.HasAttributeGuard: CONSTANT,
    attributes.NoAttributeGuard: CONSTANT,
    attributes.ClassLacksGuard: CONSTANT,
    attributes.FunctionGuard: (_function, lambda r, data: (_found(r, data), None, False, False)),
    identity.ExactTypeGuard: REFERENCE,
    identity.IdentityGuard: REFERENCE,
    identity.SameObjectGuard: NOTHING,
    identity.DistinctObjectsGuard: NOTHING,
    iterators.IteratorStateGuard: CONSTANT,
    sizes.ShapeGuard: (_expression, _found_expression),
    state.GlobalStateGuard: (lambda w, payload: list(payload), lambda r, data: GlobalState(*data)),
    tensors.TensorGuard: (_tensor, _found_tensor),
    tensors.BufferGuard: (_buffer, _found_buffer),
    tensors.SharedStorageGuard: CONSTANT,
}
#: counts of changes in this process. The entry says what else has to be true (`facts`); from then on nothing
#: may change
OF_THE_PROCESS = (abc.get_cache_token,)
PRESENT = "present"
_GUARDS_BY_NAME = {kind.__name__: (kind, form) for kind, form in GUARDS.items()}


# --- writing and reading ----------------------------------------------------------------------------------


class Writer:
    """The sources of one entry, each once, and guards about them."""

    objects: Numbers

    def __init__(self, objects: Numbers) -> None:
        self.objects = objects
        self.sources: list[Plain] = []
        self.identified: dict[int, Plain] = {}  # by id of the object
        self.written_key: Callable[[Any, Numbers], Plain] = plain  # of the present guard
        self._places: dict[s.Source, int] = {}

    def source(self, source: s.Source) -> int:
        """The place of a source in `sources`. Its parents come before it."""
        place = self._places.get(source)
        if place is None:
            kind = type(source)
            if SOURCES.get(kind.__name__) is not kind:
                raise NotPlain(f"a {kind.__name__}")
            parts = [self._field(getattr(source, name)) for name in _FIELDS[kind]]
            place = self._places[source] = len(self.sources)
            self.sources.append([kind.__name__, *parts])
        return place

    def _field(self, value: Any) -> Plain:
        if isinstance(value, s.Source):
            return ["source", self.source(value)]
        if type(value) is tuple and any(isinstance(item, s.Source) for item in value):
            return ["sources", *map(self.source, value)]
        return _key(self, value, plain_key)

    def guard(self, guard: Guard) -> Plain:
        first = guard.sources[0] if guard.sources else None
        if isinstance(first, s.StateSource) and first.function in OF_THE_PROCESS:
            return [PRESENT, self.source(first), None]
        form = GUARDS.get(type(guard))
        if form is None:
            raise NotPlain(f"a {type(guard).__name__}")
        self.written_key = plain_key if first is not None and first.text in self.objects.unread else plain
        return [type(guard).__name__, list(map(self.source, guard.sources)), form[0](self, guard.payload)]


class Reader:
    """`sources` is what a `Writer` has written. A source is made when it is asked for."""

    objects: Objects

    def __init__(self, sources: list[Plain], objects: Objects) -> None:
        self.objects = objects
        self._data = sources
        self._made: dict[int, s.Source] = {}

    def source(self, place: int) -> s.Source:
        made = self._made.get(place)
        if made is None:
            name, *parts = self._data[place]
            values = [self._field(part, place) for part in parts]
            made = self._made[place] = SOURCES[name](*values)
        return made

    def _field(self, part: Plain, place: int) -> Any:
        if type(part) is list and part[0] in ("source", "sources"):
            if not all(0 <= above < place for above in part[1:]):
                raise ValueError("a source is its own parent")
            parents = tuple(map(self.source, part[1:]))
            return parents if part[0] == "sources" else parents[0]
        if type(part) is list and part[0] == "ref":
            return _found_key(self, part)
        return real(part, self.objects)

    def guard(self, data: Plain) -> Guard:
        name, places, payload = data
        if name == PRESENT:
            source = self.source(places)
            if not isinstance(source, s.StateSource) or source.function not in OF_THE_PROCESS:
                raise TypeError(f"no count of changes: {source.text}")
            return constants.ConstantGuard.of(source, source.function())
        kind, form = _GUARDS_BY_NAME[name]
        return kind(tuple(map(self.source, places)), form[1](self, payload))
