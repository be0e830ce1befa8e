"""The digest of the package's files: a kept one while nobody touches them, else from their contents."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cache.store import KernelStore
from codegen.stored import own_files


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    for name in ("one/a.py", "one/below/b.py", "one/data.txt", "two/c.py", "beside.py"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    monkeypatch.setattr(own_files, "HOME", str(home))
    monkeypatch.setattr(own_files, "PACKAGES", ("one", "two"))
    monkeypatch.setattr(own_files, "MODULES", (str(home / "beside.py"),))
    monkeypatch.setattr(own_files, "YOUNG", -1000)  # the files of a test are young
    (tmp_path / "bytecode").mkdir()
    monkeypatch.setattr(own_files, "BYTECODE", str(tmp_path / "bytecode/own_files.pyc"))
    return home


@pytest.fixture(params=["store", "beside"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KernelStore:
    """The digest is kept in the store, or beside the bytecode."""
    monkeypatch.setattr(sys, "dont_write_bytecode", request.param == "store")
    return KernelStore(tmp_path / "store")


def beside(tmp_path: Path) -> list[str]:
    return os.listdir(tmp_path / "bytecode")


def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with each reading of all contents."""
    found: list[int] = []
    contents = own_files._contents
    monkeypatch.setattr(own_files, "_contents", lambda names: found.append(1) or contents(names))
    return found


def in_place(home: Path) -> None:
    """As some editors write; folders keep their times, and so does the file."""
    path = home / "one/below/b.py"
    before = path.stat()
    with path.open("r+") as file:
        file.write("X")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "written in place": in_place,
    "written beside the packages": lambda home: (home / "beside.py").write_text("other"),
    "added": lambda home: (home / "one/below/new.py").write_text(""),
    "a package in place of a module": lambda home: (
        (home / "one/a").mkdir(),
        (home / "one/a/__init__.py").write_text(""),
    ),
    "removed": lambda home: (home / "two/c.py").unlink(),
    "moved": lambda home: (home / "one/a.py").rename(home / "two/a.py"),
    "a folder renamed": lambda home: (home / "one/below").rename(home / "one/above"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_seen(change: Callable[[Path], object], home: Path, store: KernelStore) -> None:
    before = own_files.contents(store)
    assert own_files.contents(store) == before == own_files.contents()
    change(home)
    after = own_files.contents(store)
    assert after == own_files.contents() != before
    assert own_files.contents(store) == after


TOUCHES: dict[str, Callable[[Path], object]] = {
    "written again": lambda home: (home / "one/a.py").write_text("one/a.py"),
    "another file": lambda home: (home / "one/.a.py.swp").write_text(""),
    "bytecode": lambda home: (home / "one/__pycache__").mkdir(),
}


@pytest.mark.parametrize("touch", TOUCHES.values(), ids=TOUCHES)
def test_what_changes_no_contents_is_read_once(
    touch: Callable[[Path], object], home: Path, store: KernelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = reads(monkeypatch)
    before = own_files.contents(store)
    touch(home)
    assert [own_files.contents(store) for _ in range(3)] == [before] * 3
    assert len(found) == 2


def test_young_files_are_read_again(home: Path, store: KernelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who writes twice in one tick of the clock leaves one stamp."""
    monkeypatch.setattr(own_files, "YOUNG", 1000)
    found = reads(monkeypatch)
    assert len({own_files.contents(store) for _ in range(3)}) == 1
    assert len(found) == 3


def test_files_that_change_while_they_are_read_are_read_again(
    home: Path, store: KernelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = own_files._contents

    def changing(names: bytes) -> list[bytes]:
        found = list(contents(names))
        (home / "one/a.py").write_text("meanwhile")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(own_files, "_contents", changing)
        before = own_files.contents(store)
    assert own_files.contents(store) == own_files.contents() != before


@pytest.mark.parametrize("content", [b"", b"\n", b"f00\n\n", b"\xff\n0\none/a.py\0", b"0" * 64])
def test_what_is_no_digest_is_not_used(content: bytes, home: Path, store: KernelStore) -> None:
    store.put(own_files._place(), content, own_files.KIND)
    assert own_files.contents(store) == own_files.contents()


def test_a_process_with_an_empty_store_reads_no_contents(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    found = reads(monkeypatch)
    stores = [KernelStore(tmp_path / name) for name in ("first", "second")]
    assert len({own_files.contents(store) for store in stores}) == len(found) == 1
    assert beside(tmp_path) == ["own_files.digest"]
    assert stores[0].get(own_files._place(), own_files.KIND) is None


def test_where_nobody_may_write_the_store_keeps_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(own_files, "BYTECODE", str(tmp_path / "no folder/own_files.pyc"))
    found = reads(monkeypatch)
    store = KernelStore(tmp_path / "store")
    assert own_files.contents(store) == own_files.contents(store)
    assert len(found) == 1 and beside(tmp_path) == []


@pytest.mark.parametrize("content", [b"", b"\n", b"f00\n\n", b"\xff\n0\none/a.py\0", b"0" * 64])
def test_what_is_no_digest_beside_is_not_used(content: bytes, home: Path, tmp_path: Path) -> None:
    (tmp_path / "bytecode/own_files.digest").write_bytes(content)
    assert own_files.contents() == own_files.digest_of(own_files._contents(own_files._names()))


def test_an_installation_keeps_it(tmp_path: Path) -> None:
    """Under another prefix of bytecode, so that the installation of the tests stays as it is."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    where = own_files.HOME
    folder = Path(f"{tmp_path}{where}/codegen/stored")
    folder.mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "codegen.stored.own_files"], env=environment, cwd=where, check=True)
    (kept,) = folder.iterdir()
    assert kept.read_bytes().split(b"\n")[0].decode() == own_files.contents()
