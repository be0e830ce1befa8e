"""The report of what `capture.trace` writes today."""

from __future__ import annotations

from pathlib import Path

import torch

import capture
from capture.pages import write_report
from capture.pages.story import tell
from capture.tracing.read import read_folder
from tests.capture.cases.registry import show


def broken(x: torch.Tensor, k: int) -> torch.Tensor:
    y = torch.softmax(x * k, -1)
    show(end="")
    return y.sum() + 1


def test_a_traced_program(tmp_path: Path) -> None:
    compiled = capture.compile(broken)
    with capture.trace(tmp_path, show=["all"]):
        for k in (2, 2, 3):
            compiled(torch.ones(4, 8), k)
    story = tell(read_folder(tmp_path)[0])
    totals = story.totals
    assert (totals.captures, totals.breaks, totals.recompiles) == (3, 2, 1)
    assert totals.native is not None and 0 < totals.native < totals.seconds
    assert 0 < totals.compiling < totals.seconds
    assert story.copy_bandwidth is not None and story.copy_bandwidth > 1e8
    text = write_report(tmp_path, tmp_path / "report.html").read_text()
    for part in (
        "k == 2",  # the recompile
        "for i0 in 4",  # loop IR
        "define i32 @k0",
        "Continuation",  # the decompiled code
        "broken [1/0, resumed at line",
        "of copy",
    ):
        assert part in text, part


def test_without_large_events(tmp_path: Path) -> None:
    with capture.trace(tmp_path):
        capture.compile(broken)(torch.ones(4, 8), 2)
    text = write_report(tmp_path, tmp_path / "report.html").read_text()
    assert "The time in graphs was not measured" in text
