"""What new memory costs: freed memory that stays with the process, huge pages for large results.

In:  nothing (`config.keep_memory_mapped`), whether huge pages are wanted (`config.huge_pages`).
Out: settings of the C library's allocator, of the compiled graphs (native/tensors/huge_pages.c).

    x + 1 on 1e7 floats: 25.9 ms   ->   8.3 ms

glibc takes each large block from the system and gives it back when it is freed; the next one is then filled
with zeros by the kernel, page by page, at three times the cost of the work itself. Here large blocks come
from the heap, whose freed end is kept up to `KEPT` bytes. It is a setting of the whole process, eager
operators included, and it can't be taken back. The price: memory that is free but not the system's, and gaps
between blocks of different lives.
"""

from __future__ import annotations

import ctypes
import logging

import _capture

log = logging.getLogger("capture.codegen")

# Parameters of mallopt(3).
M_TRIM_THRESHOLD = -1
M_MMAP_MAX = -4
KEPT = 2**31 - 1  # the largest value that mallopt takes


def keep_memory_mapped() -> bool:
    """True where the C library's allocator keeps freed memory from now on."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        log.warning("keep_memory_mapped has no effect: this C library has no mallopt")
        return False
    return bool(mallopt(M_MMAP_MAX, 0)) and bool(mallopt(M_TRIM_THRESHOLD, KEPT))


def welcome_huge_pages(wanted: bool) -> None:
    """Where the extension is not built there are no compiled graphs either."""
    if hasattr(_capture, "set_huge_pages"):
        _capture.set_huge_pages(wanted)
