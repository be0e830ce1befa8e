"""The guard of iterators: how far a built-in iterator has come.

In:  a place and the iterator, the view of a dict or the deque found there.
Out: `IteratorStateGuard`; what it walks over is a place of its own (`IteratorPartSource`).

    IteratorStateGuard.of(LocalSource("it"), enumerate(xs, 5))   ->   it has come as far as (5,)
"""

from __future__ import annotations

from typing import Any

from guards.guard import GuardError, PlaceGuard
from guards.lookup import Unresolved, safe_repr
from guards.properties.iterator_state import numbers_of
from guards.sources import Source


class IteratorStateGuard(PlaceGuard):
    """A built-in iterator has come as far as this one (see `guards.properties.iterator_state`)."""

    cost = 15
    instruction = "CHECK_ITERATOR"

    @classmethod
    def of(cls, source: Source, iterator: Any) -> IteratorStateGuard:
        try:
            return cls((source,), numbers_of(iterator))
        except Unresolved as reason:
            raise GuardError(f"{source.text}: {reason}, {safe_repr(iterator)}") from None

    def holds_for(self, value: Any) -> bool:
        return bool(numbers_of(value) == self.payload)

    def operands(self) -> tuple[int, ...]:
        return tuple(self.payload)

    @property
    def text(self) -> str:
        return f"{self.source.text} has come as far as {self.payload}"
