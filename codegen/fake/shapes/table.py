"""All shape rules: the import of this module fills the table.

In:  one file for each family of operators; `spec.py` has the decorator.
Out: `SHAPE_RULES`: operator -> the rule that computes the `Spec` of its results.
"""

from __future__ import annotations

from codegen.fake.shapes import (
    attention,
    changed_copies,
    elementwise,
    factories,
    linear_algebra,
    nn,
    norms,
    reductions,
)
from codegen.fake.shapes.spec import SHAPE_RULES

FAMILIES = (attention, changed_copies, elementwise, factories, linear_algebra, nn, norms, reductions)
__all__ = ["FAMILIES", "SHAPE_RULES"]
