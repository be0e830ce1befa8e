"""Calls from a frame with the name, the line and the globals of the program's.

In:  a callable without arguments, and a place of the program.
Out: its result. A warning that it gives has the line of the program's call, and the filters count it there:
     by default it is shown once for that line, not for each time that capture runs the operation.

    loss = F.mse_loss(x, y)     ->     train.py:12: UserWarning: Using a target size (torch.Size([8])) ...
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any

import _capture

REGISTRY = "__warningregistry__"  # in the globals of a module: the warnings that it has given
WARNED = "warned"  # in the `meta` of a node whose line has given one: a trace of the node gives none


def call_from(place: Any, namespace: dict[str, Any], call: Callable[[], Any]) -> Any:
    """`place`: has `co_filename`, `co_name`, `co_qualname` and `line`."""
    code = _calling.__code__.replace(
        co_filename=place.co_filename,
        co_name=place.co_name,
        co_qualname=place.co_qualname,
        co_firstlineno=place.line - 1,
    )
    _capture.skip_code(code)
    return types.FunctionType(code, namespace)(call)


def has_warned(place: Any, namespace: dict[str, Any]) -> bool:
    """Whether a call in the line has given a warning."""
    given = namespace.get(REGISTRY)
    if not given:
        return False
    return any(isinstance(key, tuple) and key[-1] == place.line for key in given)


class _Silent:
    """In the place of the module `warnings`."""

    @staticmethod
    def warn(*args: Any, **kwargs: Any) -> None:
        """The program has been warned."""


def silent(function: Any) -> Any:
    """The function without its own warnings. `catch_warnings` would let all lines of a program warn again."""
    if not isinstance(function, types.FunctionType) or function.__globals__.get("warnings") is not warnings:
        return function
    namespace = {**function.__globals__, "warnings": _Silent}
    made = types.FunctionType(
        function.__code__, namespace, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _calling(call: Callable[[], Any]) -> Any:
    return call()
