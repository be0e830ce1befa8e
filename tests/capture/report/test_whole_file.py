"""Reports and scripts are written whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from capture.pages import write_report
from capture.report.errors import UsageError
from capture.report.whole_file import write_whole
from capture.tracing.perfetto import write_perfetto
from tests.capture.pages import example_trace


def test_a_file_is_written_with_the_rights_of_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert write_whole(path, "ä") == path and path.read_text(encoding="utf-8") == "ä"
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()
    path.chmod(0o640)
    write_whole(path, "b")
    assert path.read_text() == "b" and path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", "a")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_text() == "a"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_whole(tmp_path / "pipe", "a")
    reader.join()
    assert found == ["a"] and (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("write", [write_report, write_perfetto], ids=["report", "perfetto"])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write) -> None:
    example_trace.write(tmp_path)
    target = tmp_path / "target"
    target.write_text("before")
    write_text = Path.write_text

    def full(path: Path, text: str, **options: str) -> int:
        write_text(path, text[: len(text) // 2], **options)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises((OSError, UsageError), match="No space left"):
        write(tmp_path, target)
    assert target.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["target", "trace-7.jsonl"]
