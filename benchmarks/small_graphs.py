"""What capture adds to and saves from small work: `python -m benchmarks.small_graphs`.

In:  nothing.
Out: times of x * y + 1 on 4 elements, with and without grad; of the first compilation; of the import; of a
     call of an empty function that is not captured.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable

import torch

import capture
from benchmarks.measure import Targets, compare, header, pretty

IMPORT_TARGET_MS = 150
COMPILE_TARGET_MS = 60
RUNS = 5

IMPORT = "import time, torch; s = time.process_time(); import capture; print(1e3 * (time.process_time() - s))"
FIRST_COMPILE = """
import time, torch, capture
def f(x, y): return x * y + 1
x, y = torch.randn(4), torch.randn(4)
s = time.process_time()
with torch.no_grad(), capture.config.patch(disk_cache=False), capture.enable():
    f(x, y)
print(1e3 * (time.process_time() - s))
"""


def axpy(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x * y + 1


def empty() -> None:
    pass


def in_region(table: Targets) -> None:
    """Calls as a training script makes them: the loop is inside `enable()`, and the function is called by
    name.
    """
    for grad, target in ((False, 0.15), (True, 0.8)):
        x, y = torch.randn(4), torch.randn(4, requires_grad=grad)
        loop = repeat_call(axpy, x, y)

        with torch.set_grad_enabled(grad):
            results = compare({"eager": loop, "capture": inside_of_region(loop)}, 1.0)
        eager, ours = (results[name].seconds / LOOP for name in ("eager", "capture"))
        name = "x * y + 1 on 4 elements, " + ("forward with grad" if grad else "no grad")
        noise = ", ".join(f"{key} ±{timing.noise:.0%}" for key, timing in results.items())
        table.add(name, ours / eager, target, " of eager", f"{pretty(ours)} / {pretty(eager)}, {noise}")


LOOP = 1000


def repeat_call(function: Callable[..., object], *args: object) -> Callable[[], None]:
    """LOOP calls of `function` from a Python frame that is not captured itself."""

    @capture.disable(recursive=False)
    def loop() -> None:
        for _ in range(LOOP):
            function(*args)

    return loop


def inside_of_region(loop: Callable[[], None]) -> Callable[[], None]:
    def enabled() -> None:
        with capture.enable():
            loop()

    return enabled


def empty_calls(table: Targets) -> None:
    """A function that capture does not touch, called outside and inside of `enable()`."""
    loop = repeat_call(empty)

    results = compare({"outside": loop, "inside": inside_of_region(loop)}, 1.0)
    outside, within = results["outside"].seconds / LOOP, results["inside"].seconds / LOOP
    table.add(
        "an empty function, inside of enable()",
        1e9 * (within - outside),
        50,
        " ns",
        f"outside {pretty(outside)}, inside {pretty(within)}",
    )


def in_new_processes(table: Targets) -> None:
    for name, program, target in (
        ("import capture, after torch", IMPORT, IMPORT_TARGET_MS),
        ("first compile, x * y + 1", FIRST_COMPILE, COMPILE_TARGET_MS),
    ):
        times = [
            float(
                subprocess.run(
                    [sys.executable, "-c", program], capture_output=True, check=True, text=True
                ).stdout
            )
            for _ in range(RUNS)
        ]
        table.add(
            name,
            statistics.median(times),
            target,
            " ms",
            f"{RUNS} processes, {min(times):.1f} to {max(times):.1f}",
        )


def main() -> None:
    header()
    table = Targets("Small graphs")
    in_region(table)
    empty_calls(table)
    in_new_processes(table)
    table.show()


if __name__ == "__main__":
    main()
