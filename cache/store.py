"""Object files that stay on disk between processes.

In:  `put(parts, data)` after a compilation.
Out: `get(parts)` before the next compilation: the same bytes, or None.

    <directory>/9c/9c1f....o     magic, sha256 of the data, the data

A file is written under a temporary name and then renamed, so it is complete or absent. Any number of
processes may share the folder. A file with a wrong checksum is reported, removed, and counts as absent. Where
the folder can not be written, the log has one line about it, and each process compiles its own machine code.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import tempfile
import threading
from pathlib import Path

from cache.keys import object_key

log = logging.getLogger("capture.cache")

_MAGIC = b"capture object\x001\n"
_HEADER = len(_MAGIC) + hashlib.sha256().digest_size
_EVICT_TO = 0.8  # of the size limit, so that not every put evicts when the limit is reached
_FOLDERS = 256  # one for each first byte of a key


class KernelStore:
    """A folder of at most `max_bytes` of object files. The least recently used files are removed first."""

    def __init__(self, directory: str | os.PathLike[str], max_bytes: int = 512 * 1024 * 1024) -> None:
        self.directory = Path(directory)
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        self._bytes_known: int | None = None  # of the folder: estimated at the first put, then counted
        self._warned = False

    def get(self, parts: tuple[str, ...]) -> bytes | None:
        """The data stored under `parts`, or None."""
        path = self._path(parts)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn_once(f"can't read {path}: {error}")
            return None
        data = content[_HEADER:]
        if content[:_HEADER] != _header(data):
            log.warning("%s is damaged and was removed: its kernels are compiled again", path)
            with contextlib.suppress(OSError):  # another process may have removed or replaced it
                path.unlink()
            return None
        with contextlib.suppress(OSError):  # a read-only folder keeps no record of use
            os.utime(path)
        log.debug("%d bytes of machine code found at %s", len(data), path)
        return data

    def put(self, parts: tuple[str, ...], data: bytes) -> None:
        """Store `data`. A failure to write is logged once, never raised: the caller has the code."""
        path = self._path(parts)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_atomically(path, _header(data) + data)
        except OSError as error:
            self._warn_once(f"can't write {path}: {error}; kernels are not kept for the next process")
            return
        log.debug("%d bytes of machine code stored at %s", len(data), path)
        with self._lock:
            if self._bytes_known is None:
                self._bytes_known = self._estimated_bytes(path.parent)
            else:
                self._bytes_known += _HEADER + len(data)
            if self._bytes_known > self.max_bytes:
                self._bytes_known = self._evict(path)

    def clear(self) -> None:
        """Remove all object files."""
        with self._lock:
            for path, _, _ in self._files():
                path.unlink(missing_ok=True)
            self._bytes_known = 0

    # --- inside --------------------------------------------------------------------------------------------

    def _path(self, parts: tuple[str, ...]) -> Path:
        key = object_key(parts)
        return self.directory / key[:2] / f"{key}.o"

    def _files(self) -> list[tuple[Path, int, float]]:
        """(path, bytes, time of last use) of every object file."""
        return [file for folder in self.directory.glob("??") for file in _objects(folder)]

    def _estimated_bytes(self, folder: Path) -> int:
        """The bytes of one folder, times the number of folders. The keys are hashes, so all folders are
        alike. (To count all files of a full store takes longer than to compile a graph.)
        """
        return _FOLDERS * sum(size for _, size, _ in _objects(folder))

    def _evict(self, newest: Path) -> int:
        """Above the limit, remove the least recently used files until a part of the limit is left. `newest`
        is removed last. Returns the bytes left.
        """
        files = sorted(self._files(), key=lambda file: (file[0] == newest, file[2]))
        total = sum(size for _, size, _ in files)
        if total <= self.max_bytes:
            return total
        for path, size, _ in files:
            if total <= self.max_bytes * _EVICT_TO:
                break
            path.unlink(missing_ok=True)
            total -= size
        return total

    def _warn_once(self, message: str) -> None:
        if not self._warned:
            self._warned = True
            log.warning("%s", message)


def _objects(folder: Path) -> list[tuple[Path, int, float]]:
    """(path, bytes, time of last use) of the object files in one folder. A file that another process removes
    meanwhile is left out.
    """
    found = []
    for path in folder.glob("*.o"):
        with contextlib.suppress(FileNotFoundError):
            status = path.stat()
            found.append((path, status.st_size, status.st_mtime))
    return found


def _header(data: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(data).digest()


def _write_atomically(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem[:8], suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
