"""The families of lowerings: the import of this module fills the table of `registry.py`.

In:  one file for each family of operators. `@lowering(overload)` registers a lowering, which says what the
     element at an index is.
Out: `FAMILIES`, the modules.
"""

from __future__ import annotations

from codegen.lower import (
    activation,
    assertions,
    copies,
    creation,
    indexing,
    joining,
    pointwise,
    pooling,
    reduction,
    scan,
    scattering,
    updates,
    view,
    windows,
)

FAMILIES = (
    pointwise, copies, activation, reduction, scan, pooling, view, indexing, scattering, creation, joining,
    assertions, windows, updates,
)  # fmt: skip
