"""The store of object files: its answers, damaged files, sharing between processes, its size."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import cache.store as store_module
from cache.keys import object_key
from cache.store import KINDS, KernelStore, file_name

PARTS = ("define i32 @k()", "x86-64-v4", "llvmlite 0.50.0")


def only_file(directory: Path) -> Path:
    (path,) = directory.glob("??/*.o")
    return path


def test_what_is_put_comes_back(tmp_path: Path) -> None:
    store = KernelStore(tmp_path / "new" / "folder")
    assert store.get(PARTS) is None
    store.put(PARTS, b"machine code")
    assert store.get(PARTS) == b"machine code"
    assert KernelStore(tmp_path / "new" / "folder").get(PARTS) == b"machine code"


def test_every_part_counts(tmp_path: Path) -> None:
    store = KernelStore(tmp_path)
    store.put(PARTS, b"code")
    for position in range(len(PARTS)):
        other = PARTS[:position] + (PARTS[position] + " ",) + PARTS[position + 1 :]
        assert store.get(other) is None
    assert object_key(("ab", "c")) != object_key(("a", "bc"))


def test_the_last_put_wins(tmp_path: Path) -> None:
    store = KernelStore(tmp_path)
    store.put(PARTS, b"old")
    store.put(PARTS, b"new")
    assert store.get(PARTS) == b"new"
    assert only_file(tmp_path).exists()


@pytest.mark.parametrize("length", [0, 1, 10, 47, 48, 49, 100])
def test_truncated_file(tmp_path: Path, length: int, caplog: pytest.LogCaptureFixture) -> None:
    store = KernelStore(tmp_path)
    store.put(PARTS, bytes(range(100)))
    path = only_file(tmp_path)
    path.write_bytes(path.read_bytes()[:length])
    with caplog.at_level(logging.WARNING, "capture.cache"):
        assert store.get(PARTS) is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "is damaged" in caplog.text
    assert not path.exists()
    store.put(PARTS, b"again")
    assert store.get(PARTS) == b"again"


def test_a_damaged_store_is_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = KernelStore(tmp_path)
    names = [("f", str(n)) for n in range(5)]
    for parts in names:
        store.put(parts, b"code")
    for path in [path for path in tmp_path.rglob("*") if path.is_file()]:
        path.write_bytes(os.urandom(100))
    with caplog.at_level(logging.WARNING, "capture.cache"):
        assert [store.get(parts) for parts in names] == [None] * 5
    [record] = caplog.records
    assert "is damaged" in record.getMessage() and "cache verify" in record.getMessage()
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_every_flipped_byte_is_seen(tmp_path: Path) -> None:
    store = KernelStore(tmp_path)
    store.put(PARTS, b"machine code")
    path = only_file(tmp_path)
    whole = path.read_bytes()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 0x10
        path.write_bytes(damaged)
        assert store.get(PARTS) is None, position


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_under_another_name_is_damaged(kind: str, tmp_path: Path) -> None:
    """A whole file of the store in the place of another one: a copy, a tool that mixed up names."""
    store = KernelStore(tmp_path)
    store.put(PARTS, b"one", kind)
    store.put(("other",), b"another", kind)
    one, other = (
        tmp_path / name[:2] / name for name in (file_name(PARTS, kind), file_name(("other",), kind))
    )
    other.write_bytes(one.read_bytes())
    assert not store.add(other.name, one.read_bytes())
    assert store.get(("other",), kind) is None and not other.exists()
    assert store.get(PARTS, kind) == b"one"


def test_no_temporary_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = KernelStore(tmp_path)
    store.put(PARTS, b"code")

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    store.put(("other",), b"code")
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".o"]


def test_folder_that_cannot_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A file is in the place of the folder: reads find nothing, and writes are reported once."""
    (tmp_path / "file").write_text("in the way")
    store = KernelStore(tmp_path / "file")
    with caplog.at_level(logging.WARNING, "capture.cache"):
        assert store.get(PARTS) is None
        store.put(PARTS, b"code")
        store.put(PARTS, b"code")
    assert len(caplog.records) == 1


def test_least_recently_used_go_first(tmp_path: Path) -> None:
    store = KernelStore(tmp_path, max_bytes=10_000)
    for number in range(9):
        store.put((str(number),), bytes(1000))
        path = store._path(file_name((str(number),)))
        os.utime(path, (number, number))
    assert store.get(("0",)) is not None  # used now: it is the youngest
    store.put(("9",), bytes(1000))
    kept = [number for number in range(10) if store.get((str(number),)) is not None]
    assert 0 in kept
    assert 9 in kept
    assert 1 not in kept
    assert sum(path.stat().st_size for path in tmp_path.glob("??/*.o")) <= 8_000


def test_a_put_looks_at_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A put looks at one folder only: a store may hold tens of thousands of files, and each process puts
    something first.
    """
    for number in range(20):
        KernelStore(tmp_path).put((str(number),), bytes(1000))
    looked_at: list[str] = []
    objects = store_module._objects
    monkeypatch.setattr(
        store_module, "_objects", lambda store, folder: looked_at.append(folder) or objects(store, folder)
    )
    store = KernelStore(tmp_path)
    store.put(("20",), bytes(1000))
    store.put(("21",), bytes(1000))
    assert looked_at == [file_name(("20",))[:2]]


def test_what_looks_like_too_much_is_counted(tmp_path: Path) -> None:
    """One large file in a folder says little about the other folders, so the store counts them."""
    store = KernelStore(tmp_path, max_bytes=100_000)
    store.put(PARTS, bytes(10_000))
    store.put(("other",), bytes(10_000))
    assert store.get(PARTS) is not None and store.get(("other",)) is not None


def test_one_object_above_the_limit_stays_until_the_next(tmp_path: Path) -> None:
    store = KernelStore(tmp_path, max_bytes=100)
    store.put(PARTS, bytes(1000))
    assert store.get(PARTS) is None
    store.put(("small",), b"x")
    assert store.get(("small",)) == b"x"


def test_clear(tmp_path: Path) -> None:
    store = KernelStore(tmp_path)
    store.put(PARTS, b"code")
    store.clear()
    assert store.get(PARTS) is None


def test_many_threads(tmp_path: Path) -> None:
    store = KernelStore(tmp_path, max_bytes=20_000)
    wrong: list[object] = []

    def work(seed: int) -> None:
        for number in range(60):
            parts = (str((number * seed) % 17),)
            expected = parts[0].encode() * 500
            found = store.get(parts)
            if found not in (None, expected):
                wrong.append(parts)
            store.put(parts, expected)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2, 3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_two_processes_share_a_folder(tmp_path: Path) -> None:
    program = (
        "import sys; from cache.store import KernelStore, file_name\n"
        "store = KernelStore(sys.argv[1])\n"
        "for n in range(200): store.put(('k',), b'x' * 5000); assert store.get(('k',)) == b'x' * 5000\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]


def test_temporary_files_of_killed_processes_go(tmp_path: Path) -> None:
    store = KernelStore(tmp_path)
    store.put(PARTS, b"code")
    folder = only_file(tmp_path).parent
    (folder / "old.tmp").write_bytes(b"half a file")
    (folder / "new.tmp").write_bytes(b"of a process that still writes")
    os.utime(folder / "old.tmp", (0, 0))
    KernelStore(tmp_path).put(PARTS, b"code")
    assert {path.name for path in folder.iterdir()} == {only_file(tmp_path).name, "new.tmp"}


def test_the_store_stays_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = KernelStore("kernels")
    store.put(PARTS, b"code")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert store.get(PARTS) == b"code"


def test_full_disk(tmp_path: Path) -> None:
    """No file may grow: the write fails, nothing is left of it, the log has one line."""
    program = (
        "import resource, sys; from cache.store import KernelStore, file_name\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "store = KernelStore(sys.argv[1])\n"
        "for n in range(3): store.put((str(n),), b'x' * 5000); assert store.get((str(n),)) is None\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0
    assert finished.stderr.count("\n") == 1 and "File too large" in finished.stderr
    assert "CAPTURE_CACHE_DIR" in finished.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
