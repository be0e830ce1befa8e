"""A Patience asks its callback about frames that are worth a capture, and about no others."""

from __future__ import annotations

import gc
import time
import weakref

import _capture
import pytest

from guards.guard_set import GuardSet
from guards.kinds.constants import ConstantGuard
from guards.program import encode
from guards.sources import LocalSource

STRAIGHT, LOOP, FORWARD, NEVER, ASK, ONCE = range(1, 7)


class Asked:
    """A callback that never gives an entry; `names` are those of the code objects it was asked about."""

    def __init__(self, **kinds):
        self.kinds = kinds
        self.names = []

    def __call__(self, frame):
        self.names.append(frame.code.co_name)

    def kind(self, code):
        return self.kinds.get(code.co_name, STRAIGHT)


def patience(asked, unit_ns=0, least_ns=0):
    return _capture.Patience(asked, asked.kind, unit_ns=unit_ns, least_ns=least_ns)


def run(hook, asked, function, *args, **prices):
    return hook.call_with(patience(asked, **prices), function, *args)


def test_the_first_frame_is_left_to_python(hook):
    def f(x):
        return x + 1

    asked = Asked()
    assert run(hook, asked, f, 1) == 2 and asked.names == []
    assert run(hook, asked, f, 2) == 3 and asked.names == ["f"]


def test_time_has_to_reach_the_price(hook):
    def f():
        return sum(range(1000))

    asked = Asked()
    for _ in range(3):
        run(hook, asked, f, least_ns=10**12)
    for _ in range(3):
        run(hook, asked, f, unit_ns=10**12)
    assert asked.names == []
    run(hook, asked, f, unit_ns=1, least_ns=1000)
    assert asked.names == ["f"]


def test_callees_of_a_cold_frame_wait_for_it(hook):
    def inner():
        return 1

    def outer():
        return inner() + inner() + inner()

    asked = Asked()
    assert run(hook, asked, outer) == 3 and asked.names == []
    assert run(hook, asked, outer) == 3
    assert asked.names[0] == "outer"


def test_callees_of_a_driver_are_asked_about_while_it_runs(hook):
    def step():
        return 1

    def train():
        return sum([step(), step(), step(), step(), step(), step()])

    asked = Asked(train=LOOP)
    assert run(hook, asked, train) == 6
    assert set(asked.names) == {"step"}


def test_a_forward_function_with_a_loop_is_no_driver(hook):
    def block():
        return 1

    def each():
        return [block(), block(), block(), block(), block(), block()]

    def forward():
        return sum(each())

    asked = Asked(forward=FORWARD, each=LOOP)
    assert run(hook, asked, forward) == 6 and asked.names == []


def test_a_driver_that_runs_again_comes_before_the_few_callees_of_each_run(hook):
    def update():
        return 1

    def step():
        return update()

    asked = Asked(step=LOOP)
    for _ in range(3):
        run(hook, asked, step, least_ns=0)
    # The price of `step` is the higher one, yet `update` alone is never asked about before it.
    assert asked.names[0] == "step"


def test_the_first_run_of_a_driver_needs_more_turns(hook):
    def update():
        return 1

    def step(turns):
        for _ in range(turns):
            update()

    asked = Asked(step=LOOP)
    run(hook, asked, step, 3)
    assert asked.names == []
    _capture.clear_entries(step.__code__)
    run(hook, asked, step, 9)
    assert set(asked.names) == {"update"}


def test_time_in_entries_does_not_count(hook):
    def slow():
        time.sleep(0.02)

    def f():
        slow()

    def slow_too():
        time.sleep(0.02)

    asked = Asked()
    hook.replace(slow, slow_too)
    for _ in range(5):
        run(hook, asked, f, least_ns=20_000_000)
    assert asked.names == []
    _capture.clear_entries(slow.__code__)
    for _ in range(3):
        run(hook, asked, f, least_ns=20_000_000)
    assert asked.names[0] == "f"


def test_a_frame_that_no_entry_fits_waits_again(hook):
    def f(x):
        return x

    def g(x):
        return x * 10

    asked = Asked()
    guards = GuardSet((ConstantGuard.of(LocalSource("x"), 1),))
    hook.replace(f, g, guards=encode(guards, (), f.__code__))
    assert [run(hook, asked, f, x) for x in (1, 2, 1)] == [10, 2, 10]
    assert asked.names == []
    run(hook, asked, f, 2)
    assert asked.names == ["f"]


def test_kinds_that_are_never_and_always_asked_about(hook):
    class C:
        def __init__(self):
            self.x = 1

    def f():
        return C().x

    def marked():
        return 1

    def imports():
        return [f() for _ in range(9)]

    asked = Asked(__init__=NEVER, f=LOOP, marked=ASK, imports=ONCE)
    for _ in range(3):
        run(hook, asked, imports)
    assert asked.names == []
    run(hook, asked, marked)
    assert asked.names == ["marked"]
    for _ in range(10):
        run(hook, asked, f)
    assert "__init__" not in asked.names


def test_entries_and_resume_functions_do_not_wait(hook):
    def f(x):
        return x

    def g(x):
        return x * 10

    def resumed(x):
        return x

    asked = Asked()
    hook.replace(f, g)
    assert run(hook, asked, f, 2) == 20
    _capture.mark_resume(resumed.__code__)
    run(hook, asked, resumed, 1)
    assert asked.names == ["resumed"]


def test_clearing_the_entries_forgets_the_runs(hook):
    def f():
        return 1

    asked = Asked()
    run(hook, asked, f)
    assert f.__code__ in _capture.all_codes()
    _capture.clear_entries(f.__code__)
    run(hook, asked, f)
    assert asked.names == []


def test_exceptions_of_frames_and_of_kind(hook):
    def f():
        raise KeyError("f")

    asked = Asked()
    with pytest.raises(KeyError):
        run(hook, asked, f)
    with pytest.raises(KeyError):
        run(hook, asked, f)
    assert asked.names == ["f"]

    def g():
        return 1

    with pytest.raises(ValueError, match="from 1 to 6, not 17"):
        run(hook, Asked(g=17), g)
    with pytest.raises(TypeError):
        run(hook, Asked(g="loop"), g)


def test_another_callback_inside_a_cold_frame_is_not_kept_back(hook):
    inside = Asked()

    def f():
        return 1

    def outer():
        run(hook, inside, f)
        run(hook, inside, f)

    run(hook, Asked(), outer)
    assert inside.names == ["f"]


def test_arguments_are_checked():
    with pytest.raises(TypeError, match="must be callable"):
        _capture.Patience(1, len, unit_ns=1, least_ns=1)
    with pytest.raises(ValueError, match="negative"):
        _capture.Patience(print, len, unit_ns=-1, least_ns=1)


def test_it_dies_with_its_cycle():
    class Callback:
        def __call__(self, frame):
            return None

    callback = Callback()
    callback.patience = _capture.Patience(callback, len, unit_ns=1, least_ns=2)
    assert (callback.patience.unit_ns, callback.patience.least_ns) == (1, 2)
    assert callback.patience.callback is callback
    gone = weakref.ref(callback)
    del callback
    gc.collect()
    assert gone() is None
