"""Source: where a value comes from, as plain data. The kinds are in `guards.source`.

In:  nothing.
Out: `Source`, and `DerivedSource` for places inside another object.

Two sources are equal when they name the same place. `resolve` finds the value in a frame without running user code; no source knows any bytecode.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from guards.namespace import FrameNamespace
from guards.values import ObjectRef, constant_identity, is_constant


@dataclass(frozen=True, eq=False)
class Source:
    """A place. `base` is the source of the object that it is read from, None for a root."""

    is_int: ClassVar[bool] = False  # a machine integer rather than an object (sizes and strides)

    def __post_init__(self) -> None:
        identity = (type(self), *(_field_identity(getattr(self, f.name)) for f in fields(self) if f.compare))
        object.__setattr__(self, "_identity", identity)
        object.__setattr__(self, "_hash", hash(identity))

    @property
    def base(self) -> Source | None:
        return None

    @property
    def text(self) -> str:
        """How a user would write it."""
        raise NotImplementedError(type(self).__name__)

    def resolve(self, frame: FrameNamespace) -> Any:
        """The value in this frame. Raises Unresolved where the place does not exist. Runs no user code."""
        raise NotImplementedError(type(self).__name__)

    def chain(self) -> list[Source]:
        """From the root to this source."""
        above = self.base.chain() if self.base is not None else []
        return [*above, self]

    def references(self) -> Iterator[ObjectRef]:
        """Objects that the place is named by (the key of a dict, the class behind which `super` looks), here and on the way."""
        for step in self.chain():
            yield from (value for value in vars(step).values() if isinstance(value, ObjectRef))

    @property
    def root(self) -> Source:
        return self.chain()[0]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Source) and self._hash == other._hash and self._identity == other._identity  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined]

    def __str__(self) -> str:
        return self.text


def _field_identity(value: Any) -> Any:
    if isinstance(value, (Source, ObjectRef)):
        return value
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
