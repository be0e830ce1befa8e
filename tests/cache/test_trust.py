"""The store uses nothing that another user could have written, and says what it found."""

from __future__ import annotations

import logging
import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cache.store import KernelStore, file_name
from cache.trusted_folder import Refused, TrustedFolder

PARTS = ("define i32 @k()", "x86-64-v4")
NOBODY = 65534


@pytest.fixture
def store(tmp_path: Path) -> KernelStore:
    """A store with one object: <tmp_path>/a/b/<two digits>/<key>.o"""
    store = KernelStore(tmp_path / "a" / "b")
    store.put(PARTS, b"machine code")
    return store


@pytest.fixture
def umask() -> Iterator[Callable[[int], None]]:
    before = os.umask(0o022)
    yield lambda mask: os.umask(mask) and None
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`path` belongs to another user. Who is not root can't give a file away, but can be another user."""
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)


def refusal(store: KernelStore, caplog: pytest.LogCaptureFixture) -> str:
    """The one line about what is refused. Reading twice does not give two."""
    with caplog.at_level(logging.WARNING, "capture.cache"):
        assert store.get(PARTS) is None
        assert store.get(PARTS) is None
    (record,) = caplog.records
    return record.getMessage()


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o022, 0o077, 0o777])
def test_what_is_made_is_private_whatever_the_umask(
    tmp_path: Path, mask: int, umask: Callable[[int], None]
) -> None:
    umask(mask)
    store = KernelStore(tmp_path / "a" / "b")
    store.put(PARTS, b"machine code")
    path = store._path(file_name(PARTS))
    folders = [path.parent, path.parent.parent, path.parent.parent.parent]
    assert [mode(folder) for folder in folders] == [0o700] * 3
    assert mode(path) == 0o600
    assert store.get(PARTS) == b"machine code"


@pytest.mark.parametrize("level", [0, 1, 2, 3], ids=["object", "folder", "store", "folder_above"])
@pytest.mark.parametrize("bits", [0o020, 0o002, 0o022], ids=["group", "others", "both"])
def test_what_others_can_write_to(
    store: KernelStore, level: int, bits: int, caplog: pytest.LogCaptureFixture
) -> None:
    path = [store._path(file_name(PARTS)), *store._path(file_name(PARTS)).parents][level]
    path.chmod(mode(path) | bits)
    line = refusal(store, caplog)
    assert line.startswith(f"{path} is not used: others can write to it, owner ")
    assert stat.filemode(path.lstat().st_mode) in line
    assert "remove it" in line if level == 0 else f"run `chmod go-w {path}`" in line
    if level > 0:
        store.put(PARTS, b"machine code")
        assert store.get(PARTS) is None


@pytest.mark.parametrize("level", [0, 1, 2, 3], ids=["object", "folder", "store", "folder_above"])
def test_what_another_user_owns(
    store: KernelStore, level: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = [store._path(file_name(PARTS)), *store._path(file_name(PARTS)).parents][level]
    give_away(path, monkeypatch)
    line = refusal(store, caplog)
    assert "it belongs to another user" in line
    assert str(path.lstat().st_uid) in line
    assert "set CAPTURE_CACHE_DIR to a folder of your own" in line


def test_an_object_with_patched_code_and_a_right_checksum(store: KernelStore, tmp_path: Path) -> None:
    """Its checksum is no secret: the owner and the mode decide."""
    foreign = KernelStore(tmp_path / "foreign")
    foreign.put(PARTS, b"patched code")
    path = store._path(file_name(PARTS))
    path.write_bytes(foreign._path(file_name(PARTS)).read_bytes())
    path.chmod(0o666)
    assert store.get(PARTS) is None
    store.put(PARTS, b"machine code")  # takes its place
    assert store.get(PARTS) == b"machine code"
    assert mode(path) == 0o600


def link(path: Path) -> None:
    target = path.with_name("target")
    path.rename(target)
    path.symlink_to(target)


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def unix_socket(path: Path) -> None:
    path.unlink()
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket may have 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir(0o700)


@pytest.mark.parametrize("plant", [link, fifo, device, unix_socket, folder])
def test_what_is_no_file(
    store: KernelStore, plant: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """It is neither waited for nor followed."""
    plant(store._path(file_name(PARTS)))
    line = refusal(store, caplog)
    assert line.startswith(f"{store._path(file_name(PARTS))} is not used: it is no file, owner ")


def test_a_link_in_place_of_a_folder_of_objects(store: KernelStore, caplog: pytest.LogCaptureFixture) -> None:
    link(store._path(file_name(PARTS)).parent)
    assert "it is no folder" in refusal(store, caplog)
    store.clear()
    assert len(list(store.directory.glob("target/*.o"))) == 1


def test_own_links_on_the_way_are_followed(store: KernelStore, tmp_path: Path) -> None:
    (tmp_path / "absolute").symlink_to(tmp_path / "a")
    (tmp_path / "relative").symlink_to("absolute/../a/./b")
    assert KernelStore(tmp_path / "absolute" / "b").get(PARTS) == b"machine code"
    assert KernelStore(tmp_path / "relative").get(PARTS) == b"machine code"
    (tmp_path / "round").symlink_to("round")
    assert KernelStore(tmp_path / "round").get(PARTS) is None


def test_a_foreign_link_on_the_way(
    store: KernelStore, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder for all, like /tmp, another user makes a link with the name of our folder."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "link").symlink_to(store.directory)
    assert KernelStore(shared / "link").get(PARTS) == b"machine code"
    give_away(shared / "link", monkeypatch)
    assert "it belongs to another user" in refusal(KernelStore(shared / "link"), caplog)


def test_a_link_into_a_folder_of_another_user(
    store: KernelStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The way behind a link is judged too."""
    (tmp_path / "link").symlink_to(store.directory)
    store.directory.parent.chmod(0o777)
    assert refusal(KernelStore(tmp_path / "link"), caplog).startswith(f"{store.directory.parent} is not used")


def test_a_sticky_folder_is_on_the_way_but_no_store(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    inside = KernelStore(shared / "mine")
    inside.put(PARTS, b"machine code")
    assert inside.get(PARTS) == b"machine code"
    with pytest.raises(Refused, match=r"others can write to it.*drwxrwxrwt.*set CAPTURE_CACHE_DIR"):
        TrustedFolder.at(str(shared))


def test_refused_files_are_one_line(
    store: KernelStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(5):
        store.put((str(number),), b"machine code")
    for path in store.directory.rglob("*.o"):
        path.chmod(0o666)
    with caplog.at_level(logging.WARNING, "capture.cache"):
        assert [store.get((str(number),)) for number in range(5)] == [None] * 5
    [record] = caplog.records
    assert "remove it" in record.getMessage() and "cache verify" in record.getMessage()


def test_a_refused_folder_does_not_stop_the_others(
    store: KernelStore, caplog: pytest.LogCaptureFixture
) -> None:
    """Eviction leaves it alone."""
    kept = store._path(file_name(PARTS))
    kept.parent.chmod(0o777)
    for number in range(20):
        store.put((str(number),), bytes(1000))
    store.max_bytes = 5000
    store.put(("last",), bytes(1000))
    assert kept.exists()
    assert sum(path.stat().st_size for path in store.directory.glob("??/*.o")) < 6000
    assert len({record.getMessage() for record in caplog.records}) == len(caplog.records) == 1


def test_no_descriptor_stays_open(store: KernelStore, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    store._path(file_name(PARTS)).chmod(0o666)
    store.get(PARTS)
    store.put(PARTS, b"machine code")
    store.get(PARTS)
    store._path(file_name(PARTS)).parent.chmod(0o777)
    store.get(PARTS)
    store.put(PARTS, b"machine code")
    store.clear()
    KernelStore(tmp_path / "absent").get(PARTS)
    assert len(os.listdir("/proc/self/fd")) == before
