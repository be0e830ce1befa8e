"""What a trace costs: `python -m benchmarks.tracing`.

In:  nothing.
Out: the time of a capture with a trace, beside the same capture without one: a GPT (forward), a U-Net, a
     function in three pieces. The captures take turns; each ratio is of one turn, the median is shown.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch

import capture
from benchmarks.measure import Targets, header
from benchmarks.programs.generative import DiffusionUNet
from benchmarks.programs.language import GPT, GPTConfig

TURNS = 11
TARGET = 1.10


def pieces(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    capture.graph_break("one")
    z = (y + x).relu()
    capture.graph_break("two")
    return (z - y).sum()


def programs() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    return {
        "GPT of 4 layers": (GPT(GPTConfig()).eval(), (torch.randint(65, (2, 16)),)),
        "U-Net": (DiffusionUNet().eval(), (torch.randn(1, 1, 28, 28), torch.zeros(1))),
        "three pieces": (pieces, (torch.randn(100),)),
    }


def captured(function: Callable[..., Any], args: tuple[Any, ...], show: list[str] | None) -> float:
    """Processor seconds of a capture; under a trace, if `show` is not None."""
    capture.reset()
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        fast = capture.compile(function)
        started = time.process_time()
        if show is None:
            fast(*args)
        else:
            with capture.trace(folder, show=show):
                fast(*args)
        return time.process_time() - started


def main() -> None:
    header()
    table = Targets("Traces")
    with capture.config.patch(disk_cache=False):
        for name, (function, args) in programs().items():
            for show in ([], ["bytecode"], ["bytecode", "loops", "llvm"]):
                captured(function, args, show)
                ratios, plain = [], []
                for _ in range(TURNS):
                    plain.append(captured(function, args, None))
                    ratios.append(captured(function, args, show) / plain[-1])
                low, middle, high = statistics.quantiles(ratios, n=4)
                what = f"{name}, {', '.join(show) or 'as it is'}"
                measured = (
                    f"{statistics.median(plain) * 1e3:.0f} ms without, quartiles {low:.3f} to {high:.3f}"
                )
                table.add(what, middle, None if show else TARGET, " of a capture", measured)
    table.show()


if __name__ == "__main__":
    main()
