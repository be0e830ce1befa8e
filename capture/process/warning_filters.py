"""Filters of warnings for a block of our own.

In:  an action and a class of warnings, once or more.
Out: a block in which these come ahead of the program's filters.

`warnings.catch_warnings` would do more: behind it, each line of the program warns once more.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def filtered(*filters: tuple[str, type[Warning]]) -> Iterator[None]:
    """`warnings.filters` is another list in the block; the version that registries ask for stays."""
    kept = warnings.filters
    warnings.filters = [*((action, None, category, None, 0) for action, category in filters), *kept]
    try:
        yield
    finally:
        warnings.filters = kept
