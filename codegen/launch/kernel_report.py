"""Where compiled graphs spend their time: CAPTURE_LOGS=kernels.

In:  the graphs that were compiled while the log is on. They time their instructions.
Out: a table, sorted by time. The log gets it at the end of the process.

    calls      time      share   moved     GB/s  of copy    GFLOP/s  what
      200   852 us/call    41 %  25.2 MB   29.6     88 %        19.0  k1: layer_norm ...

`of copy`: the bandwidth of the kernel, compared with a copy of large tensors. More than 100 % means that the
data comes from the cache.
"""

from __future__ import annotations

import atexit
import functools
import logging
import time
from typing import Any

import torch

from codegen.launch.plan import Work

log = logging.getLogger("capture.kernels")
COPY_ELEMENTS = 16_000_000
_watched: list[tuple[Any, dict[int, Work]]] = []


def watch(graph: Any, work: dict[int, Work]) -> None:
    """Time `graph` from now on, if the log is on."""
    if not log.isEnabledFor(logging.DEBUG):
        return
    if not _watched:
        atexit.register(lambda: log.debug("%s", report()))
    graph.start_timing()
    _watched.append((graph, work))


@functools.cache
def copy_bandwidth() -> float:
    """Bytes a second, read and written, of a copy that does not fit into the cache."""
    source = torch.ones(COPY_ELEMENTS)
    target = torch.empty_like(source)
    times = []
    for _ in range(6):
        started = time.perf_counter()
        target.copy_(source)
        times.append(time.perf_counter() - started)
    return 2 * source.nbytes / min(times)


def report(limit: int = 40) -> str:
    """The instructions that took the most time, over all timed graphs."""
    rows = []
    for number, (graph, work) in enumerate(_watched):
        for position, (calls, spent) in enumerate(graph.timings):
            if calls and position in work:
                rows.append((spent, calls, number, work[position]))
    total = sum(spent for spent, *_ in rows) or 1
    rows.sort(key=lambda row: -row[0])
    head = (
        f"{'calls':>8} {'us/call':>10} {'share':>7} {'MB':>9} {'GB/s':>7} {'of copy':>8} {'GFLOP/s':>8}  what"
    )
    lines = [_line(spent, calls, total, number, work) for spent, calls, number, work in rows[:limit]]
    rest = [f"... and {len(rows) - limit} more"] if len(rows) > limit else []
    return "\n".join([f"kernels of {len(_watched)} graphs, {total / 1e6:.1f} ms in all", head, *lines, *rest])


def _line(spent: int, calls: int, total: int, number: int, work: Work) -> str:
    seconds = spent / calls / 1e9
    bandwidth = work.bytes_moved / seconds
    speed = "" if work.flops is None else f"{work.flops / seconds / 1e9:.1f}"
    head = f"{calls:8} {seconds * 1e6:10.1f} {spent / total:7.1%} {work.bytes_moved / 1e6:9.3f}"
    speeds = f"{bandwidth / 1e9:7.1f} {bandwidth / copy_bandwidth():8.0%} {speed:>8}"
    return f"{head} {speeds}  graph {number}: {work.name}"
