"""One measurement, in this process: `python -m benchmarks.peers.child training|tiny NAME CONTENDER`.

Out: a line of JSON. `training`: `first`, seconds of the first steps together, everything included that the
     contender imports and compiles; `step`, the median of the later ones; `memory`, the peak in MiB; some
     losses. `tiny`: `call`, seconds of a call.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.measure import calls_a_turn, one_turn, pin
from benchmarks.peers.models import prepared

FIRST = 5  # steps; compilation is over behind them
LEAST = 20  # later steps
SECONDS = 2.0  # of later steps
TURNS = 15


def captured(function: Any) -> Any:
    import capture

    return capture.compile(function)


CONTENDERS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda function: function,
    "torch.compile": lambda function: torch.compile(function),
    "capture": captured,
}


def processor_seconds() -> float:
    """Of this process, and of the compilers that it has started and waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def training(name: str, contender: str, seconds: float = SECONDS, least: int = LEAST) -> dict[str, Any]:
    chosen = prepared(name)
    optimizer = torch.optim.AdamW(chosen.model.parameters(), lr=1e-4)
    losses, times = [], [processor_seconds()]
    model = CONTENDERS[contender](chosen.model)
    while len(times) <= FIRST + least or times[-1] - times[FIRST] < seconds:
        optimizer.zero_grad()
        loss = chosen.loss(model)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        times.append(processor_seconds())
    later = [after - before for before, after in zip(times[FIRST:], times[FIRST + 1 :])]
    return {
        "first": times[FIRST] - times[0],
        "step": statistics.median(later),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "losses": losses[:FIRST],
    }


def tiny(grad: str, contender: str) -> dict[str, Any]:
    """A call of x * y + 1 on 4 elements, as a model of this size would be called."""
    x, y = torch.randn(4), torch.randn(4, requires_grad=grad == "with a gradient")
    function = CONTENDERS[contender](lambda x, y: x * y + 1)
    with torch.set_grad_enabled(y.requires_grad):
        for _ in range(FIRST):
            function(x, y)
        count = calls_a_turn(lambda: function(x, y), 0.02)
        return {"call": statistics.median(one_turn(lambda: function(x, y), count) for _ in range(TURNS))}


KINDS: dict[str, Callable[[str, str], dict[str, Any]]] = {"training": training, "tiny": tiny}


if __name__ == "__main__":
    pin()
    kind, name, contender = sys.argv[1:]
    print(json.dumps(KINDS[kind](name, contender)))
