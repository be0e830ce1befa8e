"""Stamps of files change with each touch of a file, and with nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import _capture
import pytest

from capture.hooks import python_capture

KINDS = pytest.mark.parametrize(
    "stamps", [_capture.file_stamps, python_capture.file_stamps], ids=["C", "twin"]
)
Stamps = Callable[[str, str], bytes]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    home = tmp_path / "a.b"
    for name in ("one.py", "two.py", "folder/three.py", "folder/deeper/four.py", "other.txt"):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return home


def in_place(home: Path) -> None:
    """As some editors write; the folder keeps its times."""
    with (home / "folder/three.py").open("r+") as file:
        file.write("X")


def with_old_times(home: Path) -> None:
    path = home / "one.py"
    before = path.stat()
    path.write_text("ONE.py")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


TOUCHES: dict[str, Callable[[Path], object]] = {
    "written in place": in_place,
    "written, with the times set back": with_old_times,
    "added": lambda home: (home / "folder/deeper/five.py").write_text(""),
    "removed": lambda home: (home / "two.py").unlink(),
    "renamed": lambda home: (home / "one.py").rename(home / "ten.py"),
    "moved": lambda home: (home / "folder/three.py").rename(home / "three.py"),
    "a folder renamed": lambda home: (home / "folder/deeper").rename(home / "folder/below"),
    "a link to a folder": lambda home: (home / "link").symlink_to(home / "folder"),
}


@KINDS
@pytest.mark.parametrize("touch", TOUCHES.values(), ids=TOUCHES)
def test_a_touch_is_seen(stamps: Stamps, touch: Callable[[Path], object], tree: Path) -> None:
    before = stamps(str(tree), ".py")
    assert stamps(str(tree), ".py") == before
    touch(tree)
    assert stamps(str(tree), ".py") != before


@KINDS
def test_other_files_do_not_count(stamps: Stamps, tree: Path) -> None:
    before = stamps(str(tree), ".py")
    (tree / "other.txt").write_text("changed")
    (tree / "__pycache__").mkdir()
    (tree / "__pycache__/one.py").write_text("")
    (tree / "folder/.hidden").mkdir()
    (tree / "folder/.hidden/one.py").write_text("")
    assert stamps(str(tree), ".py") == before


def test_many_files(tmp_path: Path) -> None:
    for number in range(1000):
        (tmp_path / f"{'long' * 40}{number}.py").write_text("")
    assert len(_capture.file_stamps(str(tmp_path), ".py")) > 200_000


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none"):
        _capture.file_stamps(str(tmp_path / "none"), ".py")


def test_a_link_that_leads_back(tree: Path) -> None:
    (tree / "back").symlink_to(tree)
    with pytest.raises(OSError, match="symbolic links"):
        _capture.file_stamps(str(tree), ".py")
