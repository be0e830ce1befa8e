"""Pausing the garbage collector where only long-lived objects are made.

A full collection walks all of torch's objects (0.15 s). Importing our modules or capturing a frame makes
thousands of small objects that stay, which is what triggers one.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """No automatic collection inside the block; as before behind it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def settled() -> Iterator[None]:
    """The same for objects that live as long as the process: they go straight to the oldest generation. (To
    put what was made in front of the next young collection would cost 10 ms.)
    """
    with paused():
        yield
        if not gc.get_freeze_count():  # what the program has frozen stays so
            gc.freeze()
            gc.unfreeze()
