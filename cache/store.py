"""Object files kept on disk between processes.

In:  `put(parts, data)` after a compilation.
Out: `get(parts)` before the next one: the same bytes, or None.

    <directory>/9c/9c1f....o     magic, sha256 of the data, the data

A file appears complete or not at all (written under a temporary name, then renamed), so any number of
processes may share the folder. What fails its checksum counts as absent, is reported once and removed. A
folder that can't be written makes the store read-only, with one line in the log: machine code is then
compiled in each process.
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
_EVICT_TO = 0.8  # of the size limit, so that not every put after reaching it has to evict
_FOLDERS = 256  # one for each first byte of a key


class KernelStore:
    """A folder of at most `max_bytes` of object files; the least recently used go first."""

    def __init__(self, directory: str | os.PathLike[str], max_bytes: int = 512 * 1024 * 1024) -> None:
        self.directory = Path(directory)
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        self._bytes_known: int | None = None  # of the folder: estimated at the first put, then kept up
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
            log.warning("%s is damaged: removed, its kernels are compiled again", path)
            with contextlib.suppress(OSError):  # another process may have removed or replaced it
                path.unlink()
            return None
        with contextlib.suppress(OSError):  # a read-only folder keeps no record of use
            os.utime(path)
        log.debug("%d bytes of machine code found at %s", len(data), path)
        return data

    def put(self, parts: tuple[str, ...], data: bytes) -> None:
        """Store `data`. Failure to write is logged once, never raised: the caller has what it needs."""
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
        """Keys are hashes, so one folder tells of all: to count the files of a full store takes longer than
        to compile a graph.
        """
        return _FOLDERS * sum(size for _, size, _ in _objects(folder))

    def _evict(self, newest: Path) -> int:
        """Above the limit: remove the least recently used files down to a part of it, `newest` last. Returns
        the bytes left.
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
    """(path, bytes, time of last use) of the object files in one folder; one that another process removes
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
