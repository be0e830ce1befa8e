"""The families of lowerings: importing this module fills the table of `registry.py`.

In:  one file for each family of operators; each lowering is registered by `@lowering(overload)` and says what the
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
    view,
    windows,
)

FAMILIES = (
    pointwise, copies, activation, reduction, scan, pooling, view, indexing, scattering, creation, joining, assertions, windows,
)  # fmt: skip
