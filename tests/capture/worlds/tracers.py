"""Worlds in which somebody begins, or ends, to follow what the thread runs: trace and profile functions,
profilers, the tracers of torch.

Each row: name, what makes the state, the called function, the change. A follower notes what it sees of the
functions of this module, and the calls return its notes.
"""

from __future__ import annotations

import cProfile
import sys
import threading
import types
from typing import Any

import torch

from tests.capture.worlds.registry import X, add_rows


class Follower:
    """Its notes: (event, name of the function, line in it)."""

    def __init__(self, also_opcodes: bool = False, only_calls: bool = False) -> None:
        self.before = sys.gettrace(), sys.getprofile()
        self.notes: list[tuple[str, str, int]] = []
        self.also_opcodes, self.only_calls = also_opcodes, only_calls
        self.profiler = cProfile.Profile()

    def __call__(self, frame: types.FrameType, event: str, value: Any) -> Any:
        if frame.f_code not in FOLLOWED:
            return None
        self.notes.append((event, frame.f_code.co_name, frame.f_lineno - frame.f_code.co_firstlineno))
        frame.f_trace_opcodes = self.also_opcodes
        return None if self.only_calls else self

    def restore(self) -> None:
        sys.settrace(self.before[0])
        sys.setprofile(self.before[1])
        threading.settrace(None)  # type: ignore[arg-type]


def helper(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 1


def body(follower: Follower) -> Any:
    total = torch.zeros(())
    for k in range(2):
        total = total + helper(X * k).sum()
    notes = list(follower.notes)
    follower.notes.clear()
    return total, notes


def body_that_raises(follower: Follower) -> Any:
    try:
        helper(X[9])
    except IndexError as error:
        return X.sum(), str(error), list(follower.notes)
    return None


def body_in_a_thread(follower: Follower) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(body(follower)))
    thread.start()
    thread.join()
    return found[0]


def body_that_begins(follower: Follower) -> Any:
    sys.settrace(follower)
    result = helper(X)
    sys.settrace(None)
    return result, list(follower.notes)


FOLLOWED = {helper.__code__, body.__code__, body_that_raises.__code__}


def traced(follower: Follower) -> Any:
    module = torch.jit.trace(helper, (X,), check_trace=False)
    return helper(X), module(X * 2)


def symbolically_traced(follower: Follower) -> Any:
    return torch.fx.symbolic_trace(helper)(X), helper(X)


def only_calls() -> Follower:
    return Follower(only_calls=True)


def with_opcodes() -> Follower:
    return Follower(also_opcodes=True)


def followed() -> Follower:
    follower = Follower()
    sys.settrace(follower)
    return follower


def profiled() -> Follower:
    follower = Follower()
    sys.setprofile(follower)
    return follower


def trace(follower: Follower) -> None:
    sys.settrace(follower)


def profile(follower: Follower) -> None:
    sys.setprofile(follower)


add_rows(
    "tracer",
    [
        ("begins", Follower, body, trace),
        ("of_calls_begins", only_calls, body, trace),
        ("of_opcodes_begins", with_opcodes, body, trace),
        ("ends", followed, body, lambda follower: sys.settrace(None)),
        ("becomes_a_profiler", followed, body, lambda f: (sys.settrace(None), sys.setprofile(f))),
        ("meets_an_error", Follower, body_that_raises, trace),
        ("of_a_thread", Follower, body_in_a_thread, lambda follower: threading.settrace(follower)),
        ("begins_inside", Follower, body_that_begins, lambda follower: None),
        ("profiler_begins", Follower, body, profile),
        ("profiler_ends", profiled, body, lambda follower: sys.setprofile(None)),
        ("profiler_meets_an_error", Follower, body_that_raises, profile),
        ("c_profiler_begins", Follower, body, lambda follower: follower.profiler.enable()),
        ("torchscript", Follower, traced, trace),
        ("symbolic", Follower, symbolically_traced, trace),
    ],
)
