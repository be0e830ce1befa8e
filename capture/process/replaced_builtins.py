"""Finds out whether the program has replaced a built-in function.

In:  `builtins.len = ...` or `mock.patch("builtins.sum")` in the program.
Out: `are_replaced()`.

The interpreter and torch call these functions themselves. While one is replaced, no frame is captured;
existing entries still run if their guards hold. Functions for input and output are left out, because they do
not matter for a translation.
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
    """Whether one is replaced. The test calls no built-in function: it may be a replaced one."""
    now = builtins.__dict__
    for name, value in OWN:  # noqa: SIM110
        if name not in now or now[name] is not value:
            return True
    return False
