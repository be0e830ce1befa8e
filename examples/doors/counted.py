"""What a door captured: an example that stays in eager fails."""

from __future__ import annotations

import capture


def counted(least: int = 1) -> str:
    """Graphs and breaks since the last reset, as text. There have to be `least` graphs."""
    graphs, breaks = capture.counters["graphs"]["compiled"], capture.counters["graph_breaks"].total()
    assert graphs >= least, f"{graphs} graphs, at least {least} were expected"
    return f"{graphs} graphs, {breaks} breaks"
