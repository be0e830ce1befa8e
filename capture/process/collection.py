"""Keeps the garbage collector away from long-lived objects.

In:  a block that makes such objects.
Out: no automatic collection runs inside the block, and none but a full one visits its objects behind it. The
     next collection comes no earlier than without the block.

A full collection visits all of torch's objects (0.15 s). The import of our modules, or the capture of a
frame, makes up to 100,000 small objects that stay alive. So many new objects start a full collection, and a
young collection takes 50 ms for them.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

import _capture


@contextlib.contextmanager
def settled() -> Iterator[None]:
    """No automatic collection inside the block; after it, the setting before. The block's objects are old."""
    was_enabled = gc.isenabled()
    mark = [gc.get_count()[0]]
    gc.disable()
    try:
        yield
    finally:
        try:
            _capture.settle_young(mark)
        finally:  # without memory, even a count of objects fails
            if was_enabled:
                gc.enable()
