"""Starts the processes and keeps what they print.

Out: `measure()`: plain data, as `docs/speed.json` has it:

    {"machine": {...}, "training": {model: {contender: [run, ...]}}, "tiny": {case: {contender: [run, ...]}}}

The first run of a model finds empty stores of compiled code, the others those that the first one has filled.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure import console
from benchmarks.peers.child import CONTENDERS
from benchmarks.peers.models import MODELS

ROUNDS = 2
CASES = ("without a gradient", "with a gradient")
TOLERANCE = 1e-2  # of losses of float32 training; a fast step that is wrong does not count


def child(kind: str, name: str, contender: str, store: str) -> dict[str, Any]:
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "CAPTURE_CACHE_DIR": f"{store}/capture",
        "TORCHINDUCTOR_CACHE_DIR": f"{store}/inductor",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # compilers are children that the clock sees
    }
    command = [sys.executable, "-m", "benchmarks.peers.child", kind, name, contender]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{name}, {contender}:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def in_turns(kind: str, name: str) -> dict[str, list[dict[str, Any]]]:
    runs: dict[str, list[dict[str, Any]]] = {contender: [] for contender in CONTENDERS}
    with tempfile.TemporaryDirectory() as store:
        for _ in range(ROUNDS):
            for contender, found in runs.items():
                found.append(child(kind, name, contender, store))
                console.print(f"{name}, {contender}: {found[-1]}", style="dim", markup=False)
    return runs


def check(name: str, runs: dict[str, list[dict[str, Any]]]) -> None:
    expected = runs["eager"][0]["losses"]
    for contender, found in runs.items():
        for run in found:
            pairs = zip(run.pop("losses"), expected)
            if not all(math.isclose(ours, theirs, rel_tol=TOLERANCE) for ours, theirs in pairs):
                raise RuntimeError(f"{name}: the losses of {contender} are not those of eager")


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def measure() -> dict[str, Any]:
    machine = {
        "processor": processor(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "load": [os.getloadavg()[0]],
    }
    training = {name: in_turns("training", name) for name in MODELS}
    for name, runs in training.items():
        check(name, runs)
    tiny = {case: in_turns("tiny", case) for case in CASES}
    machine["load"].append(os.getloadavg()[0])
    return {"machine": machine, "training": training, "tiny": tiny}
