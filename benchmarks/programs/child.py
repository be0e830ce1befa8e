"""One run of one program in this process.

In:  `python -m benchmarks.programs.child NAME MODE STEPS [TURNS]`; MODE is eager, nudged:SEED or enable. A
     nudged run is an eager one whose parameters are moved by a rounding ahead of each update. TURNS are the
     pipes of `turns.py`.
Out: a line of JSON: the processor time at the start and behind each step, the turns in each step, the losses,
     a sum of what was trained, capture's counters.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections import defaultdict
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from benchmarks.measure import pin
from benchmarks.programs.all_programs import PROGRAMS
from benchmarks.programs.turns import Turns

NUDGE = 1e-7  # one rounding of float32


class Ticks:
    """Called behind each step, as a logger is: it reads the loss and the clock."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        turns.next()
        self.times = [time.process_time()]
        self.inner_turns: list[int] = []
        self.losses: list[float] = []
        self.recompiles: list[int] = []

    def __call__(self, loss: Any, inner_turns: int = 1) -> None:
        self.losses.append(float(loss))
        self.inner_turns.append(inner_turns)
        self.times.append(time.process_time())
        self.recompiles.append(counted("recompiles"))
        self.turns.next()


def nudge_each_update(seed: int) -> None:
    """Moves what an optimizer updates, as another order of additions does."""
    generator = torch.Generator().manual_seed(seed)

    def nudge(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        with torch.no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    moved = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
                    parameter.mul_(1 + NUDGE * moved)

    register_optimizer_step_pre_hook(nudge)


def counters() -> Any:
    """Capture's counters; empty ones where the program runs without it."""
    return getattr(sys.modules.get("capture"), "counters", defaultdict(dict))


def counted(group: str) -> int:
    return sum(counters()[group].values())


def main(name: str, mode: str, steps: str, pipes: str = "") -> None:
    pin()
    torch.manual_seed(0)
    chosen = PROGRAMS[name]
    if chosen.optimizers:  # torch loads it with the first one: 1 s of each run, in which the rest is lost
        importlib.import_module("torch._dynamo")
    kind, _, seed = mode.partition(":")
    if kind in ("eager", "nudged"):
        if kind == "nudged":
            nudge_each_update(int(seed))
        ticks = Ticks(Turns(pipes))
        trained = chosen.run(ticks, int(steps))
    else:
        import capture

        ticks = Ticks(Turns(pipes))
        tick = capture.disable(ticks.__call__)  # what measures is no part of the program
        with capture.enable():
            trained = chosen.run(tick, int(steps))
    print(
        json.dumps(
            {
                "times": ticks.times,
                "inner_turns": ticks.inner_turns,
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
