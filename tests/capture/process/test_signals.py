"""Signals during a capture: the program's handler runs after it, with the thread in its own state."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import capture
from capture.hooks import regions, switch
from capture.process.signals import deferred
from capture.report.config import config
from capture.report.counters import counters


class Interrupted(Exception):
    pass


@pytest.fixture
def calls() -> Iterator[list[str]]:
    seen: list[str] = []

    def handler(number: int, frame: Any) -> None:
        seen.append(frame.f_code.co_name)
        raise Interrupted

    before = signal.signal(signal.SIGUSR1, handler)
    yield seen
    assert signal.getsignal(signal.SIGUSR1) is handler
    signal.signal(signal.SIGUSR1, before)


def signalling(module: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
    signal.raise_signal(signal.SIGUSR1)
    return module.forward


def test_handler_runs_behind_the_capture(calls: list[str]) -> None:
    def double(x):
        return x * 2

    run = capture.compile(double, backend=signalling)
    before = counters["frames"]["captured"]
    with config.patch(raise_on_error=True):
        with pytest.raises(Interrupted):
            run(torch.ones(3))
        assert len(calls) == 1
        assert torch._C._len_torch_dispatch_stack() == 0
        assert torch.equal(run(torch.ones(3)), torch.full((3,), 2.0))
    assert counters["frames"]["captured"] == before + 1  # the work was not lost


def test_blocks_nest_and_put_everything_back(calls: list[str]) -> None:
    interrupt = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted), deferred(), deferred():
        signal.raise_signal(signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
        assert not calls
    assert len(calls) == 1
    assert signal.getsignal(signal.SIGINT) is interrupt


def test_other_threads_have_no_handlers(calls: list[str]) -> None:
    def in_thread() -> None:
        with deferred():
            threads.append(signal.getsignal(signal.SIGUSR1))

    threads: list[Any] = []
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    assert threads == [signal.getsignal(signal.SIGUSR1)]


def test_the_timer_strikes_anywhere() -> None:
    """At any instruction: the thread is usable and the next call is correct."""

    def strike(number: int, frame: Any) -> None:
        while frame is not None and frame.f_code.co_filename not in (regions.__file__, switch.__file__):
            frame = frame.f_back
        if frame is None:  # (a block that is interrupted during its exit stays open, as in Python)
            raise Interrupted

    previous = signal.signal(signal.SIGALRM, strike)
    try:
        for round_ in range(40):
            namespace: dict[str, Any] = {}
            exec(
                f"def f(x):\n y = x + {round_}\n for i in range(4): y = y.sin() * 2 + i\n return y", namespace
            )
            expected = namespace["f"](torch.ones(3))
            try:  # on a busy machine the timer may strike before the block and after it, too
                signal.setitimer(signal.ITIMER_REAL, 0.0003 + round_ * 0.0003)
                with capture.enable(backend="eager"):
                    namespace["f"](torch.ones(3))
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupted:
                pass
            with capture.enable(backend="eager"):
                assert torch.allclose(namespace["f"](torch.ones(3)), expected)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
