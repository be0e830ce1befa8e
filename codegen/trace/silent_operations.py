"""Operations whose warnings the program has had: they run once more, and warn nobody.

In:  a node.
Out: a block without warnings, if the node has given some, or its bodies may have.

`warnings.catch_warnings` would do more: behind it, each line of the program warns once more.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from torch import fx

from codegen.kernel.outlined import parts_of

WARNED = "warned"  # in the `meta` of a node that has given a warning
NOTHING: Any = ("ignore", None, Warning, None, 0)


def heard_before(node: fx.Node) -> contextlib.AbstractContextManager[None]:
    warned = WARNED in node.meta or parts_of(node.target) is not None
    return _silent() if warned else contextlib.nullcontext()


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    kept = warnings.filters
    warnings.filters = [NOTHING]
    try:
        yield
    finally:
        warnings.filters = kept
