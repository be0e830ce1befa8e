"""Work of the compiler that nobody watches.

In:  a block of code, on any thread.
Out: it runs without the frame hook of the thread and without garbage collection.

torch.compile has a frame hook too, and its graphs may call ours: `not_for_torch_compile` marks the doors from
there to Python.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

try:
    import _capture
except ImportError:  # the extension is not built: there is no hook
    _capture = None

F = TypeVar("F", bound=Callable[..., Any])


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


def not_for_torch_compile(function: F) -> F:
    """Decorator: torch.compile neither captures the function nor what it calls."""
    hook = torch._C._dynamo.eval_frame
    skip = hook._FrameAction.SKIP
    hook.set_code_exec_strategy(function.__code__, hook._FrameExecStrategy(skip, skip))
    return function
