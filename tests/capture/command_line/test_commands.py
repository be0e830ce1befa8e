"""The commands of `python -m capture`, and what they say of wrong arguments."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from capture.__main__ import NEEDS, main

MODULE = """
import torch

def toy(x, y):
    return x * y + 1

class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()

net = Net()
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shown.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("shown", None)


def test_explain(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "shown:toy", "--args", "torch.ones(3), torch.ones(3)", "--backend", "eager"]) == 0
    assert capsys.readouterr().out.startswith("1 graph, 0 graph breaks, 2 operations")
    assert main(["explain", "shown:net", "--args", "torch.ones(3)"]) == 0
    assert "relu" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["explain", "shown"], 2, "write MODULE:FUNCTION"),
        (["explain", "shown.py:toy"], 2, "write shown:toy"),
        (["explain", "nowhere:toy"], 2, "no module is named 'nowhere'"),
        (["explain", "shown:toi"], 2, "shown has no 'toi': did you mean 'toy'?"),
        (["explain", "shown:toy"], 2, "missing a required argument: 'x'; give arguments with --args"),
        (["explain", "shown:toy", "--args", "torch.wrong"], 2, "raised AttributeError"),
        (["explain", "shown:toy", "--args", "1, 2", "--backend", "lvm"], 1, "did you mean 'llvm'?"),
        (["run", "nowhere.py"], 2, "the script 'nowhere.py' does not exist"),
        (["run", "."], 2, "is a folder: name a file in it"),
        (["run", "-m", "nowhere"], 2, "no module is named 'nowhere'"),
        (["run", "--bakend", "eager", "x.py"], 2, "--backend"),
        (["rum"], 2, "run"),
        (["cache", "pak", "x"], 2, "pack"),
        (["cache", "unpack", "nowhere.zip"], 1, "nowhere.zip: No such file or directory"),
        (["cache", "pack", "nowhere/s.zip"], 1, "nowhere/s.zip: No such file or directory"),
    ],
)
def test_wrong_arguments(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, text: str
) -> None:
    assert main(arguments) == status
    assert text in capsys.readouterr().err


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    for name in ("torch ", "machine code for", "store ", "self-test          ok: 1 graph", "a captured call"):
        assert name in shown


def test_doctor_shows_what_fails(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError("no room")

    monkeypatch.setattr("capture.command_line.doctor_command.kernel_store", refuse)
    assert main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "storage failed" in shown and "OSError: no room" in shown and "self-test" in shown


def test_without_the_extra(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "typer", None)
    for name in [name for name in sys.modules if name.startswith("capture.command_line.")]:
        monkeypatch.delitem(sys.modules, name)
    assert main(["doctor"]) == 1
    assert NEEDS in capsys.readouterr().err
