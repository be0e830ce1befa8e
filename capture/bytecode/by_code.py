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
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

from cache.code_table import CodeTable

Function = TypeVar("Function", bound=Callable[..., Any])


def cached(maxsize: int) -> Callable[[Function], Function]:
    """Results for `maxsize` code objects. The code is the first argument."""

    def decorate(function: Function) -> Function:
        results: CodeTable[dict[Any, Any]] = CodeTable()

        @functools.wraps(function)
        def lookup(code: CodeType, *rest: Any) -> Any:
            known = results.get(code)
            if known is None:
                if len(results) >= maxsize:
                    results.drop_oldest()
                results[code] = known = {}
            if rest not in known:
                known[rest] = function(code, *rest)
            return known[rest]

        return lookup  # type: ignore[return-value]

    return decorate
