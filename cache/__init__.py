"""In:   Entries that `capture` makes for frames; machine code that `codegen` makes for kernels.
Out:  The entries on code objects (named here), and the files of machine code (`cache.store`).
"""

from cache.entries import (
    CacheEntry,
    died,
    forget_died,
    has_captured,
    install,
    limit_reached,
    recompiles,
    reset,
    served,
    stop_capturing,
)

__all__ = [
    "CacheEntry",
    "died",
    "forget_died",
    "has_captured",
    "install",
    "limit_reached",
    "recompiles",
    "reset",
    "served",
    "stop_capturing",
]
