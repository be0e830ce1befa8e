"""A process forks while another of its threads captures, or in an operator of a graph: the child can capture,
and sees its signals.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import torch

import capture

X = torch.arange(12.0)
SECONDS = 20


def captured_sum(number: int) -> float:
    namespace: dict[str, object] = {}
    exec(f"def scaled(x): return (x * {number} + 1).sum()", namespace)
    with capture.enable():
        return namespace["scaled"](X).item()  # type: ignore[operator]


def in_child() -> int:
    """0 if the child computes the expected value; the alarm kills a child that waits for a lock."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        right = captured_sum(5) == (X * 5 + 1).sum().item()
        os._exit(0 if right else 1)
    return os.waitpid(child, 0)[1]


def test_fork_while_another_thread_captures() -> None:
    done = threading.Event()
    found: list[float] = []

    def capture_on_and_on() -> None:
        while not done.is_set():
            found.append(captured_sum(2))

    captured_sum(3)
    thread = threading.Thread(target=capture_on_and_on)
    thread.start()
    try:
        statuses = [in_child() for _ in range(4)]
    finally:
        done.set()
        thread.join()
    assert statuses == [0] * 4
    assert set(found) == {(X * 2 + 1).sum().item()}


class Struck(Exception):
    pass


def strike(number: int, frame: Any) -> None:
    raise Struck


def status_of_child() -> int:
    """0 if a handler of the child runs at once, also behind a capture, and can be set."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    seen = 0
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        for number in (5, 6):
            try:
                signal.signal(signal.SIGUSR1, strike)
                signal.raise_signal(signal.SIGUSR1)
            except Struck:
                seen += 1
            captured_sum(number)
    finally:
        os._exit(0 if seen == 2 else 1)


_statuses: list[int] = []


@torch.library.custom_op("capture_forks::fork", mutates_args=())
def fork(x: torch.Tensor) -> torch.Tensor:
    _statuses.append(status_of_child())
    return x + 1


@fork.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def test_the_child_sees_its_signals() -> None:
    captured_sum(3)
    _statuses.append(status_of_child())
    thread = threading.Thread(target=lambda: _statuses.append(status_of_child()))
    thread.start()
    thread.join()
    capture.compile(lambda x: fork(x * 2) * 3)(X)
    assert len(_statuses) >= 3 and set(_statuses) == {0}
