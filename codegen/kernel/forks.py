"""Locks that `os.fork` takes before it forks.

In:  the locks of captures and compilations. A number gives the order in which a thread takes them.
Out: `os.fork` waits until other threads end their capture. So the child finds consistent tables, and LLVM
     too.

Without this, the child could start with a locked lock that no thread of the child can release.
"""

from __future__ import annotations

import operator
import os
from typing import Any

#: the order of the locks: a thread takes CAPTURE first
CAPTURE, COMPILATION, TRACE = range(3)
_locks: list[tuple[int, Any]] = []


def held_by_forks(lock: Any, place: int) -> Any:
    """The lock itself. Its thread must be able to take it twice, because a capture may call `os.fork`."""
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
