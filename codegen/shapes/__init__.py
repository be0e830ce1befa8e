"""Shape rules: what an ATen operator's results look like, from what its arguments look like. One table, `RULES`; see `spec.py`."""

from __future__ import annotations

from codegen.shapes import elementwise, factories, linear_algebra, nn, reductions
from codegen.shapes.spec import RULES, Spec

__all__ = ["RULES", "Spec", "elementwise", "factories", "linear_algebra", "nn", "reductions"]
