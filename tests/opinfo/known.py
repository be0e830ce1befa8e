"""Operators that are known to differ from eager, with the cause. Each row is a fault to be mended; the table docs/operators.md shows them as wrong.

("expand", "float32"): "why"
"""

from __future__ import annotations

KNOWN: dict[tuple[str, str], str] = {}
