"""One and two threads, against eager with as many.

    python -m benchmarks.threads [threads]

Wall-clock time, since a second thread's time counts too: the best of many calls, contenders in turn. On a machine with other work to do the figures for several
threads are those of its scheduler.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from rich.table import Table

import capture
from benchmarks.measure import console, pretty

ROUNDS, CALLS = 12, 10
Case = tuple[Callable[..., Any], Callable[[], tuple[torch.Tensor, ...]]]
CASES: dict[str, Case] = {
    "add 1e6": (lambda x, y: x + y, lambda: (torch.randn(1_000_000), torch.randn(1_000_000))),
    "chain 1e6": (lambda x, y: torch.tanh(x * y + 1).exp() * x, lambda: (torch.randn(1_000_000), torch.randn(1_000_000))),
    "gelu 1e5": (lambda x: F.gelu(x), lambda: (torch.randn(100_000),)),
    "small add": (lambda x, y: x + y, lambda: (torch.randn(1000), torch.randn(1000))),
    "softmax 1024x1000": (lambda x: x.softmax(-1), lambda: (torch.randn(1024, 1000),)),
    "layer_norm 1024x768": (lambda x: F.layer_norm(x, (768,)), lambda: (torch.randn(1024, 768),)),
    "column sums 4096x1024": (lambda x: x.sum(0), lambda: (torch.randn(4096, 1024),)),
    "mse 4e6": (lambda x, y: F.mse_loss(x, y), lambda: (torch.randn(4_000_000), torch.randn(4_000_000))),
    "attention scores 48x128": (lambda q, k: torch.bmm(q, k).softmax(-1), lambda: (torch.randn(48, 128, 64), torch.randn(48, 64, 128))),
}  # fmt: skip


def best(function: Callable[..., Any], args: tuple[torch.Tensor, ...]) -> float:
    times = []
    for _ in range(CALLS):
        started = time.perf_counter()
        function(*args)
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    several = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    heads = (
        "kernel",
        *(f"{who} {n}" for n in (1, several) for who in ("eager", "capture")),
        "gain",
        "to eager",
    )
    table = Table(
        *heads, title=f"1 and {several} threads, best of {ROUNDS * CALLS} calls", title_justify="left"
    )
    for name, (function, make) in CASES.items():
        args, compiled = make(), capture.compile(function)
        contenders = [(n, f) for n in (1, several) for f in (function, compiled)]
        times = [float("inf")] * len(contenders)
        for _ in range(ROUNDS):
            for place, (number, contender) in enumerate(contenders):
                torch.set_num_threads(number)
                contender(*args)
                times[place] = min(times[place], best(contender, args))
        ratios = (f"{times[3] / times[1]:.2f}", f"{times[3] / times[2]:.2f}")
        table.add_row(name, *map(pretty, times), *ratios)
    console.print(table)


if __name__ == "__main__":
    main()
