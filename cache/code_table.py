"""What is known of code objects, and is forgotten with them.

In:  code objects, as keys.
Out: `CodeTable`: values by code object.

    table[f.__code__] = 3; del f    ->    len(table) == 0

The key is the object: code objects compare by value, and hashing one hashes all its constants. A table holds
no code object. So a value must not hold its own key: the garbage collector does not look into code objects,
and would never find such a circle.
"""

from __future__ import annotations

import weakref
from types import CodeType
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class CodeTable(Generic[T]):
    """Values by code object. Threads may use it at the same time."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.KeyedRef[int, CodeType], T]] = {}
        known = self._known  # the callback has no reference to the table

        def forget(reference: weakref.KeyedRef[int, CodeType]) -> None:
            known.pop(reference.key, None)  # before the address can be another object's

        self._forget: Any = forget

    def get(self, code: CodeType) -> T | None:
        found = self._known.get(id(code))
        return None if found is None else found[1]

    def __contains__(self, code: CodeType) -> bool:
        return id(code) in self._known

    def __setitem__(self, code: CodeType, value: T) -> None:
        self._known[id(code)] = weakref.KeyedRef(code, self._forget, id(code)), value

    def __len__(self) -> int:
        return len(self._known)

    def values(self) -> list[T]:
        return [value for _, value in list(self._known.values())]

    def drop_oldest(self) -> None:
        self._known.pop(next(iter(self._known), 0), None)

    def clear(self) -> None:
        self._known.clear()
