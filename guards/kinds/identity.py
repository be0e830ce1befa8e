"""Guards of identity: the exact type, the same object, and which places hold the same object.

In:  a place and the value found there, or places alone.
Out: `ExactTypeGuard`, `IdentityGuard`, `SameObjectGuard`, `DistinctObjectsGuard`.

    ExactTypeGuard.of(LocalSource("x"), [1, 2])   ->   type(x) is list
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guards.encoder import Encoder
from guards.guard import Guard, PlaceGuard
from guards.lookup import safe_repr
from guards.sources import Source
from guards.values import ObjectRef


def another(seen: ObjectRef, value: Any) -> str:
    """The text of an object that is not the one seen, also where both have one text."""
    text = safe_repr(value)
    return f"another {text.removeprefix('a ')}" if text == seen.text else text


class ExactTypeGuard(PlaceGuard):
    """The value has exactly this type."""

    cost = 2
    instruction = "CHECK_TYPE"

    @classmethod
    def of(cls, source: Source, value: Any) -> ExactTypeGuard:
        return cls((source,), ObjectRef(type(value)))

    def holds_for(self, value: Any) -> bool:
        return bool(self.payload.is_same(type(value)))

    def operands(self) -> list[ObjectRef]:
        return [self.payload]

    @property
    def text(self) -> str:
        return f"type({self.source.text}) is {self.payload.text}"

    def found_text(self, value: Any) -> str:
        return another(self.payload, type(value))


class IdentityGuard(PlaceGuard):
    """The place holds this very object. (Its type is not implied: `__class__` can be assigned.)"""

    cost = 4
    instruction = "CHECK_ID"

    @classmethod
    def of(cls, source: Source, value: Any) -> IdentityGuard:
        return cls((source,), ObjectRef(value))

    def holds_for(self, value: Any) -> bool:
        return bool(self.payload.is_same(value))

    def operands(self) -> list[ObjectRef]:
        return [self.payload]

    @property
    def text(self) -> str:
        return f"{self.source.text} is {self.payload.text}"

    def found_text(self, value: Any) -> str:
        return another(self.payload, value)


class SameObjectGuard(Guard):
    """Two places hold the same object."""

    cost = 5

    @classmethod
    def of(cls, first: Source, second: Source) -> SameObjectGuard:
        return cls((first, second))

    def holds(self, values: tuple[Any, ...]) -> bool:
        return values[0] is values[1]

    def encode(self, encoder: Encoder) -> None:
        first, second = map(encoder.register_of, self.sources)
        encoder.emit("CHECK_SAME", a=first, b=second)

    @property
    def text(self) -> str:
        return f"{self.sources[0].text} is {self.sources[1].text}"


class DistinctObjectsGuard(Guard):
    """No two of the places hold the same object."""

    cost = 90

    @classmethod
    def of(cls, sources: Sequence[Source]) -> DistinctObjectsGuard:
        return cls(tuple(sources))

    def holds(self, values: tuple[Any, ...]) -> bool:
        return len(set(map(id, values))) == len(values)

    def encode(self, encoder: Encoder) -> None:
        encoder.emit("CHECK_DISTINCT", operands=encoder.registers_of(self.sources))

    @property
    def text(self) -> str:
        return "all distinct: " + ", ".join(source.text for source in self.sources)
