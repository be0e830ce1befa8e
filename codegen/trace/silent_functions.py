"""Functions of torch without their warnings, for operations whose warnings the program has had.

In:  a function of Python.
Out: the same function, which warns nobody.

`warnings.catch_warnings` would do more: behind it, each line of the program warns once more.
"""

from __future__ import annotations

import types
import warnings
from typing import Any

WARNED = "warned"  # in the `meta` of a node whose line has given a warning


class _Silent:
    """In the place of the module `warnings`."""

    @staticmethod
    def warn(*args: Any, **kwargs: Any) -> None:
        """The program has been warned."""


def silent(function: Any) -> Any:
    if not isinstance(function, types.FunctionType) or function.__globals__.get("warnings") is not warnings:
        return function
    namespace = {**function.__globals__, "warnings": _Silent}
    made = types.FunctionType(
        function.__code__, namespace, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made
