"""What stays on disk between processes: object files, compiled graphs, entries of frames.

In:  `put(parts, data, kind)` after a compilation.
Out: `get(parts, kind)` before the next compilation: the same bytes, or None.

    <directory>/9c/9c1f....o     magic, sha256 of name and data, data; .graph, .entry, ...: the other kinds

A file is written under a temporary name and then renamed, so it is complete or absent. Any number of
processes may share the folder. A file with a wrong checksum (also one that was stored under another name) is
reported, removed, and counts as absent. What somebody else could have written is refused
(`cache.trusted_folder`), and the log has one line for each folder and one for all files. Where the folder can
not be written, the log has one line about it, and each process compiles its own machine code.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from cache.keys import object_key
from cache.trusted_folder import Refused, TrustedFolder

log = logging.getLogger("capture.cache")

_NOT_KEPT = (
    "what is compiled is not kept for the next process. CAPTURE_CACHE_DIR names another folder, "
    "CAPTURE_DISK_CACHE=0 does without one"
)
_DAMAGE, _REFUSED, _FAILURE = "damage", "refused", "failure"  # what is told once
_VERIFY = "`python -m capture cache verify` looks at all files"
_MAGIC = b"capture object\x002\n"
_HEADER = len(_MAGIC) + hashlib.sha256().digest_size
#: by kind of object: the ending of its files
KINDS = {
    "machine code": ".o",
    "graph": ".graph",
    "entry": ".entry",
    "program": ".program",
    "twins": ".twins",
    "digest": ".digest",
    "layout": ".layout",
}
_ENDINGS = tuple(KINDS.values())
_EVICT_TO = 0.8  # of the size limit, so that not every put evicts when the limit is reached
_FOLDERS = tuple(f"{byte:02x}" for byte in range(256))  # one for each first byte of a key
_ABANDONED = 3600.0  # seconds: a temporary file of this age was left by a process that was killed


class _File(NamedTuple):
    """A file of the store."""

    folder: str
    name: str
    size: int
    used: float  # the time


class KernelStore:
    """A folder of at most `max_bytes` of objects. The least recently used files are removed first.

    `note(kind, found)` is called at each `get`.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        max_bytes: int = 512 * 1024 * 1024,
        note: Callable[[str, bool], None] | None = None,
    ) -> None:
        self.directory = Path(directory).absolute()  # it stays where it is when the program changes folders
        self.max_bytes = max_bytes
        self._note = note
        self._lock = threading.Lock()
        self._bytes_known: int | None = None  # of the folder: estimated at the first put, then counted
        self._reported: set[str] = set()

    def get(self, parts: tuple[str, ...], kind: str = "machine code") -> bytes | None:
        """The data stored under `parts`, or None."""
        data = self._read(file_name(parts, kind))
        if self._note is not None:
            self._note(kind, data is not None)
        return data

    def _read(self, name: str) -> bytes | None:
        try:
            with self._open() as store, store.folder(name[:2]) as folder:
                return self._checked(folder, name)
        except FileNotFoundError:
            return None
        except (Refused, OSError) as error:
            self._report(name, error)
            return None

    def put(self, parts: tuple[str, ...], data: bytes, kind: str = "machine code") -> bool:
        """Store `data`. A failure gives False. It is logged once, never raised: the caller has the code."""
        return self._write(file_name(parts, kind), data)

    def _write(self, name: str, data: bytes) -> bool:
        try:
            with self._open(make=True) as store, store.folder(name[:2], make=True) as folder:
                folder.write(name, _header(name, data) + data)
                log.debug("%d bytes stored at %s/%s", len(data), folder.path, name)
                self._make_room(store, name, _HEADER + len(data))
        except (Refused, OSError) as error:
            self._report(name, error)
            return False
        return True

    def clear(self) -> None:
        """Remove all objects."""
        with self._lock:
            self._bytes_known = 0
            try:
                with self._open() as store:
                    for file in self._files(store):
                        _remove(store, file)
            except FileNotFoundError:
                return

    def sizes(self) -> Iterator[tuple[str, int]]:
        """The file name and the size of each object."""
        try:
            with self._open() as store:
                yield from [(file.name, file.size) for file in self._files(store)]
        except FileNotFoundError:
            return

    def discard(self, name: str) -> None:
        """Remove one object, also one that is refused: the folder is our own."""
        try:
            with self._open() as store, store.folder(name[:2]) as folder:
                folder.remove(name)
        except (Refused, OSError) as error:
            self._report(name, error)

    def contents(self) -> Iterator[tuple[str, bytes | None]]:
        """The file name of each object, and its file; None where it is damaged or refused."""
        for name, _ in list(self.sizes()):
            data = self._read(name)
            yield name, None if data is None else _header(name, data) + data

    def add(self, name: str, content: bytes) -> bool:
        """A file of another store. False where it is damaged, or can't be written."""
        data = content[_HEADER:]
        return content[:_HEADER] == _header(name, data) and self._write(name, data)

    # --- inside --------------------------------------------------------------------------------------------

    def _open(self, make: bool = False) -> TrustedFolder:
        return TrustedFolder.at(str(self.directory), make=make)

    def _path(self, name: str) -> Path:
        return self.directory / name[:2] / name

    def _make_room(self, store: TrustedFolder, newest: str, size: int) -> None:
        """After a put: remove files if the store is too large."""
        with self._lock:
            if self._bytes_known is None:
                self._bytes_known = self._estimated_bytes(store, newest[:2])
            else:
                self._bytes_known += size
            if self._bytes_known > self.max_bytes:
                self._bytes_known = self._evict(store, newest)

    def _estimated_bytes(self, store: TrustedFolder, folder: str) -> int:
        """The bytes of one folder, times the number of folders. The keys are hashes, so all folders are
        alike. (To count all files of a full store takes longer than to compile a graph.)
        """
        return len(_FOLDERS) * sum(file.size for file in _objects(store, folder))

    def _files(self, store: TrustedFolder) -> Iterator[_File]:
        """Every object. A folder that is refused is left alone."""
        for folder in _FOLDERS:
            try:
                yield from _objects(store, folder)
            except FileNotFoundError:
                continue
            except Refused as refused:
                self._report(folder, refused)

    def _evict(self, store: TrustedFolder, newest: str) -> int:
        """Above the limit, remove the least recently used files until a part of the limit is left. The file
        `newest` is removed last. Returns the bytes left.
        """
        files = sorted(self._files(store), key=lambda file: (file.name == newest, file.used))
        total = sum(file.size for file in files)
        if total <= self.max_bytes:
            return total
        for file in files:
            if total <= self.max_bytes * _EVICT_TO:
                break
            _remove(store, file)
            total -= file.size
        return total

    def _report(self, name: str, error: Refused | OSError) -> None:
        """One line for each folder that is refused, for the first file, and for the first failure of the file
        system.
        """
        message = reason = str(error)
        if not isinstance(error, Refused):
            reason, message = _FAILURE, f"can't use {self._path(name)}: {message}; {_NOT_KEPT}"
        elif os.path.basename(error.path) == name and name.endswith(_ENDINGS):
            reason, message = _REFUSED, f"{message}. {_VERIFY}, and removes those"
        if reason not in self._reported:
            self._reported.add(reason)
            log.warning("%s", message)

    def _checked(self, folder: TrustedFolder, name: str) -> bytes | None:
        """The data of an object. One with a wrong checksum is removed, and gives None. One line says so."""
        content = folder.read(name)
        data = content[_HEADER:]
        if content[:_HEADER] == _header(name, data):
            log.debug("%d bytes found at %s/%s", len(data), folder.path, name)
            return data
        folder.remove(name)
        level = logging.DEBUG if _DAMAGE in self._reported else logging.WARNING
        self._reported.add(_DAMAGE)
        text = "%s is damaged and was removed: what it had is compiled again. %s"
        log.log(level, text, self._path(name), _VERIFY)
        return None


def file_name(parts: tuple[str, ...], kind: str = "machine code") -> str:
    """The first two digits are the name of its folder."""
    return object_key(parts) + KINDS[kind]


def _objects(store: TrustedFolder, folder_name: str) -> list[_File]:
    """The objects in one folder. Temporary files that nobody will finish are removed."""
    found = []
    with store.folder(folder_name) as folder:
        for name, status in folder.files():
            if name.endswith(_ENDINGS):
                found.append(_File(folder_name, name, status.st_size, status.st_mtime))
            elif name.endswith(".tmp") and time.time() - status.st_mtime > _ABANDONED:
                folder.remove(name)
    return found


def _remove(store: TrustedFolder, file: _File) -> None:
    with store.folder(file.folder) as folder:
        folder.remove(file.name)


def _header(name: str, data: bytes) -> bytes:
    digest = hashlib.sha256(f"{name}\n".encode())
    digest.update(data)
    return _MAGIC + digest.digest()
