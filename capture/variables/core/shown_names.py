"""Names of classes in the texts of errors.

In:  a class.
Out: its name as CPython writes it.
"""

from __future__ import annotations

from typing import Any


def shown_name(cls: type) -> str:
    """The name that the texts of CPython's errors have: with the module for most classes written in C."""
    other: Any = dict if issubclass(cls, list) else list
    try:
        other.__new__(cls)
    except TypeError as error:  # "list.__new__(datetime.date): datetime.date is not a subtype of list"
        return str(error).partition("(")[2].partition(")")[0]
    raise AssertionError(cls)
