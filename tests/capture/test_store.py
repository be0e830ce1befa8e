"""The commands on the store: what was packed on one machine is found on another."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
import torch

import capture
from capture import store
from capture.__main__ import main
from capture.report.errors import UsageError


@pytest.fixture(autouse=True)
def uses_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codegen.stored.compile_graph.enabled", True)


def run_in(folder: Path) -> tuple[torch.Tensor, int]:
    """A result, and how many of its graphs came from the store."""
    capture.reset()
    with capture.config.patch(cache_dir=str(folder)):
        result = capture.compile(lambda x: (x * 3).sin().sum(0))(torch.arange(12.0).view(3, 4))
    return result, capture.counters["cache"]["graph found"]


def test_what_is_packed_is_found_elsewhere(tmp_path: Path) -> None:
    expected, found = run_in(tmp_path / "one")
    assert found == 0
    with capture.config.patch(cache_dir=str(tmp_path / "one")):
        kinds = store.info()
        assert kinds["graph"] == 1 and kinds["bytes"] > 0
        assert store.pack(tmp_path / "packed.zip") == kinds["graph"] + kinds["machine code"]
    with capture.config.patch(cache_dir=str(tmp_path / "two")):
        assert store.info() == {}
        assert store.unpack(tmp_path / "packed.zip") == kinds["graph"] + kinds["machine code"]
    again, found = run_in(tmp_path / "two")
    assert found == 1 and torch.equal(again, expected)


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_in(tmp_path / "one")
    with capture.config.patch(cache_dir=str(tmp_path / "one")):
        assert main(["cache", "pack", str(tmp_path / "packed.zip")]) == 0
        assert main(["cache", "verify"]) == 0
        (path,) = (tmp_path / "one").glob("??/*.graph")
        path.write_bytes(path.read_bytes()[:-1])
        assert main(["cache", "verify"]) == 1
        assert main(["cache", "unpack", str(tmp_path / "packed.zip")]) == 0
        assert main(["cache", "verify"]) == 0
        assert main(["cache", "clear"]) == 0
        assert main(["cache", "info"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "1 damaged" in lines[2] and lines[-1] == "nothing"


def test_what_others_could_have_written_is_removed(tmp_path: Path) -> None:
    """Files are; a folder is not, and the commands say what to do."""
    run_in(tmp_path)
    for path in tmp_path.glob("??/*.graph"):
        path.chmod(0o666)
    with capture.config.patch(cache_dir=str(tmp_path)):
        assert store.verify()["damaged"] == 1
        assert store.verify()["damaged"] == 0
        tmp_path.chmod(0o777)
        for command in (store.info, store.verify, store.clear):
            with pytest.raises(UsageError, match="chmod go-w"):
                command()
        assert main(["cache", "info"]) == 2


@pytest.mark.parametrize("name", ["../../evil.o", "a.o", "0" * 64 + ".py"])
def test_foreign_names_are_refused(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr(name, b"content")
    with (
        capture.config.patch(cache_dir=str(tmp_path / "one")),
        pytest.raises(UsageError, match="no object of a store"),
    ):
        store.unpack(tmp_path / "packed.zip")
    assert not (tmp_path / "one").exists()


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    run_in(tmp_path / "one")
    with capture.config.patch(cache_dir=str(tmp_path / "one")):
        store.pack(tmp_path / "packed.zip")
    whole = (tmp_path / "packed.zip").read_bytes()
    (tmp_path / "packed.zip").write_bytes(whole[: len(whole) // 2])
    with (
        capture.config.patch(cache_dir=str(tmp_path / "two")),
        pytest.raises(UsageError, match="no packed store"),
    ):
        store.unpack(tmp_path / "packed.zip")
