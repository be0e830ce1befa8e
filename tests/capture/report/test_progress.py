"""The line about a capture that takes long."""

from __future__ import annotations

import io
import sys
import time

import pytest
import torch

import capture
from capture.report import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "EVERY", 0.01)
    monkeypatch.setattr(progress, "_line", progress._Line())


def slow(gm: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> object:
    deadline = time.monotonic() + 60
    while "compiling" not in getattr(sys.stderr, "getvalue", lambda: "compiling")():
        assert time.monotonic() < deadline, "no line was written"
        time.sleep(0.005)
    return gm.forward


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2 + 1


def test_a_line_on_a_terminal_goes_away(impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    capture.compile(doubled, backend=slow)(torch.ones(3))
    assert "capturing doubled [0/0]: compiling, 2 operations, 0 s" in terminal.getvalue()
    deadline = time.monotonic() + 60
    while not terminal.getvalue().endswith(progress.CLEAR):
        assert time.monotonic() < deadline, "the line stays"
        time.sleep(0.005)


def test_nothing_elsewhere(impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    capture.compile(doubled, backend="eager")(torch.ones(3))
    assert stream.getvalue() == "" and progress._line.writer is None
