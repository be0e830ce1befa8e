"""The settrace hook: the same results as without it, and functions are unchanged after it.

It works without the extension.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import textwrap
import threading

import pytest
import torch

import capture
from capture.hooks.dispatcher import Dispatcher, dispatcher_code, own_code, positional_code
from capture.hooks.settrace import make_result
from tests.differential import Program, assert_same


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def all_kinds(a, /, b, *rest, scale=2.0, **named):
    return a * scale + b + sum(rest) + named.get("shift", 0)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.steps = 0

    def forward(self, x):
        self.steps += 1
        return torch.relu(self.linear(x)) + self.steps


class Derived(Block):
    def forward(self, x):
        return super().forward(x) * 2


def loop_of_breaks(x):
    total = 0.0
    for i in range(4):
        x = x * 1.5 + i
        total += x.sum().item()
        print(i)
    return x, total


@pytest.fixture(autouse=True)
def _fresh():
    capture.reset()
    yield
    capture.reset()


def test_the_toy_example_has_three_graphs():

    def factory():
        values = iter([1.0, 1.0, -1.0, 1.0])
        program = capture.disable(
            lambda: toy_example(torch.full((4,), 0.5), torch.full((4,), next(values))), recursive=False
        )
        return Program(program)

    found = assert_same(factory=factory, calls=4, hook="settrace")
    assert found.graph_count == 3 and [r.id for r in found.break_reasons] == ["data_dependent_jump"]


@pytest.mark.parametrize(
    ("fn", "args", "kwargs"),
    [
        (all_kinds, (torch.ones(2), 3.0, torch.ones(2)), {"scale": 3.0, "shift": 1}),
        (all_kinds, (torch.ones(2), 3.0), {}),
        (Block(), (torch.randn(2, 4),), {}),
        (Derived(), (torch.randn(2, 4),), {}),
        (loop_of_breaks, (torch.ones(3),), {}),
    ],
)
def test_same_as_eager(fn, args, kwargs):
    found = assert_same(fn, args, kwargs, calls=4, hook="settrace")
    assert found.graph_count > 0


def test_closures_that_share_code_are_told_apart():
    def factory():
        def scaled_by(k):
            def scale(x):
                return x * k

            return scale

        return Program(lambda fs, x: [f(x) for f in fs], ([scaled_by(2.0), scaled_by(3.0)], torch.ones(2)))

    assert_same(factory=factory, calls=4, hook="settrace")


def test_a_function_has_its_own_code_outside_of_the_region():
    own = toy_example.__code__
    a, b = torch.randn(4), torch.randn(4)
    region = capture.enable("eager", hook="settrace")
    for _ in range(2):
        with region:
            toy_example(a, b)
            toy_example(a, b)
            assert own_code(toy_example.__code__) is own and toy_example.__code__ is not own
            assert inspect.signature(toy_example) == inspect.signature(lambda a, b: 0)
        assert toy_example.__code__ is own
    assert sys.gettrace() is None


def test_the_programs_own_trace_function_goes_on():
    events = []

    def tracer(frame, event, arg):
        if frame.f_code.co_name == "toy_example":
            events.append(event)
        return tracer

    sys.settrace(tracer)
    try:
        with capture.enable("eager", hook="settrace"):
            toy_example(torch.ones(2), torch.ones(2))
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(None)
    assert events[0] == "call" and "return" in events


def test_another_thread_runs_the_function_itself():
    results = []
    with capture.enable("eager", hook="settrace"):
        for _ in range(3):
            toy_example(torch.ones(2), torch.ones(2))
        before = capture.counters["graphs"]["compiled"]
        thread = threading.Thread(target=lambda: results.append(toy_example(torch.ones(5), torch.ones(5))))
        thread.start()
        thread.join()
    assert results[0].shape == (5,) and capture.counters["graphs"]["compiled"] == before


def test_hooks_nest():
    with capture.enable("eager", hook="settrace"):
        toy_example(torch.ones(2), torch.ones(2))
        with capture.enable("eager"):
            toy_example(torch.ones(2), torch.ones(2))
        with capture.disable():
            toy_example(torch.ones(3), torch.ones(3))
        assert sys.gettrace() is not None
    assert sys.gettrace() is None


def test_functions_are_not_kept_alive():
    import weakref

    def make():
        def scale(x):
            return x * 2

        return scale

    scale = make()
    with capture.enable("eager", hook="settrace"):
        for _ in range(3):
            scale(torch.ones(2))
    watch = weakref.ref(scale)
    del scale
    assert watch() is None


# --- parts --------------------------------------------------------------------------------------------------


def test_dispatcher_hands_over_arguments_in_the_order_of_locals():
    def own(a, *rest, k=1, **named):
        return (a, k, rest, named)

    dispatcher = Dispatcher(lambda self, arguments: arguments, own)
    code = dispatcher_code(dispatcher)
    assert own_code(code) is own.__code__ and own_code(own.__code__) is own.__code__
    own_result = dispatcher.positional(1, 5, (2, 3), {"z": 4})
    own.__code__ = code
    assert own(1, 2, 3, k=5, z=4) == (1, 5, (2, 3), {"z": 4}) == own_result


def test_positional_code_runs_with_all_arguments_positional():
    import types

    def own(a, *rest, k=1):
        return a, rest, k

    function = types.FunctionType(positional_code(own.__code__), {})
    assert function(1, 2, (3,)) == (1, (3,), 2)


def test_result_recipes():
    recipe = (("out", 0), ("slot", 1), ("tuple", 2), ("const", "c"), ("list", 1), ("dict", ("t", "l")))
    assert make_result(recipe, ("o",), ("s", "u")) == {"t": ("o", "u"), "l": ["c"]}


# --- without the extension ----------------------------------------------------------------------------------

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "_capture":
            raise ImportError("not built")

sys.meta_path.insert(0, Missing())
import torch, capture

try:
    capture.enable()
except capture.UsageError as error:
    print(error)

def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)
    def forward(self, x):
        return torch.relu(self.linear(x))

net, fast = Net(), capture.compile(toy_example, hook="settrace")
with capture.enable(hook="settrace"):
    for sign in (1, 1, -1, 1):
        a, b = torch.randn(4), sign * torch.ones(4)
        x = torch.randn(2, 3)
        out, y = toy_example(a, b), net(x)
        with capture.disable():
            assert torch.equal(out, toy_example(a, b)) and torch.equal(y, net(x))
print(capture.counters["graphs"]["compiled"], "graphs")
print(capture.explain(toy_example, hook="settrace")(a, b).graph_count)
"""


def test_without_the_extension():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WITHOUT)],
        env={**os.environ, "CAPTURE_LOGS": "graph,guards,recompiles,hot,cache"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    first, graphs, explained = done.stdout.splitlines()
    assert "not built" in first and "hook='settrace' works" in first
    assert int(graphs.split()[0]) >= 4 and explained == "2"
