"""What graphs save of Python's time in this process.

In:  the times of entries whose trial is over, beside those of Python (`capture.policy.patience`).
Out: `expected()`: the share that the next capture is expected to save.

    nothing is known yet          ->   0.4
    four graphs that save 0.8     ->   0.6

Entries with a backward do not count: their trial sees the forward alone.
"""

from __future__ import annotations

#: What a capture saves before this process has shown more. In `benchmarks/programs` whole steps take 0.5 to
#: 0.7 of their time.
GAIN = 0.4
#: The number of trials that this counts for.
TRIALS = 4


class _Shown:
    """The graphs that were tried, and what they have saved together; one that is slower saves nothing."""

    count = 0
    saved = 0.0


_shown = _Shown()


def saved(python_ns: int, own_ns: int) -> float:
    """The share of Python's time that a graph saves."""
    return max(0.0, 1 - own_ns / max(1, python_ns))


def note(python_ns: int, own_ns: int) -> None:
    _shown.count += 1
    _shown.saved += saved(python_ns, own_ns)


def expected() -> float:
    return (TRIALS * GAIN + _shown.saved) / (TRIALS + _shown.count)


def forget() -> None:
    _shown.count, _shown.saved = 0, 0.0
