"""Lets one allocation of Python fail in a capture, or in a call of what was captured.

    python scripts/failing_allocations.py capture 300 eager    # 300 of the allocations of a capture
    python scripts/failing_allocations.py call all llvm        # each one of a captured call

Out: a line of JSON with what was counted; exit status 1 and a line for each failure where something is wrong.

The call raises MemoryError or gives a result; the thread is in the same state as before; the next two calls
are right. Each point has a process of its own, because torch and Python crash at some of them: torch where it
does not look whether an object could be made, Python 3.11 where its compiler fails (`PYTHONS`). gdb says in
whose code a process crashed, and in whose code the allocation failed.
"""

from __future__ import annotations

import _testcapi
import contextlib
import faulthandler
import gc
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from typing import Any

import torch
from interruptions import Report, fresh, problem, program, run

import capture

MEMORY_ERROR, RESULT, WRONG = 10, 11, 12  # exit statuses
LAST = 1 << 20  # no capture of the program makes as many allocations
NEAR = (0, 1, -1, 2, -2, 3, -3)  # under gdb, a process may make some allocations more or less
ATTEMPTS = 2  # a process that crashed because it read freed memory may go on the next time
# Functions of Python that let go of objects they don't hold when an allocation fails in them. The process
# crashes later, anywhere. `assemble` of 3.11 clears fields that it has not set yet.
PYTHONS = ("_PyAST_Compile",)
HOOKS = ("hook_fmalloc", "hook_fcalloc", "hook_frealloc")  # of _testcapi
NO_RESULT = "Unable to convert function return value"  # a TypeError: pybind11's word for no memory
EVAL = " _PyEval_EvalFrameDefault ("
C_LIBRARY = ("libc.so.6", "libpthread.so.0")
Stack = list[str]


def state() -> tuple[Any, ...]:
    """What a call must not change."""
    c = torch._C
    keys = c._dispatch_tls_local_include_set().raw_repr(), c._dispatch_tls_local_exclude_set().raw_repr()
    stacks = c._len_torch_dispatch_stack(), c._len_torch_function_stack()
    return (*keys, *stacks, torch.is_grad_enabled(), gc.isenabled(), signal.getsignal(signal.SIGINT))


def outcome(kind: str, point: int, backend: str) -> int:
    """What comes of a call whose allocation number `point` fails."""
    function = fresh(backend)
    x, w = torch.randn(5, 5), torch.randn(5, 5, requires_grad=True)
    expected = program(x, w)
    for _ in range(2 if kind == "call" else 0):
        run(function)
    before, results, error = state(), None, None
    _testcapi.set_nomemory(point, point + 1)
    try:
        results = function(x, w)
    except BaseException as raised:
        error = raised
    _testcapi.remove_mem_hooks()
    found = []
    if state() != before:
        found.append(f"the state {before} became {state()}")
    if error is not None and not isinstance(error, MemoryError) and NO_RESULT not in str(error):
        found.append(f"{type(error).__name__}: {str(error)[:200]}")
    if results is not None and not all(map(torch.allclose, results, expected)):
        found.append("a wrong result")
    found += filter(None, (problem(function) for _ in range(2)))
    for text in found:
        print(f"allocation {point}: {text}", flush=True)
    return WRONG if found else MEMORY_ERROR if error is not None else RESULT


def in_child(kind: str, point: int, backend: str) -> int:
    """The exit status of a process of its own; a negative one is the signal that ended it."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = WRONG
        with contextlib.suppress(BaseException), open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            status = outcome(kind, point, backend)
        sys.stdout.flush()
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def crashed_in(kind: str, point: int, backend: str) -> str:
    """Whose code a process crashes in at this point, and the function there."""
    if shutil.which("gdb") is None:
        return "unknown: gdb is needed to see where"
    crash: Stack = []
    for near in NEAR * ATTEMPTS:
        failing, crash = stacks_of_crash(kind, point + near, backend)
        if crash:
            break
    else:
        return "unknown: it did not crash again"
    return who_crashed(failing, crash)


def who_crashed(failing: Stack, crash: Stack) -> str:
    """In:  the stacks, innermost frame first, at the allocation that fails and at the crash.

    It is Python's own crash if that comes in the call of Python's in which the allocation failed, or if the
    allocation failed in one of `PYTHONS`.

    Every call of Python passes `eval_frame` of ours, which only calls Python's own.
    """
    for depth, line in enumerate(crash):
        if "/torch/lib/" in line:
            return "torch: " + line[:160]
        if "native/" in line and (depth == 0 or " eval_frame (" not in line):
            return "capture: " + line[:160]
    for line in failing:
        if any(f" {function} (" in line for function in PYTHONS):
            return "python: " + line[:160]
        if EVAL in line:
            break
    if is_one_call_of_python(failing, crash):
        return "python: " + crash[0][:160]
    return "unknown: " + " | ".join(crash[:6])[:400]


def is_one_call_of_python(failing: Stack, crash: Stack) -> bool:
    """Whether the process crashes in the very call of a function of Python's in which the allocation failed,
    before any bytecode has run, and with no code but Python's own in between.
    """
    calls = [called_by_bytecode(stack) for stack in (failing, crash)]
    is_own = not any(" from /" in line or "native/" in line for call in calls for line in call)
    ends = [call[-1].partition(" in ")[2] for call in calls if call]  # the function and its arguments
    return is_own and len(ends) == 2 and ends[0] == ends[1] != ""


def called_by_bytecode(stack: Stack) -> Stack:
    """The frames of C above the innermost bytecode. Those of the C library abort and copy for any caller."""
    above = list(itertools.takewhile(lambda line: EVAL not in line, stack))
    if len(above) == len(stack):
        return []
    return [line for line in above if not line.rstrip().endswith(C_LIBRARY)]


def stacks_of_crash(kind: str, point: int, backend: str) -> tuple[Stack, Stack]:
    """The stacks at the allocation that fails and at the crash; empty if it does not come to that."""
    breaks = [f"break {hook} if FmData.count == {point}" for hook in HOOKS]
    steps = ["set follow-fork-mode child", "set breakpoint pending on", *breaks, "run"]
    steps += ["bt 60", "delete", "echo CONTINUED\\n", "continue", "bt 60", "kill"]
    program = [sys.executable, __file__, "point", str(point), backend, kind]
    command = ["gdb", "-q", "-batch", *(word for step in steps for word in ("-ex", step)), "--args", *program]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False).stdout
    first, _, second = shown.partition("CONTINUED\n")
    if "received signal" in first:  # no symbols: it never stopped at the allocation
        return [], frames_of(first)
    return frames_of(first), frames_of(second) if "received signal" in second else []


def frames_of(text: str) -> Stack:
    return [line for line in text.splitlines() if line.startswith("#")]


def points(kind: str, amount: str, backend: str, report: Report) -> range:
    """The allocations that fail: so many, spread over all of the call."""
    low, high = 0, LAST
    while high - low > 16:
        middle = (low + high) // 2
        # Some allocations may fail without an error; behind the last one none gives an error.
        statuses = [in_child(kind, middle + more, backend) for more in (0, 1, 5, 50)]
        report.check(f"allocation {middle}", "see above" if WRONG in statuses else None)
        is_behind = all(status == RESULT for status in statuses)
        low, high = (low, middle) if is_behind else (middle, high)
    step = 1 if amount == "all" else max(1, high // int(amount))
    return range(random.randrange(step), high, step)


def main(kind: str, amount: str, backend: str = "llvm", of: str = "") -> int:
    report = Report()
    capture.config.disk_cache = False
    report.check("before", problem(fresh(backend)))
    if kind == "point":
        return in_child(of, int(amount), backend)
    names = {MEMORY_ERROR: "MemoryError", RESULT: "results", WRONG: "wrong"}
    failing = points(kind, amount, backend, report)
    report.counts["allocations"] = failing.stop
    for point in failing:
        status = in_child(kind, point, backend)
        where = "" if status > 0 else crashed_in(kind, point, backend)
        whose = where.partition(":")[0]
        is_foreign = whose in ("torch", "python")
        report.counts[f"crashes of {whose}" if is_foreign else names.get(status, "crashes")] += 1
        if where:
            print(f"allocation {point}, signal {-status} in {where}", file=sys.stderr, flush=True)
        if status == WRONG or (where and not is_foreign):
            report.check(f"allocation {point}", where or "see above")
    return report.finish()


if __name__ == "__main__":
    faulthandler.enable()
    warnings.simplefilter("ignore")
    random.seed(int(os.environ.get("CAPTURE_SEED", time.time())))
    raise SystemExit(main(*sys.argv[1:]))
