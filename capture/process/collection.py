"""Pauses the garbage collector while only long-lived objects are made.

In:  a block that makes such objects.
Out: no automatic collection runs inside the block.

A full collection visits all of torch's objects (0.15 s). The import of our modules, or the capture of a
frame, makes thousands of small objects that stay alive. So many new objects start a full collection.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """No automatic collection inside the block; after it, the setting before."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def settled() -> Iterator[None]:
    """The same for objects that live as long as the process: they go directly to the oldest generation.

    Without this, the next young collection would visit them, which takes 10 ms.
    """
    with paused():
        yield
        if not gc.get_freeze_count():  # else `unfreeze` would also release the program's frozen objects
            gc.freeze()
            gc.unfreeze()
