"""In:   Entries that `capture` makes for frames; machine code that `codegen` makes for kernels.
Out:  The entries on code objects (named here), and the files of machine code (`cache.store`).
"""

from cache.entries import CacheEntry, has_captured, install, limit_reached, recompiles, reset, stop_capturing

__all__ = ["CacheEntry", "has_captured", "install", "limit_reached", "recompiles", "reset", "stop_capturing"]
