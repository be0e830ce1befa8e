"""Work of the compiler that nobody watches.

In:  a block of code, on any thread.
Out: it runs without the frame hook of the thread and without garbage collection.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

try:
    import _capture
except ImportError:  # the extension is not built: there is no hook
    _capture = None


@contextmanager
def unwatched() -> Iterator[None]:
    """Compile without the frame hook of this thread and without garbage collection.

    A compilation may start in the middle of the user's program, such as the first call of a backward. The
    hook must not see its frames. The collector would visit the new objects again and again: a fifth of the
    time.
    """
    set_callback = getattr(_capture, "set_callback", lambda callback, key: (None, None))
    before = set_callback(None, None)
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
        set_callback(*before)
