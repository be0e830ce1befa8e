"""A process forks while another of its threads captures: the child can capture too."""

from __future__ import annotations

import os
import signal
import threading

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
