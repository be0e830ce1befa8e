"""Folders and files that only this user and root can have written.

In:  the path of a folder.
Out: `TrustedFolder`: its files are read, written and removed through its descriptor. `Refused` where somebody
     else could have put something there.

    with TrustedFolder.at("/home/me/.cache/capture", make=True) as store:
        store.write("9c1f.o", data)                 # complete or absent
        store.read("9c1f.o")                        # Refused: others can write to it, mode -rw-rw-rw-

Machine code is executed, so whoever can write it can do all that the user can. What is opened is judged by
its descriptor: nothing can be swapped between the look and the use. The way to the folder is walked from the
root, one name at a time: who can write to a folder on the way could put another folder in place of ours.
docs/trust.md has the rules.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import stat
from collections.abc import Iterator

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # a FIFO must not block
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600
_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH  # under an access control list the group's bits are its mask
_MOST_LINKS = 40  # on the way to a folder: as many as the kernel follows

_ANOTHER_FOLDER = "set CAPTURE_CACHE_DIR to a folder of your own"


class Refused(Exception):
    """Somebody else could have written what is at a path. The text says what was found and what to do."""

    def __init__(self, path: str, reason: str, status: os.stat_result) -> None:
        self.path = path
        self.found = f"{reason}, owner {_name(status.st_uid)}, mode {stat.filemode(status.st_mode)}"
        super().__init__(f"{path} is not used: {self.found}; {_advice(path, status)} (docs/trust.md)")


class TrustedFolder:
    """An open folder that belongs to the user or root, and that nobody else can write to."""

    def __init__(self, path: str) -> None:
        """The folder at `path`. The folders above it have been judged. Raises Refused, OSError."""
        self.path = path
        with _refusing_other_kinds(path, "folder"):
            self._descriptor = os.open(path, _FOLDER)
        try:
            _judge(path, os.fstat(self._descriptor))
        except BaseException:
            os.close(self._descriptor)
            raise

    @classmethod
    def at(cls, path: str, *, make: bool = False) -> TrustedFolder:
        """The folder at an absolute path. make: missing folders are made, for this user alone."""
        return cls(_walk(path, make))

    def folder(self, name: str, *, make: bool = False) -> TrustedFolder:
        """The folder `name` in this one."""
        path = os.path.join(self.path, name)
        if make:
            _make_folder(path)
        return TrustedFolder(path)

    def read(self, name: str) -> bytes:
        """The content of a file, which counts as used now."""
        descriptor = self.open(name)
        try:
            with contextlib.suppress(OSError):  # a read-only folder keeps no record of use
                os.utime(descriptor)
            with open(descriptor, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(descriptor)

    def open(self, name: str) -> int:
        """The descriptor of a file, open for reading. The caller closes it."""
        path = os.path.join(self.path, name)
        with _refusing_other_kinds(path, "file"):
            descriptor = os.open(name, _FILE, dir_fd=self._descriptor)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise Refused(path, "it is no file", status)
            _judge(path, status)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def write(self, name: str, content: bytes) -> None:
        """Write a file under a temporary name and rename it: it is complete or absent."""
        temporary = f"{name[:8]}{os.urandom(8).hex()}.tmp"
        descriptor = os.open(temporary, _NEW_FILE, _PRIVATE_FILE, dir_fd=self._descriptor)
        try:
            with open(descriptor, "wb") as file:
                os.fchmod(descriptor, _PRIVATE_FILE)  # whatever the umask
                file.write(content)
            os.replace(temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except BaseException:
            self.remove(temporary)
            raise

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._descriptor)

    def files(self) -> list[tuple[str, os.stat_result]]:
        """(name, status) of what is in the folder. What another process removes meanwhile is left out."""
        found = []
        for name in os.listdir(self._descriptor):
            with contextlib.suppress(FileNotFoundError):
                found.append((name, os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)))
        return found

    def __enter__(self) -> TrustedFolder:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


# --- the way to a folder ----------------------------------------------------------------------------------


def _walk(path: str, make: bool) -> str:
    """The path of the folder without links. Each folder and link on the way is judged before it is passed:
    what stands in a folder that nobody else can write to is not swapped later.
    """
    where, names, links = "/", _reversed_names(path), 0
    _judge_parent(where, os.lstat(where))
    while names:
        name = names.pop()
        if name == "..":
            where = os.path.dirname(where)
            continue
        there = os.path.join(where, name)
        status = _status(there, make)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            _judge_owner(there, status)
            target = os.readlink(there)
            names += _reversed_names(target)
            where = "/" if target.startswith("/") else where
        elif stat.S_ISDIR(status.st_mode):
            _judge_parent(there, status)
            where = there
        else:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), there)
    return where


def _reversed_names(path: str) -> list[str]:
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _status(path: str, make: bool) -> os.stat_result:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        if not make:
            raise
    _make_folder(path)
    return os.lstat(path)


def _make_folder(path: str) -> None:
    """A folder for this user alone, whatever the umask; nothing if it is there."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, _PRIVATE_FOLDER)
        os.chmod(path, _PRIVATE_FOLDER)  # nobody else can have put a link here: the folder above is trusted


# --- judging ----------------------------------------------------------------------------------------------


def _judge(path: str, status: os.stat_result) -> None:
    """Refuse what somebody else owns or can write to."""
    _judge_owner(path, status)
    if status.st_mode & _BY_OTHERS:
        raise Refused(path, "others can write to it", status)


def _judge_parent(path: str, status: os.stat_result) -> None:
    """A folder for all is on the way if it is sticky, as /tmp is: there nobody moves what others own."""
    if status.st_mode & stat.S_ISVTX:
        _judge_owner(path, status)
    else:
        _judge(path, status)


def _judge_owner(path: str, status: os.stat_result) -> None:
    if status.st_uid not in (os.geteuid(), 0):
        raise Refused(path, "it belongs to another user", status)


def _advice(path: str, status: os.stat_result) -> str:
    if not stat.S_ISDIR(status.st_mode):
        return f"remove it, or {_ANOTHER_FOLDER}"
    if status.st_uid != os.geteuid() or status.st_mode & stat.S_ISVTX:
        return _ANOTHER_FOLDER
    return f"run `chmod go-w {path}` and remove what others have put there, or {_ANOTHER_FOLDER}"


def _name(user: int) -> str:
    try:
        return f"{pwd.getpwuid(user).pw_name} ({user})"
    except KeyError:  # the password file does not have everybody
        return str(user)


@contextlib.contextmanager
def _refusing_other_kinds(path: str, kind: str) -> Iterator[None]:
    """What can not be opened as a file or folder is refused: a link, a socket, a file for a folder."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO):
            raise
        raise Refused(path, f"it is no {kind}", os.lstat(path)) from None
