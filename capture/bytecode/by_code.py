"""Remembers what was found out about a code object, as long as the code object lives.

In:  a function of a code object, and perhaps of further arguments.
Out: the same function, which computes each result once.

Code objects that were compiled from the same text are equal, even if they come from different files, and so
`functools.lru_cache` and dicts would mix them up. Here the object itself counts. A result must not refer to
the code object: neither would ever be released.

    @cached(maxsize=1024)
    def live_sets(code): ...
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")
Function = TypeVar("Function", bound=Callable[..., Any])


class ByCode(Generic[Value]):
    """A value for each code object, by its address. It goes with the code object."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[weakref.ref[CodeType], Value]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, code: CodeType) -> bool:
        return id(code) in self._held

    def get(self, code: CodeType) -> Value | None:
        found = self._held.get(id(code))
        return found[1] if found is not None else None

    def set(self, code: CodeType, value: Value) -> Value:
        number, held = id(code), self._held
        held[number] = (weakref.ref(code, lambda _: held.pop(number, None)), value)
        return value

    def drop_oldest(self) -> None:
        self._held.pop(next(iter(self._held), 0), None)


def cached(maxsize: int) -> Callable[[Function], Function]:
    """Results for `maxsize` code objects. The code is the first argument."""

    def decorate(function: Function) -> Function:
        results: ByCode[dict[Any, Any]] = ByCode()

        @functools.wraps(function)
        def lookup(code: CodeType, *rest: Any) -> Any:
            known = results.get(code)
            if known is None:
                if len(results) >= maxsize:
                    results.drop_oldest()
                known = results.set(code, {})
            if rest not in known:
                known[rest] = function(code, *rest)
            return known[rest]

        return lookup  # type: ignore[return-value]

    return decorate
