"""Counters of events, for tests and for users.

In:  `counters["frames"]["captured"] += 1` at each event.
Out: nested counts. `counters.clear()` and `capture.reset()` set them to zero.

    toy_example(x, y)     ->   counters["graphs"]["compiled"] == 2
                               counters["graph_breaks"]["data_dependent_jump"] == 1

Groups: frames (captured, skipped, failed), graphs (compiled, calls_captured, loaded), graph_breaks (by reason
id), recompiles (by code name), entries (loaded, missing, stored, not stored), not_stored (by reason), cache
(graph found, graph missing, and so for each kind of object).

`graphs`, `graph_breaks` and `recompiles` are those of the program: the same with and without the store.
`frames` counts the work of this process. `entries.loaded` and `graphs.loaded` say what came from the store.
"""

from __future__ import annotations

from collections import Counter, defaultdict

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)
