"""The table of functions and classes whose calls have a rule of their own: `CALLS`.

A rule is `rule(tx, *args, **kwargs) -> Variable`, registered with `@rule(len)`; the files here are the families, `families.py` imports them all. What is pure
and gets constants needs no rule: it is simply called (`variables.builtin`). What can be written in Python is a polyfill that is inlined
(`capture.polyfills`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from capture.variables.base import Variable

if TYPE_CHECKING:
    from collections.abc import Callable


CALLS: dict[Any, Callable[..., Variable]] = {}


def rule(*functions: Any) -> Callable[[Callable[..., Variable]], Callable[..., Variable]]:
    def register(handler: Callable[..., Variable]) -> Callable[..., Variable]:
        for function in functions:
            CALLS[function] = handler
        return handler

    return register


def lookup(function: Any) -> Callable[..., Variable] | None:
    try:
        return CALLS.get(function)
    except TypeError:
        return None  # an unhashable callable has no rule
