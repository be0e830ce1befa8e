"""Exported models: the bytes of their objects, and C programs beside eager.

In:  models of `tests/capture/exporting/models.py`, and wider ones.
Out: for each the bytes of code and constants, the least time of a call in a C program, through
     `capture.load`, and in eager, on one thread.

    python -m benchmarks.export
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

import capture
from tests.capture.exporting.models import MODELS, CachedBlock

ROUNDS = 5
PROGRAM = """
import time, sys, torch
args = torch.load(sys.argv[2])
begin = time.process_time()
from cache.exported import load
f = load(sys.argv[1])
with torch.no_grad():
    f(*args)
print(time.process_time() - begin)
"""


def wide_mlp() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    layers = [nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 10)]
    return nn.Sequential(*layers).eval(), (torch.randn(64, 512),)


def gpt2_block() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The sizes of GPT-2: one new token behind 128."""
    cache = (torch.randn(1, 12, 128, 64), torch.randn(1, 12, 128, 64))
    return CachedBlock(768, 12).eval(), (torch.randn(1, 1, 768), *cache)


CASES: dict[str, Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]] = {
    **MODELS,
    "wide_mlp": wide_mlp,
    "gpt2_block": gpt2_block,
}


def least(call: Callable[[], Any], calls: int = 30) -> float:
    found = float("inf")
    for _ in range(calls):
        begin = time.perf_counter()
        call()
        found = min(found, time.perf_counter() - begin)
    return found


def measure(name: str, folder: Path) -> str:
    """A row of the table: eager, C and loaded calls take turns, and the least of each counts."""
    torch.manual_seed(0)
    model, args = CASES[name]()
    exported = capture.export(model, args, name=name)
    home = folder / name
    exported.save(str(home))
    subprocess.run(["make", "-s", "example"], cwd=home, check=True)
    loaded = capture.load(str(home))
    eager = native = through = float("inf")
    for _ in range(ROUNDS):
        eager = min(eager, least(lambda: model(*args)))
        through = min(through, least(lambda: loaded(*args)))
        done = subprocess.run(
            ["./example", "--time", "30"], cwd=home, check=True, capture_output=True, text=True
        )
        native = min(native, float(done.stdout))
    torch.save(args, folder / "args.pt")
    command = [sys.executable, "-c", PROGRAM, str(home), str(folder / "args.pt")]
    starts = [
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(3)
    ]
    constants = exported.native.constant_bytes
    return (
        f"{name:14} {len(exported.object) - constants:10,} {constants:12,} {native * 1e6:10.1f} "
        f"{through * 1e6:10.1f} {eager * 1e6:10.1f} {eager / native:8.2f} {min(starts) * 1e3:8.1f}"
    )


def main() -> None:
    torch.set_num_threads(1)
    print("model                code    constants       C us  loaded us   eager us  eager/C load+call ms")
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or CASES:
            print(measure(name, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
