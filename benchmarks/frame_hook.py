"""The cost of the frame hook for a Python call.

In:  nothing; run `python benchmarks/frame_hook.py`.
Out: a table: nanoseconds for a call of `def empty(): pass`, without the loop around it; each line is compared
     with the same call without the hook.

Goals: at most +50 ns for a call that is not captured, inside the enabled region; 0 outside of it. The
variants are measured in turns, because a noisy machine drifts; the median of the rounds counts.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType

sys.path.insert(0, str(Path(__file__).parents[1]))

import _capture

CALLS = 5_000
ROUNDS = 60
KEY = object()


def empty() -> None:
    pass


def make_empty() -> FunctionType:
    """A function with its own code object."""
    return FunctionType(empty.__code__.replace(), globals())


def loop(fn: Callable[[], object]) -> float:
    started = time.perf_counter()
    for _ in range(CALLS):
        fn()
        fn()
        fn()
        fn()
    return (time.perf_counter() - started) / (4 * CALLS) * 1e9


def bare_loop() -> float:
    """The time of the loop in `loop` with an empty body."""
    started = time.perf_counter()
    for _ in range(CALLS):
        pass
    return (time.perf_counter() - started) / (4 * CALLS) * 1e9


def hooked(fn: Callable[[], object]) -> float:
    previous = _capture.set_callback(lambda frame: None, KEY)
    try:
        return loop(fn)
    finally:
        _capture.set_callback(*previous)


def skipped() -> FunctionType:
    fn = make_empty()
    _capture.skip_code(fn.__code__)
    return fn


def with_entry(**parts: object) -> FunctionType:
    fn = make_empty()
    _capture.add_entry(fn.__code__, _capture.Entry(None, KEY, **parts))
    return fn


def variants() -> dict[str, Callable[[], float]]:
    outside, skip, unknown = make_empty(), skipped(), make_empty()
    left_alone, code = with_entry(), with_entry(code=empty.__code__.replace())
    graph = with_entry(graph=tuple, result=(("const", None),))
    _capture.skip_code(loop.__code__)
    return {
        "no hook": lambda: loop(outside),
        "outside, after the hook": lambda: loop(skip),
        "not captured (skip mark)": lambda: hooked(skip),
        "not captured (entry without code)": lambda: hooked(left_alone),
        "entry: code, swapped into the frame": lambda: hooked(code),
        "entry: graph (a built-in function)": lambda: hooked(graph),
        "callback that declines": lambda: hooked(unknown),
    }


def measure() -> Iterator[tuple[str, float]]:
    runs = variants()
    times: dict[str, list[float]] = {name: [] for name in runs}
    bare = []
    for _ in range(ROUNDS):
        bare.append(bare_loop())
        for name, run in runs.items():
            times[name].append(run())
    base = statistics.median(bare)
    for name, seconds in times.items():
        yield name, statistics.median(seconds) - base


def main() -> None:
    results = dict(measure())
    reference = results["no hook"]
    print(f"{'a call of an empty function':40} {'ns':>8} {'against no hook':>16}")
    for name, nanoseconds in results.items():
        print(f"{name:40} {nanoseconds:8.1f} {nanoseconds - reference:+16.1f}")


if __name__ == "__main__":
    main()
