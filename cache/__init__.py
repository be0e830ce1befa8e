"""Caches: guarded entries on code objects, and the on-disk store of kernels.

In:  entries made by `capture`; kernel objects made by `codegen`.
Out: `install`, `has_captured`, `recompiles`, `limit_reached`, `stop_capturing`, `reset` for entries
     (`cache.entries`); `cache.store` is imported by who needs it.

    install(f.__code__, CacheEntry(program, key, code=new_code))     ->     the next call of f whose guards
        hold runs new_code
"""

from cache.entries import CacheEntry, has_captured, install, limit_reached, recompiles, reset, stop_capturing

__all__ = ["CacheEntry", "has_captured", "install", "limit_reached", "recompiles", "reset", "stop_capturing"]
