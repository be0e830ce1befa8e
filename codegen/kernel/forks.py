"""Locks that no other thread holds while a process forks: in the child there would be nobody to release them.

In:  the locks under which captures and compilations go on, each with its place in the order in which a thread
     takes them.
Out: `os.fork` waits for the capture that is going on, so the child finds the tables, and LLVM, in order.
"""

from __future__ import annotations

import operator
import os
from typing import Any

#: from the outermost to the innermost
CAPTURE, COMPILATION = range(2)
_locks: list[tuple[int, Any]] = []


def held_by_forks(lock: Any, place: int) -> Any:
    """The lock itself (one that its thread can take again: a fork may come from inside of a capture)."""
    _locks.append((place, lock))
    _locks.sort(key=operator.itemgetter(0))
    return lock


def _take() -> None:
    for _, lock in _locks:
        lock.acquire()


def _release() -> None:
    for _, lock in reversed(_locks):
        lock.release()


os.register_at_fork(before=_take, after_in_parent=_release, after_in_child=_release)
