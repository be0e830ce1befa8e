"""Operators that are known to differ from eager, with the cause.

Each row is a defect to be fixed; docs/operators.md shows it as wrong.

    ("expand", "float32"): "why"
"""

from __future__ import annotations

KNOWN: dict[tuple[str, str], str] = {
    (
        "diagonal_scatter",
        "float32",
    ): "noncontiguous: the storage offset of the result, which eager takes from the operand",
    ("sinc", "float32"): "reference: close to 0 the gradient is a small difference of large numbers",
}
