"""Signals while something of ours runs: the program's handler runs behind it, with the thread in its own
state, and the `except`, `finally` and `with` blocks of the program see what it raises.
"""

from __future__ import annotations

import contextlib
import functools
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import _capture
import pytest
import torch

import capture
from capture.bytecode import turns
from capture.frame.convert import Converter
from capture.hooks import python_capture, regions, running_loops, switch
from capture.policy import foresight, patience
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


@pytest.fixture
def alarm(calls: list[str]) -> Iterator[None]:
    """The timer has the handler of `calls`."""
    before = signal.signal(signal.SIGALRM, signal.getsignal(signal.SIGUSR1))
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def restored() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR1)
    yield
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


# --- where the program sees what the handler raises --------------------------------------------------------


@contextlib.contextmanager
def noted(log: list[str]) -> Iterator[None]:
    try:
        yield
    finally:
        log.append("left")


def guarded(x: torch.Tensor, log: list[str]) -> torch.Tensor:
    try:
        with noted(log):
            x = x * 2
            capture.graph_break()
            x = x + 1
            capture.graph_break()
            x = x.sin()
        log.append("went through")
    except Interrupted:
        log.append("caught")
    finally:
        log.append("finally")
    capture.graph_break()
    return x + 1


def strikes(function: Any, names: set[str], at: int, met: list[str]) -> Any:
    """The function, with a signal in its `at`-th run for a frame or code of one of these names."""

    @functools.wraps(function)
    def striking(*args: Any, **kwargs: Any) -> Any:
        for part in args:
            code = getattr(part, "code", part)
            name = getattr(code, "co_name", None)
            if name in names:
                met.append(name)
                if len(met) == at + 1:
                    signal.raise_signal(signal.SIGUSR1)
        return function(*args, **kwargs)

    return striking


def captures_cost(ns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("UNIT_NS", "LEAST_NS", "FIRST_NS", "TURN_NS"):
        monkeypatch.setattr(patience, name, ns)


def strikes_at_once(function: Any) -> Any:
    def striking(*args: Any) -> Any:
        signal.raise_signal(signal.SIGUSR1)
        return function(*args)

    return striking


def as_ours(function: Any) -> Any:
    """The function, as if it stood in one of our files."""
    function.__code__ = function.__code__.replace(co_filename=turns.__file__)
    return function


@pytest.mark.parametrize("at", range(3))
def test_a_signal_in_any_capture_of_a_function(
    at: int, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handler runs at the next place of the program: ahead of the `with`, in it, behind the blocks."""
    capture.reset()
    met: list[str] = []
    monkeypatch.setattr(Converter, "_convert", strikes(Converter._convert, {"guarded"}, at, met))
    log: list[str] = []
    with config.patch(when="first", raise_on_error=True):
        run = capture.compile(guarded)
        try:
            run(torch.ones(3), log)
        except Interrupted:
            log.append("raised")
    assert len(calls) == 1 and len(met) > at
    behind = ["left", "went through", "finally", "raised"]
    assert log in (["caught", "finally"], ["left", "caught", "finally"], behind)


@pytest.mark.parametrize("callback", ["kind", "twin", "outlook", "judge"])
def test_a_signal_in_a_callback_of_the_policy(
    callback: str, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`main` is no frame that can be captured: its block begins in it."""
    capture.reset()

    def step(x: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            x = x * 0.5 + 1
        return x

    def main() -> list[str]:
        x, log = torch.ones(3), []
        with contextlib.suppress(Interrupted):
            try:
                with capture.enable():
                    while len(log) < 3000:
                        x = step(x)
                        log.append("step")
            finally:
                log.append("finally")
        return log

    met: list[str] = []
    captures_cost(1 if callback == "outlook" else 0, monkeypatch)
    nothing = strikes(lambda _: None, {"step"}, 0, met)

    def outlook(learned: Any = None) -> None:
        nothing(step.__code__)

    names = {"step", "main"}
    replaced = outlook if callback == "outlook" else strikes(getattr(patience, callback), names, 0, met)
    monkeypatch.setattr(patience, callback, replaced)
    with config.patch(when="hot"):
        log = main()
    assert met, "nobody was asked"
    assert len(calls) == 1 and log[-1] == "finally"
    assert switch.native_callback()[0] is None


def test_a_signal_where_a_frame_leaves_its_loop(calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def main(log: list[str]) -> None:
        x = torch.ones(3)
        try:
            for _ in range(200):
                x = x * 0.5 + 1
        except Interrupted:
            log.append("caught")
        finally:
            log.append("finally")

    captures_cost(0, monkeypatch)
    monkeypatch.setattr(foresight, "share_done", lambda frame: None)
    monkeypatch.setattr(turns, "_names_to_pass", as_ours(strikes_at_once(turns._names_to_pass)))
    log: list[str] = []
    with config.patch(when="hot"), capture.enable(), contextlib.suppress(Interrupted):
        main(log)
    assert len(calls) == 1
    assert log in (["caught", "finally"], ["finally"])  # the rest may be captured at once, up to that call


def test_a_signal_where_the_rest_of_a_frame_begins(calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_loops, "_made", strikes_at_once(running_loops._made))
    monkeypatch.setattr(running_loops, "LEAST_NS", 0)

    def main(log: list[str]) -> None:
        x = torch.ones(3)
        try:
            with capture.enable():
                for _ in range(20):
                    x = x * 0.5 + 1
        except Interrupted:
            log.append("caught")
        finally:
            log.append("finally")

    log: list[str] = []
    with config.patch(when="hot"):
        main(log)
    assert calls == ["main"] and log == ["caught", "finally"]
    assert switch.native_callback()[0] is None


def test_a_block_ends_before_a_signal_is_seen(calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the last graph in it has met the signal: the next place is the end of the block."""

    def strike_at_the_end(state: switch.HookState) -> switch.HookState:
        if state == switch.OFF and switch.current() != switch.OFF:
            signal.raise_signal(signal.SIGUSR1)
        return switched(state)

    switched = switch.switch
    monkeypatch.setattr(switch, "switch", as_ours(strike_at_the_end))
    with pytest.raises(Interrupted), capture.enable():
        assert switch.current() != switch.OFF
    assert len(calls) == 1 and switch.current() == switch.OFF and not regions._open.stack


def test_a_block_that_is_interrupted_as_it_begins_is_none(
    calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def main() -> None:
        with capture.enable():
            calls.append("went on")
            for _ in range(3):
                pass

    monkeypatch.setattr(running_loops, "follow", strikes_at_once(running_loops.follow))
    with pytest.raises(Interrupted), config.patch(when="hot"):
        main()
    assert switch.current() == switch.OFF and not _capture.is_followed() and not regions._open.stack
    assert "went on" not in calls


def test_the_timer_strikes_in_a_graph(calls: list[str], alarm: None) -> None:
    big = torch.ones(700, 700)

    def guarded(x: torch.Tensor, log: list[str]) -> torch.Tensor:
        try:
            x = x @ big
            capture.graph_break()
            for _ in range(6):
                x = (x @ big).sin()
        except Interrupted:
            log.append("caught")
        finally:
            log.append("finally")
        return x

    run = capture.compile(guarded)
    run(big, [])
    begin = time.perf_counter()
    run(big, [])
    took = time.perf_counter() - begin
    for part in range(1, 10):
        log: list[str] = []
        with contextlib.suppress(Interrupted):  # at the end of the function
            signal.setitimer(signal.ITIMER_REAL, took * part / 10)
            run(big, log)
            signal.setitimer(signal.ITIMER_REAL, 0)
        assert log in ([], ["finally"], ["caught", "finally"])  # []: ahead of the function
    assert calls


@torch.library.custom_op("capture_signals::strike", mutates_args=())
def strike(x: torch.Tensor) -> torch.Tensor:
    if _struck:
        _struck.pop()()
    return x + 1


@strike.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


_struck: list[Callable[[], Any]] = []


def in_a_graph(x: torch.Tensor, log: list[str]) -> torch.Tensor:
    try:
        x = x + 1
        capture.graph_break()
        x = strike(x * 2) * 3
    except BaseException as error:
        log.append(type(error).__name__)
        x = x - 1
    finally:
        log.append("finally")
    return x


@pytest.mark.parametrize("error", [Interrupted, KeyboardInterrupt])
def test_a_handler_that_raises_in_the_code_of_an_operator(error: type[BaseException]) -> None:
    """It runs in a graph. The exception is none of the graph, and the graph is kept."""

    def handler(*args: Any) -> None:
        raise error

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with config.patch(raise_on_error=True, when="first"):
            run = capture.compile(in_a_graph)
            expected = run(torch.ones(3), [])
            _struck.append(lambda: signal.raise_signal(signal.SIGUSR1))
            log: list[str] = []
            run(torch.ones(3), log)
            assert log == [error.__name__, "finally"]
            assert torch.equal(run(torch.ones(3), []), expected)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_the_program_may_set_handlers_in_an_operator_and_at_a_break() -> None:
    before = signal.getsignal(signal.SIGUSR2)

    def sets(*_: Any) -> None:
        signal.signal(signal.SIGUSR2, sets)

    def at_a_break(x: torch.Tensor) -> torch.Tensor:
        x = x + 1
        capture.disable(sets)()
        return x * 2

    try:
        capture.compile(at_a_break)(torch.ones(3))
        assert signal.getsignal(signal.SIGUSR2) is sets
        signal.signal(signal.SIGUSR2, before)
        run = capture.compile(in_a_graph)
        run(torch.ones(3), [])
        _struck.append(sets)
        log: list[str] = []
        run(torch.ones(3), log)
        assert log == ["finally"] and signal.getsignal(signal.SIGUSR2) is sets
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_what_waits_for_something_sees_signals(calls: list[str], alarm: None) -> None:
    """A call that breaks the graph, a lock that a `with` takes, an iterator in C."""
    lock = threading.Lock()

    def sleeps(x: torch.Tensor) -> torch.Tensor:
        time.sleep(20)
        return x

    def locks(x: torch.Tensor) -> torch.Tensor:
        with lock:
            return x * 2

    def iterates(x: torch.Tensor) -> torch.Tensor:
        for _ in iter(functools.partial(time.sleep, 20), 1):
            x = x + 1
        return x

    def guarded(waits: Any, x: torch.Tensor, log: list[str]) -> torch.Tensor:
        try:
            x = x + 1
            x = waits(x)
        except Interrupted:
            log.append("caught")
        return x

    lock.acquire()
    for waits in (sleeps, locks, iterates):
        run = capture.compile(functools.partial(guarded, waits))
        logs: list[list[str]] = []
        while logs.count(["caught"]) < 3 and len(logs) < 12:
            logs.append([])
            begin = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with contextlib.suppress(Interrupted):  # ahead of the function
                run(torch.ones(3), logs[-1])
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert time.perf_counter() - begin < 15
        assert logs.count(["caught"]) == 3
    assert calls


def test_other_threads_hold_nothing(calls: list[str]) -> None:
    """A graph on another thread: the main thread sees its signals."""

    def work() -> None:
        run = capture.compile(lambda x: x * 2 + 1)
        while not done:
            run(torch.ones(3))

    done: list[bool] = []
    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(50):
            with pytest.raises(Interrupted):
                signal.raise_signal(signal.SIGUSR1)
            time.sleep(0.001)
    finally:
        done.append(True)
        thread.join()
    assert len(calls) == 50
    assert not _capture.raise_later(Interrupted())


def test_which_errors_are_those_of_a_handler(restored: None) -> None:
    def handler(number: int, frame: Any) -> None:
        inner()

    def inner() -> None:
        raise Interrupted

    def any_arguments(*args: Any) -> None:
        raise Interrupted

    def forgets(number: int | None, frame: Any) -> None:
        frame = None
        raise Interrupted

    def forgets_more(number: int | None, frame: Any) -> None:
        number = frame = None
        raise Interrupted

    class Handlers:
        def method(self, number: int, frame: Any) -> None:
            raise Interrupted

    def no_handler(number: int, text: str) -> None:
        raise Interrupted

    def struck(function: Any) -> BaseException:
        signal.signal(signal.SIGUSR1, function)
        try:
            signal.raise_signal(signal.SIGUSR1)
        except Interrupted as error:
            return error
        raise AssertionError

    handlers = (handler, any_arguments, functools.partial(any_arguments, 3), forgets, Handlers().method)
    for function in handlers:
        error = struck(function)
        assert _capture.raised_by_handler(error) and python_capture.raised_by_handler(error)
    assert not _capture.raised_by_handler(struck(forgets_more))  # nobody can tell
    with pytest.raises(Interrupted) as raised:
        no_handler(1, "")
    assert not _capture.raised_by_handler(raised.value)
    assert not python_capture.raised_by_handler(raised.value)
