"""All families of operators: importing this fills the table."""

from capture.graphdef.operators import (  # noqa: F401
    arrays,
    elementwise,
    indexing,
    reductions,
    shapes,
    windows,
)
