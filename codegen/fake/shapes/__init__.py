"""Shape rules: what an ATen operator's results look like, from what its arguments look like. One table,
`RULES`; see `spec.py`.
"""

from __future__ import annotations

from codegen.fake.shapes import elementwise, factories, linear_algebra, nn, reductions
from codegen.fake.shapes.spec import RULES, Spec

__all__ = ["RULES", "Spec", "elementwise", "factories", "linear_algebra", "nn", "reductions"]
