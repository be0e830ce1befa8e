"""Source: the place that a value comes from, as plain data.

In:  the fields of a class of sources.
Out: `Source`, and `DerivedSource` for places inside another object. The classes are in `guards.sources`.

Two sources are equal when they name the same place. `resolve` finds the value in a frame, and runs no user
code. No source knows bytecode.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache, cached_property
from typing import Any, ClassVar

from capture_records import dataclass
from guards.namespace import FrameNamespace
from guards.values import ObjectRef, constant_identity, is_constant


@dataclass(frozen=True, eq=False)
class Source:
    """A place. `base` is the source of the object that the place is read from, None for a root."""

    is_int: ClassVar[bool] = False  # a machine integer rather than an object (sizes and strides)

    def __post_init__(self) -> None:
        own: dict[str, Any] = vars(self)  # written to directly: a frozen dataclass refuses only assignments
        kind: Any = type(self)
        identity = (kind, *[_field_identity(own[name]) for name in _compared_fields(kind)])
        own["_identity"], own["_hash"] = identity, hash(identity)

    @property
    def base(self) -> Source | None:
        return None

    @property
    def text(self) -> str:
        """The place as a user writes it."""
        raise NotImplementedError(type(self).__name__)

    def resolve(self, frame: FrameNamespace) -> Any:
        """The value in this frame. Raises Unresolved where the place does not exist. Runs no user code."""
        raise NotImplementedError(type(self).__name__)

    def chain(self) -> list[Source]:
        """From the root to this source."""
        chain, step = [self], self.base
        while step is not None:
            chain.append(step)
            step = step.base
        return chain[::-1]

    @cached_property
    def references(self) -> tuple[ObjectRef, ...]:
        """The objects that name the place or a place on the way: a key of a dict, the class behind which
        `super` looks.
        """
        above = self.base.references if self.base is not None else ()
        own = tuple(
            value
            for value in self._identity  # type: ignore[attr-defined]
            if isinstance(value, ObjectRef)
        )
        return above + own if own else above

    @property
    def root(self) -> Source:
        step = self
        while step.base is not None:
            step = step.base
        return step

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        same_hash = isinstance(other, Source) and self._hash == other._hash  # type: ignore[attr-defined]
        return same_hash and self._identity == other._identity  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined]

    def __str__(self) -> str:
        return self.text


@cache
def _compared_fields(kind: type[Source]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.compare)


def _field_identity(value: Any) -> Any:
    if type(value) is str:  # most fields: the name of an attribute or a key
        return str, value
    if isinstance(value, (Source, ObjectRef)):
        return value
    if type(value) is tuple and not is_constant(value):
        return (tuple, *map(_field_identity, value))
    return constant_identity(value) if is_constant(value) else ("id", id(value))


@dataclass(frozen=True, eq=False)
class DerivedSource(Source):
    """A place inside another object."""

    parent: Source

    @property
    def base(self) -> Source:
        return self.parent

    def resolve(self, frame: FrameNamespace) -> Any:
        return self.read(self.parent.resolve(frame))

    def read(self, owner: Any) -> Any:
        """The value inside `owner`. Raises Unresolved."""
        raise NotImplementedError(type(self).__name__)
