"""A store as one file, for a container image or another machine.

In:  a `KernelStore`, a path.
Out: `pack`: a zip archive of its objects. `unpack`: the objects of an archive are in the store.

    pack(store, "graphs.zip")   ->   132 objects        unpack(other, "graphs.zip")   ->   132 objects

The key of an object has the versions and the level of the processor, so what does not fit another machine is
never found there. Only names and checksums are looked at: unpack files of people you trust (docs/trust.md).
"""

from __future__ import annotations

import os
import re
from typing import IO

from cache.store import KINDS, KernelStore

_NAME = re.compile(rf"[0-9a-f]{{64}}({'|'.join(map(re.escape, KINDS.values()))})")
_LOCAL = KINDS["digest"]  # about files of this machine


class NoArchive(Exception):
    """The file is no archive of a store. The text says what was found."""


def pack(store: KernelStore, target: str | os.PathLike[str] | IO[bytes]) -> int:
    """Write the objects that are not damaged. Returns their number."""
    import zipfile  # lazy: import time

    count = 0
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in store.contents():
            if content is not None and not name.endswith(_LOCAL):
                archive.writestr(name, content)
                count += 1
    return count


def unpack(store: KernelStore, source: str | os.PathLike[str] | IO[bytes]) -> int:
    """Put the objects of an archive into the store. Returns their number. Raises NoArchive."""
    import zipfile  # lazy: import time

    try:
        with zipfile.ZipFile(source) as archive:
            names = archive.namelist()
            strange = next((name for name in names if not _NAME.fullmatch(name)), None)
            if strange is not None:
                raise NoArchive(f"it has {strange!r:.80}, which is no object of a store")
            for name in names:
                if not store.add(name, archive.read(name)):
                    raise NoArchive(f"{name} is damaged, or the store can't be written")
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise NoArchive(str(error)) from error
    return len(names)
