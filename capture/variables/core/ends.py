"""Objects whose end Python code sees.

In:  an object that the frame may let go of.
Out: a signal that leaves the frame to Python if the object's class has a `__del__`: Python calls it at once.
"""

from __future__ import annotations

from typing import Any

from capture.report.break_reasons import finalized
from capture.variables.core.class_lookup import MISSING, lookup_type


def check_end(value: Any) -> None:
    check_end_of(type(value))


def check_end_of(kind: type) -> None:
    if lookup_type(kind, "__del__") is not MISSING:
        raise finalized(f"a {kind.__name__} object")
