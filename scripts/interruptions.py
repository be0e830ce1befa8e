"""Interrupts captures at any point, and looks whether the program goes on right.

    python scripts/interruptions.py memory 100 eager    # no memory at one of 100 calls of a capture
    python scripts/interruptions.py memory all llvm     # at each call
    python scripts/interruptions.py kill 100            # kill -9 while machine code is compiled and stored
    python scripts/interruptions.py interrupt 100       # SIGINT at random moments

Out: a line of JSON with what was counted; exit status 1 and a line for each failure where something is wrong.

- No memory: the call raises MemoryError or gives a result, and the next two calls are right.
- Kill: the store has no half-written object, and the next process computes the right result.
- SIGINT: KeyboardInterrupt arrives once, and the next call is right.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import torch

import capture
from capture.frame.convert import Converter

torch.set_num_threads(1)  # it forks, and OpenMP's threads do not live on in the child
LONGEST = 20.0  # seconds that a signal may take to arrive


class Helper:
    scale = 2.0

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale


HELPER = Helper()


def program(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """A graph break, a loop, containers, an object, a backward behind it."""
    y = torch.tanh(x @ w)
    made = {"a": y, "b": [1, 2, x]}
    if y.sum() > 100:
        return (y,)
    for k in range(2):
        y = HELPER(y) + k * x
    made["c"] = y.relu().softmax(1)
    return made["c"] * 2, made["b"][2] + 1


def run(function: Any) -> list[torch.Tensor]:
    """Results and gradients."""
    torch.manual_seed(0)
    x, w = torch.randn(5, 5), torch.randn(5, 5, requires_grad=True)
    results = function(x, w)
    results[0].square().sum().backward()
    return [*results, w.grad]


EXPECTED = run(program)


def problem(function: Any) -> str | None:
    """What is wrong with a call."""
    if not torch.is_grad_enabled():
        return "gradients are off"
    try:
        results = run(function)
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    same = all(torch.allclose(a, b, atol=1e-6) for a, b in zip(results, EXPECTED, strict=True))
    return None if same else "a wrong result"


def fresh(backend: str = "llvm") -> Any:
    capture.reset()
    return capture.compile(program, backend=backend)


class Report:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []

    def check(self, when: str, found: str | None) -> None:
        if found is not None:
            self.failures.append(f"{when}: {found}")

    def finish(self) -> int:
        print(json.dumps(self.counts), flush=True)
        for failure in self.failures:
            print(failure, flush=True)
        return 1 if self.failures else 0


# --- no memory --------------------------------------------------------------------------------------------


OURS = tuple(
    os.path.join(Path(__file__).parents[1], name, "") for name in ("capture", "codegen", "guards", "cache")
)


class NoMemoryAt:
    """Raises MemoryError at the n-th call of a function of ours while a frame is converted.

    It is not done by the allocator: torch's own functions crash where Python can make no object for them.
    """

    def __init__(self) -> None:
        self.calls, self.point = 0, -1
        convert = Converter._convert

        def watched(converter: Converter, frame: Any) -> Any:
            sys.setprofile(self.count)
            try:
                return convert(converter, frame)
            finally:
                sys.setprofile(None)

        Converter._convert = watched  # type: ignore[method-assign]

    def count(self, frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            self.calls += 1
            if self.calls == self.point:
                raise MemoryError("at this call")

    def begin(self, point: int) -> None:
        self.calls, self.point = 0, point


def without_memory(failing: NoMemoryAt, point: int, backend: str, report: Report) -> None:
    function = fresh(backend)
    failing.begin(point)
    try:
        run(function)
        report.counts["results"] += 1
    except MemoryError:
        report.counts["MemoryError"] += 1
    except BaseException as error:
        report.check(f"call {point}", f"{type(error).__name__}: {str(error)[:200]}")
    failing.begin(-1)
    for _ in range(2):
        report.check(f"the call after call {point}", problem(function))


def memory(amount: str, backend: str = "llvm") -> int:
    report = Report()
    capture.config.disk_cache = False
    report.check("before", problem(fresh(backend)))
    failing = NoMemoryAt()
    function = fresh(backend)
    failing.begin(-1)
    run(function)
    total = report.counts["calls of a capture"] = failing.calls
    step = 1 if amount == "all" else max(1, total // int(amount))
    for point in range(1 + random.randrange(step), total + 1, step):
        print(f"call {point}", file=sys.stderr, flush=True)  # the last one before a crash
        without_memory(failing, point, backend, report)
    return report.finish()


# --- kill -9 ----------------------------------------------------------------------------------------------


def forked(function: Any, delay: float | None = None) -> int:
    """Run the function in a child, which is killed after `delay`. Returns its exit status, or -9."""
    child = os.fork()
    if child == 0:
        status = 1
        with contextlib.suppress(BaseException):
            status = function()
        os._exit(status)
    if delay is not None:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def compile_and_check() -> int:
    return 0 if problem(fresh()) is None else 2


def half_written(folder: Path) -> list[str]:
    """Objects that are not whole: reading them reports and removes them."""
    from cache.store import _HEADER, _header

    named = [path for path in folder.glob("*/*") if path.suffix != ".tmp"]  # nobody reads temporary names
    contents = {path: path.read_bytes() for path in named}
    return [
        str(path)
        for path, content in contents.items()
        if content[:_HEADER] != _header(path.name, content[_HEADER:])
    ]


def kill(amount: str) -> int:
    report = Report()
    with tempfile.TemporaryDirectory(prefix="capture-kill-") as name, capture.config.patch(cache_dir=name):
        folder = Path(name)
        report.check("before", None if forked(compile_and_check) == 0 else "the first process fails")
        # The first one also compiled our modules to bytecode: it says nothing of how long the others take.
        empty(folder)
        started = time.perf_counter()
        forked(compile_and_check)
        longest = time.perf_counter() - started
        for number in range(int(amount)):
            empty(folder)
            status = forked(compile_and_check, random.uniform(0, longest))
            report.counts["killed" if status == -signal.SIGKILL else "ended before"] += 1
            report.counts["files left"] += len(list(folder.glob("*/*")))
            for path in half_written(folder):
                report.check(f"kill {number}", f"{path} is half written")
            if forked(compile_and_check) != 0:
                report.check(f"kill {number}", "the next process is not right")
    return report.finish()


def empty(folder: Path) -> None:
    for path in folder.glob("*/*"):
        path.unlink()


# --- SIGINT -----------------------------------------------------------------------------------------------


def interrupted(function: Any, delay: float) -> int:
    """Run the function; SIGINT comes after `delay`. Returns how many KeyboardInterrupts arrived.

    Python itself ignores one that arrives in a callback of a weak reference.
    """
    arrived = 0
    sent = threading.Event()
    ignored: list[Any] = []
    sys.unraisablehook = lambda told: ignored.append(told.exc_type)

    def send() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        sent.set()

    timer = threading.Timer(delay, send)
    try:
        timer.start()  # it waits for the thread: a short delay may be over by then
        run(function)
        sent.wait(LONGEST)
        time.sleep(0.01)
    except KeyboardInterrupt:
        arrived += 1
    try:
        timer.join()
        time.sleep(0.001)
    except KeyboardInterrupt:
        arrived += 1
        timer.join()
    sys.unraisablehook = sys.__unraisablehook__
    return arrived + ignored.count(KeyboardInterrupt)


def interrupt(amount: str, backend: str = "llvm") -> int:
    report = Report()
    capture.config.disk_cache = False
    report.check("before", problem(fresh(backend)))
    started = time.perf_counter()
    run(fresh(backend))
    longest = time.perf_counter() - started
    for number in range(int(amount)):
        delay = random.uniform(0, longest)
        function = fresh(backend)
        arrived = interrupted(function, delay)
        report.counts["arrived"] += arrived
        if arrived != 1:
            report.check(f"SIGINT {number} after {delay:.4f} s", f"{arrived} KeyboardInterrupts arrived")
        for _ in range(2):
            report.check(f"the call after SIGINT {number}, {delay:.4f} s", problem(function))
    return report.finish()


if __name__ == "__main__":
    faulthandler.enable()
    warnings.simplefilter("ignore")
    random.seed(int(os.environ.get("CAPTURE_SEED", time.time())))
    kinds: dict[str, Any] = {"memory": memory, "kill": kill, "interrupt": interrupt}
    raise SystemExit(kinds[sys.argv[1]](*sys.argv[2:]))
