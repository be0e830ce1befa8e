"""The store of what was compiled: how much there is, and how it gets to another machine.

In:  the store of `capture.config`, or a path.
Out: `info`, `verify`, `clear`, `pack`, `unpack`; the same as commands.

    python -m capture cache pack graphs.zip     on a machine where the program has run
    python -m capture cache unpack graphs.zip   in the image: a process compiles nothing of what is there

Machines of another level of processors get misses. For a mixed fleet set CAPTURE_CPU to the lowest level,
when the program runs there and before the store is packed.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from typing import IO

from cache import archive
from cache.store import KINDS, KernelStore
from cache.trusted_folder import Refused
from capture.backends.llvm import kernel_store
from capture.report.errors import UsageError

Path = str | os.PathLike[str] | IO[bytes]


@contextlib.contextmanager
def _store() -> Iterator[KernelStore]:
    """The store of the configuration. UsageError: there is none, or others could write to its folder."""
    store: KernelStore | None = kernel_store()
    if store is None:
        raise UsageError("there is no store: config.disk_cache is off, or there is no folder for it")
    try:
        yield store
    except Refused as refused:
        raise UsageError(str(refused)) from refused


def info() -> dict[str, int]:
    """By kind of object the number, and the bytes of all."""
    endings = {ending: kind for kind, ending in KINDS.items()}
    found: Counter[str] = Counter()
    with _store() as store:
        for name, size in store.sizes():
            found[endings[os.path.splitext(name)[1]]] += 1
            found["bytes"] += size
    return dict(found)


def verify() -> dict[str, int]:
    """Read all objects. Those are removed that are damaged, or that others could have written. Returns the
    numbers of the good and the damaged.
    """
    found = {"good": 0, "damaged": 0}
    with _store() as store:
        for name, content in store.contents():
            found["good" if content is not None else "damaged"] += 1
            if content is None:
                store.discard(name)
    return found


def clear() -> None:
    """Remove all objects."""
    with _store() as store:
        store.clear()


def pack(file: Path) -> int:
    """Write all objects to one file. Returns their number."""
    with _store() as store:
        return archive.pack(store, file)


def unpack(file: Path) -> int:
    """Put the objects of such a file into the store. Returns their number. Machine code of it is executed."""
    try:
        with _store() as store:
            return archive.unpack(store, file)
    except archive.NoArchive as error:
        raise UsageError(f"{file} is no packed store: {error}") from error


__all__ = ["clear", "info", "pack", "unpack", "verify"]
