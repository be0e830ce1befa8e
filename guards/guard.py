"""A guard: a condition that has to hold before a captured frame may be used again.

In:  the places that the condition is about, and what was seen there while the frame was captured.
Out: `Guard` and `PlaceGuard`, the base classes of all kinds. The kinds are in `guards.kinds`.

    class LengthGuard(PlaceGuard):                # len(x) == 2
        cost = 8                                  # cheap guards come first
        instruction = "CHECK_LENGTH"              # what the guard program runs

        @classmethod
        def of(cls, source, value): ...           # makes the guard
        def holds_for(self, value): ...           # checks the guard in Python
        def operands(self): ...                   # the operands of the instruction
        text = property(...)                      # the condition as a user reads it
        def found_text(self, value): ...          # what is there when the guard fails

A guard remembers only what it needs: an id, a length, a shape. It holds an object weakly where the type of
the object allows that.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from enum import IntEnum
from functools import cached_property
from typing import Any, ClassVar, Self

import torch

from capture_records import dataclass
from guards.encoder import Encoder
from guards.lookup import Unresolved, safe_repr
from guards.namespace import FrameNamespace
from guards.sources import Source
from guards.values import ObjectRef, constant_identity, is_constant


class GuardError(TypeError):
    """A guard of this kind can not be made from this value."""


class Stage(IntEnum):
    """The guards of a stage are checked before those of the next stage."""

    STATE = 0
    ONE_PLACE = 1
    BETWEEN_PLACES = 2


@dataclass(frozen=True, eq=False)
class Guard:
    """A condition over any number of places.

    `payload` is what was seen, in the form that the kind needs. `user_stack` is the user's code that asked
    for the guard. `cost` is in tenths of a nanosecond, roughly: it orders the guards of one level.
    """

    sources: tuple[Source, ...]
    payload: Any = None
    user_stack: traceback.StackSummary | None = field(default=None)

    cost: ClassVar[int]
    stage: ClassVar[Stage] = Stage.BETWEEN_PLACES
    implies: ClassVar[tuple[type[Guard], ...]] = ()  # kinds that are needless on the same source

    def __post_init__(self) -> None:
        vars(self)["_identity"] = (type(self), self.sources, _payload_identity(self.payload))

    @property
    def source(self) -> Source:
        return self.sources[0]

    @property
    def text(self) -> str:
        """The condition as a user reads it."""
        raise NotImplementedError(type(self).__name__)

    def holds(self, values: tuple[Any, ...]) -> bool:
        """Whether the condition is true for the values of `sources`. Runs no user code."""
        raise NotImplementedError(type(self).__name__)

    def encode(self, encoder: Encoder) -> None:
        """Write the instructions that check the guard."""
        raise NotImplementedError(type(self).__name__)

    def holds_in(self, frame: FrameNamespace) -> bool:
        """Whether the guard holds in this frame. A guard fails where a source leads nowhere."""
        try:
            return self.holds(tuple(source.resolve(frame) for source in self.sources))
        except (Unresolved, GuardError):
            return False

    def failure(self, frame: FrameNamespace) -> tuple[str, str]:
        """What was there at capture, and what is there now."""
        try:
            values = tuple(source.resolve(frame) for source in self.sources)
        except Unresolved as missing:
            return self.text, str(missing)
        return self.text, self._found(values)

    def _found(self, values: tuple[Any, ...]) -> str:
        if len(values) == 1:
            return safe_repr(values[0])
        pairs = zip(self.sources, values)
        return ", ".join(f"{source.text} = {safe_repr(value)}" for source, value in pairs)

    def references(self) -> Iterable[ObjectRef]:
        """Every object that the guard names."""
        yield from _references(self.payload)
        for source in self.sources:
            yield from source.references

    def with_stack(self, user_stack: traceback.StackSummary | None) -> Self:
        """The same guard, with the user's lines that asked for it."""
        return replace(self, user_stack=user_stack)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Guard) and self._identity == other._identity  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self._identity)  # type: ignore[attr-defined]

    def __str__(self) -> str:
        return self.text


class PlaceGuard(Guard):
    """A condition on one place. Most kinds are one instruction on the register of that place."""

    stage = Stage.ONE_PLACE
    instruction: ClassVar[str]

    def holds_for(self, value: Any) -> bool:
        """Whether the condition is true for this value. Runs no user code."""
        raise NotImplementedError(type(self).__name__)

    def operands(self) -> Sequence[Any]:
        """The operands of `instruction`."""
        return [self.payload]

    def found_text(self, value: Any) -> str:
        """A value for which the guard fails, as a user reads it."""
        return safe_repr(value)

    def holds(self, values: tuple[Any, ...]) -> bool:
        return self.holds_for(values[0])

    def encode(self, encoder: Encoder) -> None:
        encoder.emit(self.instruction, b=encoder.register_of(self.source), operands=self.operands())

    def _found(self, values: tuple[Any, ...]) -> str:
        return self.found_text(values[0])


def _payload_identity(payload: Any) -> Any:
    """A hashable form of a payload: constants by exact value."""
    if isinstance(payload, tuple) and not isinstance(payload, torch.Size):
        return tuple(map(_payload_identity, payload))
    return constant_identity(payload) if is_constant(payload) else payload


def _references(payload: Any) -> Iterable[ObjectRef]:
    if isinstance(payload, ObjectRef):
        yield payload
    elif type(payload) is tuple:
        for item in payload:
            yield from _references(item)
