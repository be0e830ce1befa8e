"""Large programs: `python -m benchmarks.large_programs`.

In:  nothing. The disk cache is off: every kernel is compiled here.
Out: seconds of processor time for the first call, beside those of eager's first call. Cases: 20,000
     operations in one graph, translated; 2,000 operations as native code; functions of 5,000 lines, one of
     which breaks the graph at each hundredth line.

    20,000 operations, all returned      3.2 s    eager 0.07 s
    5,000 lines, 50 graph breaks         2.8 s    eager 0.01 s
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

import capture
from benchmarks.measure import Targets, console, header, pin

Program = Callable[[torch.Tensor], Any]
VARIABLES = 50

CAPTURE_S, NATIVE_S, FUNCTION_S = 10.0, 2.0, 5.0


def chain(operations: int) -> Program:
    def program(x: torch.Tensor) -> torch.Tensor:
        for _ in range(operations // 2):
            x = torch.sin(x) + 1.0
        return x

    return program


def all_returned(operations: int) -> Program:
    def program(x: torch.Tensor) -> list[torch.Tensor]:
        results = []
        for _ in range(operations):
            x = x + 1.0
            results.append(x)
        return results

    return program


def layers(operations: int) -> Program:
    """Products, which are calls, and what stands between them."""
    weights = [torch.randn(8, 8) / 3 for _ in range(operations // 4)]

    def program(x: torch.Tensor) -> torch.Tensor:
        for weight in weights:
            x = F.layer_norm(torch.relu(x @ weight) + x, (8,))
        return x

    return program


def lines(count: int, break_each: int = 0) -> Program:
    """A function with that many lines: operations on some variables, and graph breaks."""
    text = ["def program(x):", *(f"    x{i} = x + {i}" for i in range(VARIABLES))]
    for i in range(count - VARIABLES):
        a, b, c = (factor * i % VARIABLES for factor in (1, 7, 11))
        line = f"x{a} = torch.relu(x{b})" if i % 2 else f"x{a} = x{b} + x{c} * {i}.5"
        is_break = break_each and i % break_each == break_each - 1
        text.append("    capture.graph_break()" if is_break else f"    {line}")
    space: dict[str, Any] = {"torch": torch, "capture": capture}
    exec("\n".join([*text, "    return x0 + x1"]), space)
    program: Program = space["program"]
    return program


CASES: tuple[tuple[str, Program, str, float], ...] = (
    ("20,000 operations, in a chain", chain(20_000), "eager", CAPTURE_S),
    ("20,000 operations, all returned", all_returned(20_000), "eager", CAPTURE_S),
    ("2,000 operations as native code, in a chain", chain(2_000), "llvm", NATIVE_S),
    ("2,000 operations as native code, all returned", all_returned(2_000), "llvm", NATIVE_S),
    ("2,000 operations as native code, 500 layers", layers(2_000), "llvm", NATIVE_S),
    ("5,000 lines", lines(5_000), "eager", FUNCTION_S),
    ("5,000 lines, 50 graph breaks", lines(5_000, break_each=100), "eager", FUNCTION_S),
)


def first_call(program: Program, x: torch.Tensor) -> float:
    started = time.process_time()
    program(x)
    return time.process_time() - started


def main() -> None:
    header()
    pin()
    table = Targets("First calls of large programs, without the disk cache")
    x = torch.ones(8)
    with torch.no_grad(), capture.config.patch(disk_cache=False, max_instructions=10_000_000):
        for backend in ("eager", "llvm"):
            first_call(capture.compile(chain(4), backend=backend), x)  # loads what all of them need
        for name, program, backend, target in CASES:
            eager = first_call(program, x)
            captured = first_call(capture.compile(program, backend=backend), x)
            table.add(name, captured, target, " s", f"eager {eager:.3f} s")
    table.show()
    console.print("Each line is one measurement, in one process.")


if __name__ == "__main__":
    main()
