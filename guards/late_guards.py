"""The guards of an entry from the store. Few are ever looked at: the program checks them.

In:  what makes the guards, and the objects that they name.
Out: `LateGuards`, for `guards.failure` and `cache.install` in place of a `GuardSet`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

from guards.guard import Guard
from guards.values import weakly


class LateGuards:
    """`make` gives the guards in the order of the program. It is called when somebody asks for one."""

    def __init__(self, make: Callable[[], Sequence[Guard]], named: Iterable[Any]) -> None:
        self._make = make
        self._named = list(map(weakly, named))

    @cached_property
    def _guards(self) -> Sequence[Guard]:
        return self._make()

    def __len__(self) -> int:
        return len(self._guards)

    def __getitem__(self, index: int) -> Guard:
        return self._guards[index]

    def weak_objects(self) -> list[Any]:
        """As those of a `GuardSet`: None for one that is dead. The program holds the others."""
        return [ref() for ref in self._named if ref is not None]
