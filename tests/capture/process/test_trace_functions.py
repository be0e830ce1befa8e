"""While a trace or profile function is set, it sees what it sees without capture: the program's frames and
lines, and nothing of capture.
"""

from __future__ import annotations

import cProfile
import gc
import pstats
import sys
from pathlib import Path

import pytest
import torch

import capture

x = torch.ones(2, 4)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, a):
        y = self.linear(a)
        return y.relu() + 1


def function(a):
    y = a + 1
    print(end="")
    for _ in range(2):
        y = y * 2
    return y


def events(setter, call):
    """All that a trace or profile function sees of a call."""
    seen = []

    def note(frame, event, argument):
        name = getattr(argument, "__name__", None) if event.startswith("c_") else None
        seen.append((frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno, event, name))
        return note

    gc.collect()
    gc.disable()  # a collection would be seen too
    setter(note)
    try:
        call()
    finally:
        setter(None)
        gc.enable()
    return seen


def called(program):
    return lambda: program(x)


def called_forward(program):
    return lambda: program.forward(x)


def trained(program):
    return lambda: program(x).sum().backward()


net = Net()
CALLS = {
    "function": (called, function),
    "module": (called, net),
    "forward": (called_forward, net),
    "training": (trained, net),
}
SETTERS = pytest.mark.parametrize("setter", [sys.settrace, sys.setprofile])


def assert_same_events(found, expected):
    """But for the place of the call itself."""
    assert [event for event in found if event not in expected] == []
    assert found == expected


@SETTERS
@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize(("call", "program"), CALLS.values(), ids=CALLS)
def test_a_compiled_program(setter, backend, warm, call, program):
    capture.reset()
    call(program)()  # torch may import something at the first call
    expected = events(setter, call(program))
    compiled = capture.compile(program, backend=backend)
    if warm:
        call(compiled)()
    assert_same_events(events(setter, call(compiled)), expected)


@SETTERS
@pytest.mark.parametrize(("call", "program"), CALLS.values(), ids=CALLS)
def test_in_a_block(setter, call, program):
    capture.reset()
    call(program)()
    expected = events(setter, call(program))
    with capture.enable(backend="eager"):
        assert_same_events(events(setter, call(program)), expected)
        call(program)()
        assert_same_events(events(setter, call(program)), expected)


@SETTERS
def test_the_first_backward_of_a_graph_compiles_unseen(setter):
    capture.reset()
    Net()(x).sum().backward()
    expected = events(setter, Net()(x).sum().backward)
    fast = capture.compile(Net())
    assert_same_events(events(setter, fast(x).sum().backward), expected)


@SETTERS
def test_a_function_that_sets_it(setter):
    def program(a):
        seen = []
        b = a * 2
        setter(lambda frame, event, argument: seen.append((frame.f_code.co_name, event)))
        b = function(b)
        setter(None)
        return b + 1, seen

    expected = program(x)[1]
    with capture.config.patch(when="first"), capture.enable(backend="eager"):
        assert [program(x)[1] for _ in range(2)] == [expected, expected]
    assert capture.compile(program, backend="eager")(x)[1] == expected


def test_capture_goes_on_when_the_trace_function_is_gone():
    graphs = []

    def count(gm, inputs):
        graphs.append(gm)
        return gm.forward

    def program(a):
        return a * 3 + 1

    compiled = capture.compile(program, backend=count)
    events(sys.settrace, lambda: compiled(x))
    assert graphs == []
    compiled(x)
    assert len(graphs) == 1


def test_a_profile_is_that_of_the_program():
    profile = cProfile.Profile()
    fast = capture.compile(net)
    fast(x)
    profile.runcall(fast, x)
    names = {name for _, _, name in pstats.Stats(profile).stats}
    assert {"forward", "_call_impl"} <= names
    assert any("relu" in name for name in names)
    ours = str(Path(capture.__file__).parent)
    assert not any(file.startswith(ours) for file, _, _ in pstats.Stats(profile).stats)


def test_the_lines_of_a_captured_test_run_are_those_without():
    """As coverage counts them."""

    def lines(run):
        seen = events(sys.settrace, run)
        return {(file, line) for file, _, line, event, _ in seen if event == "line"}

    def run():
        for program in (net, function):
            program(x)

    def captured():
        for program in (fast, compiled):
            program(x)

    fast, compiled = capture.compile(net), capture.compile(function)
    fast(x), compiled(x)
    own = {line for code in (run.__code__, captured.__code__) for *_, line in code.co_lines()}
    expected, found = lines(run), lines(captured)
    assert {place for place in expected ^ found if place[1] not in own or place[0] != __file__} == set()
    assert len(expected) > 10
