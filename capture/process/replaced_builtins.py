"""Whether the program has put something else in the place of a built-in function (`builtins.len = ...`,
`mock.patch("builtins.sum")`).

The translation itself, and torch beneath it, calls these functions: while one is replaced nothing is
captured, and what was captured answers where its own guards hold. Functions for input and output, which
change nothing for a translation, are left out.
"""

from __future__ import annotations

import builtins
import types

LEFT_OUT = (
    "print",
    "input",
    "open",
    "__import__",
    "__build_class__",
    "breakpoint",
    "compile",
    "eval",
    "exec",
)
OWN = tuple(
    (name, value)
    for name, value in vars(builtins).items()
    if isinstance(value, types.BuiltinFunctionType)
    or (isinstance(value, type) and not issubclass(value, BaseException))
    if name not in LEFT_OUT and not name.startswith("_")
)


def are_replaced() -> bool:
    """Calls no built-in function, which may be one of those that are replaced."""
    now = builtins.__dict__
    for name, value in OWN:  # noqa: SIM110
        if name not in now or now[name] is not value:
            return True
    return False
