"""One run of one program in this process.

In:  `python -m benchmarks.programs.child NAME MODE STEPS`; MODE is eager or enable.
Out: a line of JSON: the processor time at the start and behind each step, the losses, a sum of what was
     trained, capture's counters.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from typing import Any

import torch

from benchmarks.measure import pin
from benchmarks.programs.all_programs import PROGRAMS


class Ticks:
    """Called behind each step, as a logger is: it reads the loss and the clock."""

    def __init__(self) -> None:
        self.times = [time.process_time()]
        self.losses: list[float] = []
        self.recompiles: list[int] = []

    def __call__(self, loss: Any) -> None:
        self.losses.append(float(loss))
        self.times.append(time.process_time())
        self.recompiles.append(counted("recompiles"))


def counters() -> Any:
    """Capture's counters; empty ones where the program runs without it."""
    return getattr(sys.modules.get("capture"), "counters", defaultdict(dict))


def counted(group: str) -> int:
    return sum(counters()[group].values())


def main(name: str, mode: str, steps: str) -> None:
    pin()
    torch.manual_seed(0)
    chosen = PROGRAMS[name]
    if mode == "eager":
        ticks = Ticks()
        trained = chosen.run(ticks, int(steps))
    else:
        import capture

        ticks = Ticks()
        tick = capture.disable(ticks.__call__)  # what measures is no part of the program
        with capture.enable():
            trained = chosen.run(tick, int(steps))
    print(
        json.dumps(
            {
                "times": ticks.times,
                "losses": ticks.losses,
                "trained": [float(tensor.detach().double().abs().sum()) for tensor in trained],
                "recompiles_by_step": ticks.recompiles,
                "graphs": counters()["graphs"].get("compiled", 0),
                "breaks": counted("graph_breaks"),
                "frames": dict(counters()["frames"]),
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
