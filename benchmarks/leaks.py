"""What stays in memory of functions that were captured and dropped, in bytes and in blocks of Python.

In:  programs that make a function, capture it, call it and drop it.
Out: a table; an error if memory stays. `python -m benchmarks.leaks [warm-up] [calls]`

    function    0 bytes   0.0 blocks    a call, a recompile, a dropped function: see PROGRAMS
"""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

import capture

X = torch.randn(16)
BATCH = torch.randn(2, 4)
_watched: list[weakref.ref[Any]] = []  # code objects and backends


_FIELDS = (
    *("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks"),
    *("fsmblks", "uordblks", "fordblks", "keepcost"),
)


class _Usage(ctypes.Structure):
    """The result of the C library's `mallinfo2`."""

    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS]


@dataclass(frozen=True)
class Left:
    """What one call leaves: bytes of the C library, blocks of Python's allocator. alive: what is not dead."""

    bytes: float
    blocks: float
    alive: int

    @property
    def stays(self) -> bool:
        """Tables grow in steps, so a few blocks may be new. A leak has some in each call."""
        return self.alive > 0 or self.blocks >= 3 or self.bytes >= 1500


def _bytes_in_use() -> int:
    function = ctypes.CDLL(None).mallinfo2
    function.restype = _Usage
    usage = function()
    return int(usage.uordblks + usage.hblkhd)


def _collect() -> None:
    """What dies with a code object may leave a cycle behind: so one collection is not enough."""
    while gc.collect():
        pass


ROUNDS = 3


def measure(program: Callable[[int], None], warm_up: int, calls: int) -> Left:
    """The growth over `calls` calls, after a warm-up. The argument counts the calls.

    Where something stays it is measured again: a table grows in one round, a leak in each.
    """
    for number in range(warm_up):
        program(number)
    for start in range(warm_up, warm_up + ROUNDS * calls, calls):
        left = _growth(program, range(start, start + calls))
        if left.alive or not left.stays:
            break
    return left


def _growth(program: Callable[[int], None], numbers: range) -> Left:
    calls = len(numbers)
    _watched.clear()
    _collect()
    blocks, used = sys.getallocatedblocks(), _bytes_in_use()
    for number in numbers:
        program(number)
    _collect()
    alive = sum(reference() is not None for reference in _watched)
    _watched.clear()
    gc.collect()
    return Left((_bytes_in_use() - used) / calls, (sys.getallocatedblocks() - blocks) / calls, alive)


def _made(source: str) -> Any:
    """The function `f` of a new namespace, which holds it too."""
    space: dict[str, Any] = {"torch": torch}
    exec(source, space)
    _watched.append(weakref.ref(getattr(space["f"], "forward", space["f"]).__code__))
    return space["f"]


SIMPLE = "def f(x): return (x * {}.5 + 1).sin()"
BROKEN = """
def f(x):
    y = (x * {}.5 + 1).sin()
    if y.sum() > 3:
        return y + 1
    return y * 2
"""
MODULE = """
class f(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
    def forward(self, x):
        return self.linear(x).relu() * {}.5
"""


def dropped_function(number: int) -> None:
    capture.compile(_made(SIMPLE.format(number % 3)))(X)


def dropped_function_with_a_break(number: int) -> None:
    capture.compile(_made(BROKEN.format(number % 3)))(X)


def dropped_function_eager(number: int) -> None:
    capture.compile(_made(SIMPLE.format(number % 3)), backend="eager")(X)


def _backend() -> Any:
    kept = bytes(100_000)

    def backend(gm: torch.fx.GraphModule, inputs: Any, *, number: int = 0) -> Any:
        return lambda *args: gm.forward(*args) if kept else None

    _watched.append(weakref.ref(backend))
    return backend


def dropped_backend(number: int) -> None:
    capture.compile(_made(SIMPLE.format(number % 3)), backend=_backend())(X)


def dropped_backend_with_options(number: int) -> None:
    options = {"number": number}
    capture.compile(_made(SIMPLE.format(number % 3)), backend=_backend(), options=options)(X)


def dropped_backend_of_a_module(number: int) -> None:
    capture.compile(_made(MODULE.format(number % 3))(), backend=_backend())(BATCH).sum().backward()


def dropped_backend_of_a_block(number: int) -> None:
    function = _made(SIMPLE.format(number % 3))
    with capture.enable(backend=_backend()):
        function(X)


def dropped_backend_of_a_kept_function(number: int) -> None:
    capture.compile(_kept, backend=_backend())(X)
    if number % 64 == 63:
        capture.reset()  # or the limit of all its entries would stop the captures


def dropped_module(number: int) -> None:
    capture.compile(_made(MODULE.format(number % 3))())(BATCH).sum().backward()


def dropped_explanation(number: int) -> None:
    str(capture.explain(_made(SIMPLE.format(number % 3)))(X))


def dropped_function_of_two_sizes(number: int) -> None:
    fast = capture.compile(_made(SIMPLE.format(number % 3)))
    fast(X)
    fast(X[:5])


def block(number: int) -> None:
    function = _made(SIMPLE.format(number % 3))
    with capture.enable():
        function(X)


def _kept(x: torch.Tensor) -> torch.Tensor:
    return x * 2 + 1


def recompile(number: int) -> None:
    with capture.config.patch(dynamic=False):
        capture.compile(_kept)(X[: number % 16 + 1])
    if number % 4 == 3:
        capture.reset()


_fast = capture.compile(lambda x: x * 3 + 1)


def call(number: int) -> None:
    _fast(X)


def reset(number: int) -> None:
    capture.reset()


PROGRAMS: dict[str, Callable[[int], None]] = {
    program.__name__: program
    for program in (
        dropped_function,
        dropped_function_with_a_break,
        dropped_function_eager,
        dropped_backend,
        dropped_backend_with_options,
        dropped_backend_of_a_module,
        dropped_backend_of_a_block,
        dropped_backend_of_a_kept_function,
        dropped_module,
        dropped_explanation,
        dropped_function_of_two_sizes,
        block,
        recompile,
        call,
        reset,
    )
}


def main(warm_up: int = 300, calls: int = 2000) -> None:
    failed = []
    for name, program in PROGRAMS.items():
        left = measure(program, warm_up, calls)
        print(f"{name:32}{left.bytes:10.1f} bytes{left.blocks:8.2f} blocks{left.alive:6d} objects a call")
        failed += [name] if left.stays else []
    if failed:
        sys.exit(f"memory stays: {', '.join(failed)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
