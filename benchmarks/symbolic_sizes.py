"""Kernels that take sizes at run time, compared with kernels compiled for the sizes.

In:  `python -m benchmarks.symbolic_sizes [name...]`.
Out: the time of a call, of the first call, and of the first call at a new size.

Static and symbolic code run in turns in one process, on one thread; times are the best of 60 calls.
"""

from __future__ import annotations

import sys
import time
import types
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

import capture

ROUNDS, CALLS = 12, 5
ELEMENTS = (100_000, 1_000_000)
PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "chain": (lambda x, y: (x * y + 1).tanh() * x, lambda n: (torch.randn(n), torch.randn(n))),
    "add": (lambda x, y: x + y, lambda n: (torch.randn(n), torch.randn(n))),
    "bias_gelu": (lambda x, b: F.gelu(x + b), lambda n: (torch.randn(n // 768 + 1, 768), torch.randn(768))),
    "softmax": (lambda x: x.softmax(-1), lambda n: (torch.randn(n // 512 + 1, 512),)),
    "layer_norm": (lambda x: F.layer_norm(x, (768,)), lambda n: (torch.randn(n // 768 + 1, 768),)),
    "sum": (lambda x: (x * 2).sum(), lambda n: (torch.randn(n),)),
    "sum_rows": (lambda x: x.sum(-1), lambda n: (torch.randn(n // 300 + 1, 300),)),
    "sum_columns": (lambda x: x.sum(0), lambda n: (torch.randn(n // 300 + 1, 300),)),
    "transposed": (lambda x: x.t() + 1, lambda n: (torch.randn(int(n**0.5) + 1, int(n**0.5)),)),
    "linear_relu": (
        lambda x, w: F.linear(x, w).relu(),
        lambda n: (torch.randn(n // 256 + 1, 256), torch.randn(64, 256)),
    ),
    "pairs": (
        lambda x, y: x[:, None] * y[None] + 1,
        lambda n: (torch.randn(n // 1000 + 1, 10), torch.randn(100, 10)),
    ),
    "cat": (
        lambda x, y: torch.cat([x, y], -1) * 2,
        lambda n: (torch.randn(n // 128 + 1, 64), torch.randn(n // 128 + 1, 64)),
    ),
}


def seconds(function: Callable[..., Any], args: tuple[Any, ...]) -> float:
    started = time.perf_counter()
    function(*args)
    return time.perf_counter() - started


def copy_of(function: Any, name: str) -> Any:
    """The function with a copy of its code object: each copy is captured by itself."""
    return types.FunctionType(function.__code__.replace(co_name=name), function.__globals__)


def measure(name: str, elements: int) -> str:
    function, make = PROGRAMS[name]
    args, other = make(elements), make(elements + elements // 3)
    static = capture.compile(copy_of(function, "static"), dynamic=False)
    symbolic = capture.compile(copy_of(function, "symbolic"), dynamic=True)
    first = seconds(static, args), seconds(symbolic, args)
    new_size = seconds(symbolic, other) - min(seconds(symbolic, other) for _ in range(5))
    best = [float("inf"), float("inf"), float("inf")]
    for _ in range(ROUNDS):
        for i, called in enumerate((static, symbolic, function)):
            best[i] = min(best[i], *(seconds(called, args) for _ in range(CALLS)))
    capture.reset()
    times = "  ".join(
        f"{label} {value * 1e6:8.1f}" for label, value in zip(("static", "symbolic", "eager"), best)
    )
    firsts = f"first call {first[0] * 1e3:6.1f} | {first[1] * 1e3:6.1f} ms"
    ratio = f"ratio {best[1] / best[0]:5.2f}"
    return f"{name:12} {elements:8}  {times} us  {ratio}  {firsts}  new size {new_size * 1e6:6.0f} us"


def main(names: list[str]) -> None:
    torch.set_num_threads(1)
    for name in names or PROGRAMS:
        for elements in ELEMENTS:
            print(measure(name, elements), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
