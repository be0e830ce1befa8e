"""Counters: how often what happened, for tests and for the curious.

In:  `counters["frames"]["captured"] += 1`, wherever something happens.
Out: nested counts; `counters.clear()` starts anew, `capture.reset()` does so too.

    toy_example(x, y)     ->   counters["graphs"]["compiled"] == 2,
    counters["graph_breaks"]["data_dependent_jump"] == 1

Groups: frames (captured, skipped, failed), graphs (compiled, calls_captured), graph_breaks (by reason id),
recompiles (by code name).
"""

from __future__ import annotations

from collections import Counter, defaultdict

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)
