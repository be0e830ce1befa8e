"""Operators that are known to differ from eager, with the cause. Each row is a fault to be mended; the table docs/operators.md shows them as wrong.

("expand", "float32"): "why"
"""

from __future__ import annotations

KNOWN: dict[tuple[str, str], str] = {
    ("nn.functional.pixel_unshuffle", "float32"): "noncontiguous: the strides of dims of size 1",
    (
        "diagonal_scatter",
        "float32",
    ): "noncontiguous: the storage offset of the result, which eager takes from the operand",
    ("expand", "float32"): "dynamic: the stride of a new dim of size 1",
    ("broadcast_to", "float32"): "dynamic: the stride of a new dim of size 1",
}
