"""What tests of captures that have to pay share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import capture
from capture.hooks import running_loops
from capture.policy import foresight, patience


@pytest.fixture
def captures_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A loop is hot as soon as it has turned four times, and each entry pays, whatever the clock says."""
    capture.reset()
    for name in ("UNIT_NS", "LEAST_NS", "FIRST_NS", "TURN_NS"):
        monkeypatch.setattr(patience, name, 0)
    for name in ("PAYS", "PAYS_WITH_BACKWARD"):
        monkeypatch.setattr(patience, name, float("inf"))
    monkeypatch.setattr(running_loops, "LEAST_NS", 0)
    monkeypatch.setattr(foresight, "share_done", lambda frame: None)  # pytest has loops, too
    with capture.config.patch(when="hot"):
        yield
