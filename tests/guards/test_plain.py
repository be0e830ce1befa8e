"""Guards as plain data: what is read is what was written."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest

from guards import sources as s
from guards.guard import Guard
from guards.kinds.tensors import UnwrittenTensorGuard
from guards.plain import GUARDS, SOURCES, Reader, Writer
from guards.plain_values import NotPlain, is_plain_constant, plain, real
from tests.guards.cases import CASES
from tests.guards.world import Case, World


class Numbered:
    """Objects of this process by number."""

    def __init__(self) -> None:
        self.held: list[Any] = []

    def number_of(self, value: Any) -> int:
        self.held.append(value)
        return len(self.held) - 1

    number_in_guard = number_of_key = number_of
    addresses: ClassVar[dict[int, Any]] = {}
    unread: ClassVar[frozenset[str]] = frozenset()

    def __getitem__(self, number: int) -> Any:
        return self.held[number]


#: kinds without a plain form, and why
NO_FORM = {
    UnwrittenTensorGuard: "it knows an address and a version",
    s.ThreadDictSource: "it holds an object of the program",
}


def all_kinds(kind: type) -> set[type]:
    found = {kind}
    for below in kind.__subclasses__():
        found |= all_kinds(below)
    return {k for k in found if k.__module__.startswith("guards.")}


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_what_is_read_equals_what_was_written(case: Case) -> None:
    world = World(case.make())
    with world.stack:
        for guard in case.guards(world):
            objects = Numbered()
            writer = Writer(objects)
            try:
                data = json.loads(json.dumps([writer.guard(guard), writer.sources]))
            except NotPlain:
                continue
            assert Reader(data[1], objects).guard(data[0]) == guard


def test_most_guards_have_a_form() -> None:
    written = refused = 0
    for case in CASES:
        world = World(case.make())
        with world.stack:
            for guard in case.guards(world):
                try:
                    Writer(Numbered()).guard(guard)
                    written += 1
                except NotPlain:
                    refused += 1
    assert written > 8 * refused


def test_every_kind_has_a_form_or_a_reason() -> None:
    guards = {kind for kind in all_kinds(Guard) if "cost" in vars(kind)}
    assert guards - set(GUARDS) == {kind for kind in NO_FORM if issubclass(kind, Guard)}
    sources = {kind for kind in all_kinds(s.Source) - {s.Source} if "text" in vars(kind)}
    assert sources - set(SOURCES.values()) == {k for k in NO_FORM if issubclass(k, s.Source)}


@pytest.mark.parametrize(
    "value", [1, True, 1.5, -0.0, 1 << 5000, "\ud800", b"\0", (1, (2.0,)), ..., slice(1, None), range(3), 2j]
)
def test_constants(value: Any) -> None:
    data = json.loads(json.dumps(plain(value, Numbered())))
    found = real(data, Numbered())
    assert is_plain_constant(value)
    assert (type(found), repr(found) if value != 1 << 5000 else "") == (
        type(value),
        repr(value) if value != 1 << 5000 else "",
    )
    assert found == value


@pytest.mark.parametrize("data", [{}, ["nothing"], ["object", 3], ["float", "x"], ["dtype", "relu"], 1.5])
def test_what_is_no_data(data: Any) -> None:
    with pytest.raises((KeyError, TypeError, ValueError, IndexError)):
        real(data, Numbered())
