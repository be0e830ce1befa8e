"""Each capture of each piece of a function has one name, wherever it is told of."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch

import capture

NAME = re.compile(r"scale \[\d+/\d+(?:, resumed at line \d+)?\]")
PIECE = re.compile(r"scale(?: \[\d+, resumed at line \d+\])?")


def scale(x: torch.Tensor, k: int) -> torch.Tensor:
    y = x * k
    capture.graph_break("one")
    y = y + k
    capture.graph_break("two")
    return y * 2


def calls() -> None:
    captured = capture.compile(scale, dynamic=False)
    for k in (2, 3):
        captured(torch.ones(4), k)


def names_in(text: str) -> set[str]:
    return set(NAME.findall(text))


@pytest.fixture
def names(tmp_path: Path) -> set[str]:
    """The names in a trace of the calls: three pieces, of which the last one reads no `k`."""
    capture.reset()
    with capture.trace(tmp_path) as trace:
        calls()
    capture.reset()
    events = [json.loads(line) for line in trace.path.read_text().splitlines()]
    found = {event["name"] for event in events if event["event"] == "frame"}
    assert len(found) == 5 and names_in("\n".join(found)) == found
    return found


def test_logs(names: set[str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", logger="capture.graph"):
        calls()
    assert names_in(caplog.text) == names


def test_recompiles_and_counters(names: set[str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", logger="capture.recompiles"):
        calls()
    again = {name for name in names if "/1" in name}
    assert names_in(caplog.text) == again
    pieces = {re.sub(r"/\d+", "", name).replace(" [0]", "") for name in again}
    assert set(capture.counters["recompiles"]) == pieces
    assert all(PIECE.fullmatch(piece) for piece in pieces)


def test_explain(names: set[str]) -> None:
    explained = str(capture.explain(scale)(torch.ones(4), 2))
    assert names_in(explained) == {name for name in names if "/0" in name}


def test_profiler(names: set[str]) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        calls()
    assert {event.key for event in profile.key_averages() if event.key.startswith("scale ")} == names


def test_warnings(names: set[str]) -> None:
    """The limit is told of by the name of the piece."""
    with (
        capture.config.patch(recompile_limit=1),
        pytest.warns(capture.CaptureWarning, match="scale") as found,
    ):
        calls()
    texts = [str(warning.message) for warning in found]
    assert any(PIECE.match(text) for text in texts), texts
