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
Stamps = Callable[[str, bytes], bytes]
NAMES = b"one.py\0folder\0folder/two.py\0none.py\0"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    home = tmp_path / "a.b"
    (home / "folder").mkdir(parents=True)
    for name in ("one.py", "folder/two.py", "other.py"):
        (home / name).write_text(name)
    return home


def in_place(home: Path) -> None:
    """As some editors write; the folder keeps its times."""
    with (home / "folder/two.py").open("r+") as file:
        file.write("XYZ")


def with_old_times(home: Path) -> None:
    path = home / "one.py"
    before = path.stat()
    path.write_text("ONE.py")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced(home: Path) -> None:
    (home / "new").write_text("one.py")
    (home / "new").rename(home / "one.py")


TOUCHES: dict[str, tuple[Callable[[Path], object], set[int]]] = {
    "written in place": (in_place, {2}),
    "written, with the times set back": (with_old_times, {0}),
    "replaced": (replaced, {0}),
    "removed": (lambda home: (home / "one.py").unlink(), {0}),
    "made": (lambda home: (home / "none.py").write_text(""), {3}),
    "another one in the folder": (lambda home: (home / "folder/three.py").write_text(""), {1}),
    "one in a folder beside it": (lambda home: (home / "five").mkdir(), set()),
    "other files": (lambda home: (home / "other.py").write_text("changed"), set()),
}


@KINDS
@pytest.mark.parametrize(("touch", "changed"), TOUCHES.values(), ids=TOUCHES)
def test_a_touch_changes_the_stamp(
    stamps: Stamps, touch: Callable[[Path], object], changed: set[int], tree: Path
) -> None:
    before = stamps(str(tree), NAMES)
    assert len(before) == 4 * 48
    assert stamps(str(tree), NAMES) == before
    touch(tree)
    after = stamps(str(tree), NAMES)
    assert {n for n in range(4) if after[48 * n : 48 * n + 48] != before[48 * n : 48 * n + 48]} == changed


def test_the_twin_gives_the_same_stamps(tree: Path) -> None:
    names = NAMES + os.fsencode(tree / "other.py") + b"\0"  # an absolute path counts by itself
    assert _capture.file_stamps(str(tree), names) == python_capture.file_stamps(str(tree), names)


@KINDS
@pytest.mark.parametrize(("names", "size"), [(b"", 0), (b"one.py", 0), (b"one.py\0rest", 48)])
def test_a_name_ends_with_a_zero_byte(stamps: Stamps, names: bytes, size: int, tree: Path) -> None:
    assert len(stamps(str(tree), names)) == size


@KINDS
def test_a_missing_folder(stamps: Stamps, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none"):
        stamps(str(tmp_path / "none"), b"one.py\0")
