"""The cost of new memory: the process keeps freed memory, and large results get huge pages.

In:  `config.large_heap`, `config.keep_memory_mapped`, `config.huge_pages`.
Out: settings of the C library's allocator and of the compiled graphs (native/tensors/huge_pages.c).

    x + 1 on 1e7 floats: 25.9 ms   ->   8.3 ms

glibc maps each large block from the system and unmaps it when it is freed. Then the kernel fills the next
block with zeros, page by page, which costs three times as much as the work itself. With these settings, large
blocks come from the heap, and its freed end stays with the process. They hold for the whole process, also for
eager operators, and cannot be undone. The price: the system cannot use the freed memory, and gaps remain
between blocks of different lifetimes.

What is large, and how much stays, glibc learns from the blocks that a program frees, up to a limit. A graph
frees what a step has saved all at once: more than glibc has learned, at each step. So the process begins at
the limit (`large_heap`). Without one (`keep_memory_mapped`), up to 2 GiB stay.
"""

from __future__ import annotations

import ctypes
import logging
import os

import _capture

log = logging.getLogger("capture.codegen")

# Parameters of mallopt(3).
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
M_MMAP_MAX = -4
#: the limits of what glibc learns: blocks that come from the heap, and its freed end that stays
LEARNED_BLOCKS, LEARNED_END = 2**25, 2**26
KEPT = 2**31 - 1  # the largest value that mallopt takes

#: with these, the user has set the allocator
OWN_SETTINGS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_")


class _Heap:
    kept = 0  # how much of its freed end stays, by these settings


def large_heap() -> bool:
    """Let the C library's allocator begin where it arrives at most. False where it cannot, or must not."""
    tuned = "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", "")
    if tuned or any(name in os.environ for name in OWN_SETTINGS):
        return False
    return _keep(LEARNED_END, M_MMAP_THRESHOLD, LEARNED_BLOCKS)


def keep_memory_mapped() -> bool:
    """Make the C library's allocator keep freed memory. False where it cannot."""
    done = _keep(KEPT, M_MMAP_MAX, 0)
    if not done:
        log.warning("keep_memory_mapped has no effect: this C library's allocator can't be set")
    return done


def _keep(end: int, parameter: int, value: int) -> bool:
    if _Heap.kept >= end:
        return True
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None or not (mallopt(parameter, value) and mallopt(M_TRIM_THRESHOLD, end)):
        return False
    _Heap.kept = end
    return True


def welcome_huge_pages(wanted: bool) -> None:
    """Set whether compiled graphs use huge pages. Without the extension there are no compiled graphs."""
    if hasattr(_capture, "set_huge_pages"):
        _capture.set_huge_pages(wanted)
