"""Which module has which keys of the tables. `scripts/contents.py` writes it."""

from __future__ import annotations

MADE_WITH = "torch 2.13, Python 3.11"

EMITTERS = {
    "codegen.llvm.arithmetic": """
        abs add and ceil copysign div eq floor floordiv fma fmax fmin ge gt isinf isnan le lt max min mod mul
        ne neg not or reciprocal rem round rsqrt shl shr sign signbit sqrt sub trunc truncdiv where xor
    """,
    "codegen.llvm.math": """
        acos acosh asin asinh atan atan2 atanh cosh erf erfc exp exp2 expm1 fmod hypot lgamma log log10 log1p
        log2 nextafter normal_cdf pow sigmoid sinh tan tanh
    """,
    "codegen.llvm.sines": """
        cos sin
    """,
}
