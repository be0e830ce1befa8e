"""Arguments of the public functions: a wrong one is told with what to write instead.

In:  a function; a call with an unknown keyword, too many arguments, or one that is missing.
Out: the same function. Such a call raises `UsageError`, which is a `TypeError` too.

    explain(f, fulgraph=True)   ->   explain() has no argument 'fulgraph': did you mean 'fullgraph'? ...
"""

from __future__ import annotations

import functools
import inspect
import reprlib
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from capture.report.errors import ArgumentError, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")


def checked_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: a call that does not fit the signature is an ArgumentError."""
    signature = inspect.signature(function)
    name = function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(misfit(name, signature, kwargs, error)) from None
        return function(*args, **kwargs)

    return checked


def misfit(name: str, signature: inspect.Signature, given: Mapping[str, Any], error: TypeError) -> str:
    """Why the arguments do not fit: the unknown keyword with the nearest known one, else Python's reason."""
    known = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.name != "self"
    ]
    unknown = [keyword for keyword in given if keyword not in known]
    if not unknown:
        return f"{name}{_without_self(signature)}: {error}"
    tail = did_you_mean(unknown[0], known) if known else "it takes no arguments"
    return f"{name}() has no argument {unknown[0]!r}: {tail}"


def _without_self(signature: inspect.Signature) -> str:
    kept = [
        parameter.replace(annotation=parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    return str(inspect.Signature(kept))


def shown(value: Any) -> str:
    """A value in an error text: one line, also for tensors, modules and long lists."""
    module = type(value).__module__.partition(".")[0]
    if module in ("builtins", "capture") or isinstance(value, type):
        return " ".join(reprlib.repr(value).split())
    return f"a {type(value).__name__}"
