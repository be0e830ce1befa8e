"""Where the warm-up of a program goes: `python -m benchmarks.warm_up [names] [--seconds S]`.

In:  names of `benchmarks.programs` (all without); S: eager's run takes that long at least, 3 s without.
Out: seconds of the captures in a first process, by phase, and milliseconds for each operation of the graphs.

    vae: 3 captures, 29 operations, 0.41 s: imports 0.13, translate 0.09, joint 0.03, lower 0.06, llvm 0.12

The store is empty, and the run is pinned to one core, which should be free. An operation is a node of a
captured graph; what it costs has its derivative, too. `joint` traces a graph with its gradients and cuts it
in parts, `lower` ends with the schedule of loops, `llvm` has their texts and machine code. `rest` is what
lies between: code for the frame, stores, launch plans, the judgement of whether a frame is worth it, and the
compilation for symbolic sizes, which has no phases of its own. Modules are imported inside of these phases:
`imports` is what a process without captures takes to import the same ones, behind `import capture`.
"""

from __future__ import annotations

import argparse
import collections
import gc
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import torch
from rich.table import Table

from benchmarks.measure import console, pin
from benchmarks.programs.__main__ import lasting
from benchmarks.programs.all_programs import PROGRAMS

OURS = ("capture", "codegen", "guards", "cache", "llvmlite")
#: the columns, and the phases (docs/trace.md) that are in each
COLUMNS = {
    "translate": ("translate",),
    "guards": ("guards",),
    "joint": ("trace", "partition"),
    "lower": ("lower",),
    "llvm": ("llvm",),
}


class Phases:
    """A recorder: seconds of each phase without the phases inside of it; captures and operations."""

    def __init__(self) -> None:
        self.seconds: collections.Counter[str] = collections.Counter()
        self.operations = self.captures = 0
        self.ended: list[tuple[float, float]] = []  # starts and ends of those that no later one holds

    def record(self, event: Any) -> None:
        if event.name == "phase":
            self.add(event.fields["phase"], event.fields["start"], event.fields["end"])
        elif event.name == "graph":
            self.operations += event.fields["operations"]
        elif event.name == "frame_end":
            self.captures += 1
            self.add("frame", event.frame.started, event.time)

    def add(self, name: str, start: float, end: float) -> None:
        inner = 0.0
        while self.ended and self.ended[-1][0] >= start:
            first, last = self.ended.pop()
            inner += last - first
        self.ended.append((start, end))
        self.seconds[name] += end - start - inner


def run(name: str, steps: int) -> None:
    """In the child: the program under `capture.enable()`, watched."""
    pin()
    torch.manual_seed(0)
    import_first(name)
    import capture
    from capture.report import observe

    phases = Phases()
    observe.add_recorder(phases)
    with capture.enable():
        PROGRAMS[name].run(capture.disable(lambda loss, turns=1: None), steps)
    ours = [module for module in sys.modules if module.partition(".")[0] in OURS]
    print(json.dumps([phases.seconds, phases.captures, phases.operations, ours]))


def import_first(name: str) -> None:
    """What torch imports with the first optimizer is no warm-up in benchmarks/programs/child.py either."""
    if PROGRAMS[name].optimizers:
        importlib.import_module("torch._dynamo")


def import_again(name: str, modules: list[str]) -> None:
    """In the child: seconds of processor time to import these modules, in this order, behind capture."""
    import_first(name)
    importlib.import_module("capture")
    gc.disable()  # as in a capture: a full collection takes 60 ms and more
    started = time.process_time()
    for module in modules:
        importlib.import_module(module)
    print(json.dumps(time.process_time() - started))


def child(*arguments: str, given: str = "") -> Any:
    with tempfile.TemporaryDirectory() as store:
        environment = {**os.environ, "CAPTURE_CACHE_DIR": store, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "benchmarks.warm_up", *arguments]
        done = subprocess.run(
            command, input=given, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs whose name contains one of these; all without")
    parser.add_argument("--seconds", type=float, default=3.0, help="seconds that eager's run takes at least")
    options = parser.parse_args()
    table = Table("program", "captures", "operations", "all", "imports", *COLUMNS, "rest", "an operation")
    found = []
    for part in options.names:
        if not any(part in name for name in PROGRAMS):
            parser.error(f"no program has {part!r} in its name; there are {', '.join(PROGRAMS)}")
    for name, program in PROGRAMS.items():
        if options.names and not any(part in name for part in options.names):
            continue
        steps = lasting(name, program.steps, options.seconds)
        seconds, captures, operations, modules = child("--run", name, str(steps))
        columns = [sum(seconds.get(phase, 0.0) for phase in phases) for phases in COLUMNS.values()]
        whole = sum(seconds.values())
        imports = child("--import", name, given=json.dumps(modules))
        numbers = [whole, imports, *columns, whole - sum(columns)]
        found.append([captures, operations, *numbers, 1e3 * whole / max(1, operations)])
        table.add_row(name, *cells(found[-1]))
    console.print(table)
    console.print("medians:", *cells([statistics.median(column) for column in zip(*found)]))


def cells(row: list[float]) -> list[str]:
    captures, operations, *seconds, each = row
    return [f"{captures:.0f}", f"{operations:.0f}", *(f"{one:.2f} s" for one in seconds), f"{each:.1f} ms"]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--run", name, steps]:
            run(name, int(steps))
        case ["--import", name]:
            import_again(name, json.load(sys.stdin))
        case _:
            main()
