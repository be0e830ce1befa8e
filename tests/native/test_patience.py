"""A Patience asks its callback about frames that are worth a capture, and about no others."""

from __future__ import annotations

import ast
import gc
import itertools
import subprocess
import sys
import time
import weakref

import _capture
import pytest
import torch

from guards.guard_set import GuardSet
from guards.kinds.constants import ConstantGuard
from guards.program import encode
from guards.sources import LocalSource

STRAIGHT, LOOP, FORWARD, NEVER, ASK, ONCE, LEFT, STORED, DOUBTED, BACKWARD, IMPORT, BRIEF = range(1, 13)
EARLIER, FITTING, STEPS = 0, -1, -2  # what an entry is compared with
TRIAL = 10  # runs of an entry, until it is judged


class Asked:
    """A callback that never gives an entry; `names` are those of the code objects it was asked about."""

    def __init__(self, **kinds):
        self.kinds = kinds
        self.names = []

    def __call__(self, frame):
        self.names.append(frame.code.co_name)

    def kind(self, code):
        return self.kinds.get(code.co_name, STRAIGHT)


def work(seconds):
    """Keep the processor busy. Seconds of sleep do not count."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


@pytest.fixture(autouse=True)
def _work_is_left_to_python():
    _capture.skip_code(work.__code__)
    _capture.forget_prices()  # of captures in other tests


def will_save(times, runs_again=False):
    """The forecast of a capture that saves so many times of what Python has spent in the frame."""
    return 1 / (1 + times), 1.0, runs_again


def patience(asked, **settings):
    return _capture.Patience(asked, asked.kind, **settings)


def run(hook, asked, function, *args, **settings):
    return hook.call_with(patience(asked, **settings), function, *args)


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


@pytest.mark.parametrize("imported", [False, True])
def test_the_first_capture_of_a_process_imports_the_compiler(imported):
    """That has to pay, too."""
    program = f"""
import sys, types, _capture
if {imported}:
    sys.modules["llvmlite.binding"] = types.ModuleType("llvmlite.binding")
asked = []
def f():
    return sum(range(10**6))
def left():
    return 1
copies = [types.FunctionType(left.__code__.replace(co_firstlineno=n), {{}}) for n in range(1, 200)]
kind = lambda code: 10 if code.co_name == "left" else 1
callback = lambda frame: asked.append(frame.code)
_capture.set_callback(_capture.Patience(callback, kind, first_ns=5 * 10**9), object())
for copy in copies if not {imported} else ():
    copy()  # asked about at once, and costs nothing: that says nothing of the compiler
for _ in range(3):
    f()
_capture.set_callback(None, None)
print(f.__code__ in asked)
"""
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == str(imported)


WORK = """
import sys, time, types, _capture
asked = []
def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
_capture.skip_code(work.__code__)
"""


@pytest.mark.parametrize("stored, expected", [(False, "f"), (True, "")])
def test_the_time_of_other_frames_pays_for_the_import_of_the_compiler(stored, expected):
    """Where these come from the store, the import serves one capture alone."""
    program = (
        f"stored = {stored}"
        + """
def other():
    work(0.06)
def f():
    work(0.002)
def g():
    pass
callback = lambda frame: asked.append(frame.code.co_name)
kinds = {"other": 6, "f": 1, "g": 8 if stored else 1}  # ONCE: it is never captured; STORED
kind = lambda code: kinds[code.co_name]
_capture.set_callback(_capture.Patience(callback, kind, first_ns=50_000_000), object())
g(), f(), f(), f()
assert "f" not in asked
other(), f()
_capture.set_callback(None, None)
print(*[name for name in asked if name != "g"])
"""
    )
    found = subprocess.run([sys.executable, "-c", WORK + program], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == expected


def test_what_is_asked_about_at_once_says_nothing_of_the_cost_of_captures():
    """The callback captures nothing of a backward: that was no cheap capture."""
    program = """
backwards = [eval(f"lambda: {number}") for number in range(100)]
def g():
    work(0.012)
def kind(code):
    return 1 if code is g.__code__ else 10
def callback(frame):
    asked.append(frame.code.co_name)
_capture.set_callback(_capture.Patience(callback, kind, least_ns=20_000_000), object())
for backward in backwards:
    backward()
g(), g()
print(len(asked), *asked[100:])
g()
_capture.set_callback(None, None)
print(*asked[100:])
"""
    found = subprocess.run([sys.executable, "-c", WORK + program], check=True, capture_output=True, text=True)
    assert found.stdout.split() == ["100", "g"]


def test_an_import_says_nothing_of_the_cost_of_later_captures():
    """It was expected in the first capture of the process, beside the cost of its code."""
    program = """
def f():
    work(0.16)
def g():
    work(0.012)
def callback(frame):
    asked.append(frame.code.co_name)
    if frame.code is f.__code__:
        work(0.3)
        sys.modules["llvmlite.binding"] = types.ModuleType("llvmlite.binding")
costs = {"least_ns": 20_000_000, "first_ns": 300_000_000}
_capture.set_callback(_capture.Patience(callback, lambda code: 1, **costs), object())
f(), f(), f(), g(), g(), g()
_capture.set_callback(None, None)
print(*asked)
"""
    found = subprocess.run([sys.executable, "-c", WORK + program], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "f g"


@pytest.mark.parametrize("cost, expected", [(0, ["f", "rest"]), (0.03, ["f"])])
def test_the_rest_of_a_frame_waits_where_its_beginning_cost_much_more_than_expected(hook, cost, expected):
    def rest():
        work(0.002)

    def f():
        return rest() if asked.names else work(0.002)  # there is no rest without a capture

    class Working(Asked):
        def __call__(self, frame):
            super().__call__(frame)
            work(cost)

    _capture.mark_resume(rest.__code__)
    asked = Working()
    while not asked.names:
        run(hook, asked, f, least_ns=3_000_000)
    assert asked.names == expected
    while "rest" not in asked.names:  # it may still pay for itself
        run(hook, asked, f, least_ns=3_000_000)


@pytest.mark.parametrize("is_rest_of_f", [True, False])
def test_the_rest_of_a_frame_is_captured_again_with_its_beginning(hook, is_rest_of_f):
    """Once: its entries did not fit, as that of the beginning, because the same has changed."""

    def rest(x):
        return x

    def f(x):
        work(0.002)
        return rest(x) + rest(x) if asked.names else 0

    asked = Asked()
    if is_rest_of_f:
        rest.__code__ = rest.__code__.replace(co_firstlineno=f.__code__.co_firstlineno)
    hook.replace(
        rest, lambda x: 10, encode(GuardSet((ConstantGuard.of(LocalSource("x"), 1),)), (), rest.__code__)
    )
    _capture.mark_resume(rest.__code__)
    while not asked.names:
        run(hook, asked, f, 2, least_ns=3_000_000)
    asked_for = [*asked.names]
    assert asked_for == (["f", "rest"] if is_rest_of_f else ["f"])
    assert run(hook, asked, rest, 2, least_ns=3_000_000) == 2
    assert asked.names == asked_for


def test_what_earlier_captures_have_cost_is_no_reason_to_capture_the_rest(hook):
    def rest():
        pass

    def f():
        work(0.005)
        return rest() if len(asked.names) > 1 else None

    class Working(Asked):
        def __call__(self, frame):
            super().__call__(frame)
            work(0.2 if len(self.names) == 1 else 0.04)

    _capture.mark_resume(rest.__code__)
    asked = Working()
    while len(asked.names) < 2:
        run(hook, asked, f, least_ns=3_000_000)
    assert asked.names == ["f", "f"]  # 40 ms are more than twice 3 ms, and less than what the first has cost


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
        work(0.02)

    def f():
        slow()

    def slow_too():
        work(0.02)

    asked = Asked()
    hook.replace(slow, slow_too)
    for _ in range(5):
        run(hook, asked, f, least_ns=20_000_000)
    assert asked.names == []
    _capture.clear_entries(slow.__code__)
    while not asked.names:  # the price depends on what the captures of this process have cost
        run(hook, asked, f, least_ns=20_000_000)
    assert asked.names[0] == "f"


def test_only_work_counts(hook):
    """A frame that waits (for data, for the processor) gets no hotter."""

    def f(waits, works):
        time.sleep(waits)
        work(works)

    spent = []
    for waits, works in ((0.03, 0.0), (0.0, 0.03), (0.03, 0.03)):
        _capture.clear_entries(f.__code__)
        run(hook, Asked(), f, waits, works, least_ns=10**12)
        spent.append(_capture.cold_runs(f.__code__)[2])
    assert spent[0] < 15_000_000 < 25_000_000 < min(spent[1:])
    assert spent[2] < spent[1] + 15_000_000


def test_the_wait_before_a_frame_is_not_taken_off_it(hook):
    def inner():
        work(0.005)

    def outer():
        time.sleep(0.05)
        inner()

    run(hook, Asked(inner=LOOP), outer, least_ns=10**12)
    assert _capture.cold_runs(inner.__code__)[2] > 2_000_000


def times_of_a_run(hook, result, below=lambda: None):
    """(what counts for a function that works for 4 ms and returns `result`, what it took at most)."""

    def f():
        below()
        work(0.004)
        return result

    _capture.clear_entries(f.__code__)  # of the call before
    started = time.monotonic_ns()
    run(hook, Asked(), f, least_ns=10**12)
    most = time.monotonic_ns() - started
    _, _, spent, _, _ = _capture.cold_runs(f.__code__)
    return spent, most


def test_a_result_with_a_gradient_counts_with_the_backward_behind_it(hook):
    def backward():
        return 1

    _capture.calibrate()
    run(hook, Asked(backward=BACKWARD), backward)
    _capture.skip_code(backward.__code__)
    run(hook, Asked(), backward)
    weight = torch.ones(1, requires_grad=True)
    for result in (weight, (1, weight), [weight], {"loss": weight}):
        spent, _ = times_of_a_run(hook, result)
        assert spent >= 9_000_000
    for result in (weight.detach(), weight.item(), [weight.detach()], {"loss": 1.0}):
        spent, most = times_of_a_run(hook, result)
        assert 3_000_000 <= spent < 2 * most
    spent, most = times_of_a_run(hook, weight, below=backward)
    assert 3_000_000 <= spent < 2 * most


def test_a_glance_sees_some_frames_in_the_second_half_of_the_wait(hook):
    def f(x):
        work(0.001)
        return x

    seen = []
    asked = Asked()
    for x in range(20):
        run(hook, asked, f, x, least_ns=10**12, glance=seen.append)
    assert not seen
    _capture.clear_entries(f.__code__)
    for x in range(3):
        assert asked.names == []
        run(hook, asked, f, x, least_ns=1000, judge=Judge(None), glance=seen.append)
    assert [frame.locals for frame in seen] == [(1,)] and asked.names == ["f"]


def test_what_a_glance_raises(hook):
    def glance(frame):
        raise KeyError(frame.code.co_name)

    def f():
        work(0.001)

    run(hook, Asked(), f, least_ns=1000, judge=Judge(None), glance=glance)
    with pytest.raises(KeyError, match="f"):
        run(hook, Asked(), f, least_ns=1000, judge=Judge(None), glance=glance)


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


class Capturing(Asked):
    """A callback that gives frames of this name an entry with the code of `by`, after `seconds`."""

    def __init__(self, hook, name, by, seconds=0.0, guards=None, **kinds):
        super().__init__(**kinds)
        self.hook, self.name, self.by, self.seconds, self.guards = hook, name, by, seconds, guards

    def __call__(self, frame):
        super().__call__(frame)
        if frame.code.co_name != self.name:
            return None
        work(self.seconds)
        return self.hook.replace(frame.function, self.by, self.guards)


def test_another_capture_waits_for_what_the_first_one_has_cost(hook):
    def f(x):
        work(0.001)
        return x

    guards = GuardSet((ConstantGuard.of(LocalSource("x"), 1),))
    asked = Capturing(hook, "f", lambda x: x * 10, 0.05, encode(guards, (), f.__code__))
    run(hook, asked, f, 1)
    run(hook, asked, f, 1)
    assert asked.names == ["f"]
    *_, paid = _capture.cold_runs(f.__code__)
    assert paid >= 49_000_000  # the clock of the hook is read once in a millisecond
    calls = 0
    while len(asked.names) == 1:
        _, runs, spent, *_ = _capture.cold_runs(f.__code__)
        assert run(hook, asked, f, 2) in (2, 20)
        calls += 1
    assert runs >= 2 and spent >= paid
    _capture.clear_entries(f.__code__)
    assert _capture.cold_runs(f.__code__) == (0, 0, 0, 0, 0)


def with_an_entry_for_one(hook, seconds):
    """A function whose entry takes 1, and cost that time; its callback."""

    def f(x):
        work(0.001)
        return x

    _capture.clear_entries(f.__code__)  # of the test before
    guards = GuardSet((ConstantGuard.of(LocalSource("x"), 1),))
    asked = Capturing(hook, "f", lambda x: x * 10, seconds, encode(guards, (), f.__code__))
    run(hook, asked, f, 1)
    run(hook, asked, f, 1)
    assert asked.names == ["f"]
    return f, asked


@pytest.mark.parametrize("turns, waits", [(0, True), (1, False), (4, False), (30, True)])
def test_what_takes_turns_with_an_entry_does_not_wait_for_what_that_has_cost(hook, turns, waits):
    """The code has a few variants. What comes without the entry, or much less often, waits."""
    f, asked = with_an_entry_for_one(hook, 0.05)
    for _ in range(3):
        for _ in range(turns):
            assert run(hook, asked, f, 1) == 10
        run(hook, asked, f, 2)
    assert (len(asked.names) == 1) is waits


@pytest.mark.parametrize("turns, runs", [(1, 1), (30, 4)])
def test_what_takes_turns_with_an_entry_is_forecast_after_its_first_run(hook, turns, runs):
    f, asked = with_an_entry_for_one(hook, 0.0)
    settings = {"least_ns": 10**9, "foresee": lambda: will_save(10_000.0)}
    while len(asked.names) == 1:
        for _ in range(turns):
            run(hook, asked, f, 1)
        found = _capture.cold_runs(f.__code__)[1]
        run(hook, asked, f, 2, **settings)
    assert found == runs


def test_nothing_is_forecast_while_a_second_entry_has_served_nobody(hook):
    """Behind the first one it is: the next capture may have symbols for what has changed."""
    f, asked = with_an_entry_for_one(hook, 0.0)
    settings = {"least_ns": 10**9, "foresee": lambda: will_save(10_000.0)}
    for captures in (2, 3):  # each of them gives an entry for 1
        for _ in range(20):
            run(hook, asked, f, 2, **settings)
        assert len(asked.names) == captures
        assert run(hook, asked, f, 1) == 10


def test_nothing_is_forecast_where_a_capture_has_left_a_frame_to_python(hook):
    def f(x):
        work(0.001)

    guards = encode(GuardSet((ConstantGuard.of(LocalSource("x"), 1),)), (), f.__code__)
    _capture.add_entry(f.__code__, _capture.Entry(guards, None))
    asked = Asked()
    for _ in range(10):
        run(hook, asked, f, 2, least_ns=10**9, foresee=pytest.fail)
    assert asked.names == []


def test_what_a_captured_frame_inlines_counts_anew(hook):
    def f():
        work(0.001)

    asked = Asked()
    run(hook, asked, f, least_ns=10**9)
    assert _capture.cold_runs(f.__code__)[:2] == (STRAIGHT, 1)
    _capture.count_anew(f.__code__)
    assert _capture.cold_runs(f.__code__)[:3] == (STRAIGHT, 0, 0)
    _capture.count_anew((lambda: 0).__code__)  # nothing is known of it
    with pytest.raises(TypeError, match="code object"):
        _capture.count_anew(f)


def test_code_that_is_left_is_not_asked_about(hook):
    def callee():
        return 1

    def f():
        return callee()

    _capture.leave_code(f.__code__)
    asked = Asked()
    for _ in range(3):
        run(hook, asked, f)
    assert set(asked.names) == {"callee"}
    with pytest.raises(TypeError, match="code object"):
        _capture.leave_code(f)


def test_the_time_of_captures_is_not_the_time_of_the_frames_around_them(hook):
    def inner():
        return 1

    def train():
        return sum([inner(), inner(), inner(), inner(), inner(), inner()])

    asked = Capturing(hook, "inner", lambda: 2, 0.05, train=LOOP)
    assert run(hook, asked, train) > 6
    assert asked.names == ["inner"]
    _, runs, spent, *_ = _capture.cold_runs(train.__code__)
    assert runs == 1 and spent < 50_000_000


def test_frames_with_a_skip_mark_count_as_units_of_their_callers(hook):
    def helper():
        return 1

    def f():
        return helper()

    _capture.skip_code(helper.__code__)
    run(hook, Asked(), f, least_ns=10**12)
    _, _, _, units, _ = _capture.cold_runs(f.__code__)
    assert units > len(f.__code__.co_code) // 2 + len(helper.__code__.co_code) // 4


def test_frames_that_entries_run_count_as_units_of_their_callers(hook):
    def helper():
        return 1

    def other():
        return len((helper,))

    def callee():
        return helper() + helper() + helper()

    def f():
        return callee()

    hook.replace(callee, other)
    run(hook, Asked(), f, least_ns=10**12)
    _, _, _, units, _ = _capture.cold_runs(f.__code__)
    own = len(f.__code__.co_code) // 2
    assert units == own + len(callee.__code__.co_code) // 2


class Finds(Asked):
    """It adds an entry that runs the code of `by` to the frame that it is asked about."""

    def __init__(self, hook, by, **kinds):
        super().__init__(**kinds)
        self.hook, self.by = hook, by

    def __call__(self, frame):
        super().__call__(frame)
        return self.hook.replace(frame.function, self.by)


def test_what_a_captured_frame_called_counts_as_units_of_its_callers(hook):
    def helper():
        work(0.001)

    def callee():
        return [helper(), helper(), helper()]

    def f():
        return callee()

    for _ in range(3):
        run(hook, Asked(), callee, least_ns=10**12)
    _, runs, _, units, _ = _capture.cold_runs(callee.__code__)
    finds = Finds(hook, lambda: [helper])
    while not finds.names:
        run(hook, finds, callee, least_ns=1_000_000)
    run(hook, Asked(), f, least_ns=10**12)
    _, _, _, around, _ = _capture.cold_runs(f.__code__)
    assert around == len(f.__code__.co_code) // 2 + units // runs


def test_what_an_earlier_process_has_captured_counts_as_units_of_its_callers(hook):
    def callee():
        return 1

    def f():
        return callee()

    assert _capture.inlined_units(callee.__code__) == 0
    _capture.inlined_earlier(callee.__code__, 1234)
    assert _capture.inlined_units(callee.__code__) == 1234
    hook.replace(callee, lambda: 1)
    run(hook, Asked(), f, least_ns=10**12)
    _, _, _, units, _ = _capture.cold_runs(f.__code__)
    assert units == len(f.__code__.co_code) // 2 + 1234
    for wrong in (-1, 10**11, 10**30, "1", None):
        with pytest.raises((ValueError, OverflowError, TypeError)):
            _capture.inlined_earlier(callee.__code__, wrong)
    with pytest.raises(TypeError):
        _capture.inlined_earlier(1, 1)
    with pytest.raises(TypeError):
        _capture.inlined_units(None)
    assert _capture.inlined_units(callee.__code__) == 1234


@pytest.mark.parametrize(("kind", "recorded"), [(FORWARD, True), (FORWARD, False), (BRIEF, True)])
def test_operations_of_a_loop_count_as_units(hook, kind, recorded):
    """The code of a loop is short, and so is a call that unrolls one in C++."""
    x = torch.ones(2, requires_grad=recorded)

    def helper():
        y = x
        for _ in range(100):
            y = y * 2
        return y

    def f():
        return helper()

    for function in (f, f, helper):
        run(hook, Asked(helper=kind), function, least_ns=10**12)
    _, runs, _, units, _ = _capture.cold_runs(f.__code__)
    assert (units // runs >= 100 * 60) is (recorded and kind is FORWARD)
    _, runs, _, units, _ = _capture.cold_runs(helper.__code__)
    assert (units // runs >= 100 * 60) is (recorded and kind is FORWARD)


def test_operations_of_captures_are_no_units_of_their_callers(hook):
    x = torch.ones(2, requires_grad=True)

    class Traces(Asked):
        def __call__(self, frame):
            super().__call__(frame)
            for _ in range(100):
                x * 2

    def helper():
        work(0.001)

    def f():
        return helper()

    asked = Traces(f=LEFT)
    for _ in range(3):
        run(hook, asked, f, least_ns=1)
    assert asked.names == ["helper"]
    *_, units, _ = _capture.cold_runs(f.__code__)
    assert units < 10_000


def test_a_frame_that_is_kept_back_counts_for_the_frame_that_keeps_it(hook):
    def loop():
        work(0.001)

    def helper():
        return loop()

    def f():
        work(0.002)
        return helper()

    run(hook, Asked(loop=LOOP), f, least_ns=10**12)
    runs, spent, units = zip(*(_capture.cold_runs(g.__code__)[1:4] for g in (f, helper, loop)))
    assert runs == (1, 0, 1) and spent[0] > 2_000_000  # a loop may be a driver: its turns are counted
    assert units[0] > len(f.__code__.co_code) // 2 + len(helper.__code__.co_code) // 2


def test_a_disabled_function_counts_for_no_frame(hook):
    disabled = _capture.HookedFunction(work, work, None, None)

    def f():
        work(0.002)
        disabled(0.02)

    run(hook, Asked(), f, least_ns=10**12)
    _, runs, spent, *_ = _capture.cold_runs(f.__code__)
    assert runs == 1 and 1_000_000 < spent < 15_000_000


SLOW = "by the entry"


class Judge:
    """Gives the same verdict about each entry. `cases` has what it was told."""

    def __init__(self, verdict):
        self.verdict, self.cases = verdict, []

    def __call__(self, code, entry, python, own, compared, steps):
        self.cases.append((code.co_name, entry, python, own))
        if self.verdict is not None:
            _capture.remove_entry(code, entry)
        return self.verdict


def on_trial(hook, judge, callee=lambda: 1, **kinds):
    """A function whose entry has had its trial. It calls `callee`."""

    def f():
        work(0.002)
        return callee()

    def slow():
        work(0.02)
        callee()
        return SLOW

    _capture.clear_entries(f.__code__)  # of the test before
    asked = Capturing(hook, "f", slow, **kinds)
    run(hook, asked, f, least_ns=10**12)
    run(hook, asked, f, least_ns=10**12)
    for _ in range(TRIAL + 1):
        assert not judge.cases
        run(hook, asked, f, judge=judge)
    assert asked.names[0] == "f"
    return f


def test_an_entry_is_judged_once_by_its_time_beside_that_of_python(hook):
    judge = Judge(None)
    f = on_trial(hook, judge)
    ((name, entry, python, own),) = judge.cases
    assert name == "f" and _capture.entries(f.__code__) == [entry]
    mean, least = python
    assert 1_000_000 <= least <= mean
    mean, least = own
    assert 18_000_000 <= least <= mean
    run(hook, Asked(), f, judge=judge)
    assert len(judge.cases) == 1 and entry.hits == TRIAL + 1


def test_a_frame_whose_entry_did_not_pay_is_left_and_its_callees_are_not(hook):
    def callee():
        work(0.001)

    f = on_trial(hook, Judge(LEFT), callee)
    asked = Asked()
    for _ in range(3):
        run(hook, asked, f)
    assert set(asked.names) == {"callee"}


def test_nothing_is_asked_about_below_a_frame_that_is_left_whole(hook):
    def callee():
        work(0.001)

    f = on_trial(hook, Judge(ONCE), callee)
    asked = Asked()
    for _ in range(3):
        run(hook, asked, f)
    assert asked.names == []


class Doubting(Judge):
    """Its verdict waits for frames that fit the entry."""

    more = FITTING

    def __call__(self, code, entry, python, own, compared, steps):
        self.compared, self.steps = compared, steps
        if compared == EARLIER:
            return self.more
        return super().__call__(code, entry, python, own, compared, steps)


@pytest.mark.parametrize("verdict", [None, LEFT])
def test_an_entry_that_seems_slower_is_compared_with_frames_that_fit_it(hook, verdict):
    judge = Doubting(verdict)
    f = on_trial(hook, judge)
    (entry,) = _capture.entries(f.__code__)
    hits = entry.hits
    assert judge.compared == EARLIER and hits == TRIAL
    for _ in range(4):
        assert not judge.cases
        run(hook, Asked(), f, judge=judge)
    ((_, judged, (mean, least), own),) = judge.cases
    assert judged is entry and judge.compared == FITTING and entry.hits == hits
    assert 1_000_000 <= least <= mean < 18_000_000 <= own[1]
    assert _capture.entries(f.__code__) == ([entry] if verdict is None else [])
    run(hook, Asked(), f, judge=judge)
    assert len(judge.cases) == 1 and entry.hits == hits + (verdict is None)


def test_nothing_below_a_frame_that_is_compared_gets_hot(hook):
    """The entry has it already. Frames like that come no more."""

    def callee():
        work(0.001)

    judge = Doubting(None)
    f = on_trial(hook, judge, callee, f=LOOP)
    runs = [_capture.cold_runs(code.__code__)[1] for code in (f, callee)]
    asked = Asked()
    for _ in range(4):
        run(hook, asked, f, judge=judge)
    assert judge.cases and asked.names == []
    assert runs == [_capture.cold_runs(code.__code__)[1] for code in (f, callee)]


class DoubtingSteps(Doubting):
    """It waits for steps with their backward."""

    more = STEPS


def compared_steps(hook, judge, backward_of):
    """A function whose entry has been compared by steps, and their number. backward_of(value): seconds."""
    f = on_trial(hook, judge)

    def backward(value):
        work(backward_of(value))

    def outer_backward(value):  # the outer one counts
        backward(value)

    for function in (backward, outer_backward):
        asked = Asked(**{function.__name__: BACKWARD})
        run(hook, asked, function, None)  # from its first frame on the callback knows it
        _capture.skip_code(function.__code__)

    def step():
        outer_backward(f())

    for count in range(1, 40):
        if judge.compared == STEPS:
            break
        run(hook, Asked(step=LOOP), step, judge=judge, least_ns=10**12)
    return f, count


@pytest.mark.parametrize("verdict", [None, LEFT])
def test_an_entry_is_compared_by_steps_with_their_backward(hook, verdict):
    """Half of the steps run its frames in Python. The first one has begun before."""
    judge = DoubtingSteps(verdict)
    f, count = compared_steps(hook, judge, lambda value: 0.005)
    assert judge.compared == STEPS and 14 <= count <= 16
    ((_, entry, (middle, quarter), own),) = judge.cases
    assert 6_000_000 <= quarter <= middle < 18_000_000  # the frame, and its backward
    assert 23_000_000 <= own[1] <= own[0] < 40_000_000
    assert _capture.entries(f.__code__) == ([entry] if verdict is None else [])
    hits = entry.hits
    run(hook, Asked(), f, judge=judge)
    assert len(judge.cases) == 1 and entry.hits == hits + (verdict is None)


def test_steps_that_are_clearly_faster_are_soon_known(hook):
    """What the entry gives makes the backward faster than what Python gives."""
    judge = DoubtingSteps(None)
    _, count = compared_steps(hook, judge, lambda value: 0.001 if value == SLOW else 0.05)
    assert judge.compared == STEPS and count <= 8
    ((_, _, python, own),) = judge.cases
    assert own[0] < python[0]


def test_steps_are_compared_with_those_of_their_kind(hook):
    """Short and long backwards in turn: the entry neither gains nor loses by its share of the long ones."""
    judge = DoubtingSteps(None)
    f = on_trial(hook, judge)

    def backward(seconds):
        work(seconds)

    run(hook, Asked(backward=BACKWARD), backward, 0)
    _capture.skip_code(backward.__code__)

    def step():
        f()
        backward(0.001)
        f()
        backward(0.04)

    for _ in range(20):
        run(hook, Asked(step=LOOP), step, judge=judge, least_ns=10**12)
    ((_, _, (python, _), (own, _)),) = judge.cases
    assert judge.compared == STEPS and 10_000_000 < own - python < 26_000_000


def test_an_entry_with_nothing_to_compare_is_not_judged(hook):
    def f():
        return 1

    judge = Judge(None)
    asked = Capturing(hook, "f", lambda: 2)
    run(hook, asked, f)
    for _ in range(TRIAL + 5):
        run(hook, asked, f)
        run(hook, asked, f, judge=judge)
    assert asked.names == ["f"] and not judge.cases


def test_a_judge_wants_a_run_to_compare_with(hook):
    def f():
        return 1

    asked = Asked()
    assert [run(hook, asked, f, judge=Judge(None)) for _ in range(2)] == [1, 1] and asked.names == []
    run(hook, asked, f, judge=Judge(None))
    assert asked.names == ["f"]


def test_what_a_judge_raises_and_answers(hook):
    class Refusing(Judge):
        def __call__(self, *case):
            self.cases.append(case)
            raise KeyError("judge")

    with pytest.raises(KeyError, match="judge"):
        on_trial(hook, Refusing(None))
    with pytest.raises(ValueError, match="from 1 to 12, not 0"):
        on_trial(hook, Judge(0))


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


def test_below_an_import_no_frame_is_looked_at(hook):
    def inner():
        return 1

    def load():
        work(0.03)
        return inner()

    def f():
        return load()

    asked = Asked(load=IMPORT, inner=ASK)
    assert run(hook, asked, f, least_ns=10**12) == 1
    assert asked.names == [] and _capture.cold_runs(inner.__code__)[0] == 0
    assert _capture.cold_runs(f.__code__)[2] < 15_000_000  # an import happens once


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

    with pytest.raises(ValueError, match="from 1 to 12, not 17"):
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


def test_what_a_capture_costs_beside_is_asked_when_code_looks_hot(hook):
    asked, prices = Asked(), []

    def f():
        return work(0.002)

    def surcharge(code):
        prices.append(code.co_name)
        return 20_000_000

    def runs(count):
        for _ in range(count):
            run(hook, asked, f, least_ns=3_000_000, surcharge=surcharge)

    runs(1)
    assert prices == []  # it may not get hot
    runs(3)
    assert prices == ["f"] and asked.names == []
    while not asked.names:
        runs(1)
    assert prices == ["f", "f"] and asked.names == ["f"]  # it does not cost more than was known


def test_a_forecast_pays_for_what_the_capture_costs_beside(hook):
    asked = Asked()

    def f():
        return work(0.002)

    def runs(times):
        for _ in range(5):
            run(
                hook,
                asked,
                f,
                least_ns=10**9,
                foresee=lambda: will_save(times),
                surcharge=lambda code: 2 * 10**10,
            )

    runs(1000.0)
    assert asked.names == []
    runs(1e6)
    assert asked.names == ["f"]


def test_errors_of_the_surcharge_are_raised(hook):
    def f():
        return work(0.001)

    for wrong in (lambda code: 1 / 0, lambda code: "much"):
        with pytest.raises((ZeroDivisionError, TypeError)):
            for _ in range(3):
                run(hook, Asked(), f, surcharge=wrong)
        _capture.clear_entries(f.__code__)


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


def test_what_earlier_processes_have_spent_counts(hook):
    def f():
        return 1

    asked = Asked()

    def kind(code):
        _capture.spent_earlier(code, 10**9, 10**6)
        return asked.kind(code)

    def runs(count):
        for _ in range(count):
            hook.call_with(_capture.Patience(asked, kind, least_ns=10**7), f)

    runs(1)
    assert asked.names == []  # it has to have run here, too
    runs(1)
    assert asked.names == ["f"]
    for wrong in (-1, 10**15, 10**30, "1"):
        for times in ((wrong, 0), (10, wrong)):
            with pytest.raises((ValueError, OverflowError, TypeError)):
                _capture.spent_earlier(f.__code__, *times)


def runs_before_the_callback(spent, settings):
    """In a process without experience, whose runs of `f` take 4 ms; None: it is never asked."""
    program = f"""
import time, torch, _capture
def f():
    end = time.thread_time() + 0.004
    while time.thread_time() < end:
        pass
def kind(code):
    _capture.spent_earlier(code, *{spent})
    return 1
asked = []
patience = _capture.Patience(asked.append, kind, {settings})
runs = 0
while runs < 50 and not asked:
    _capture.set_callback(patience, asked)
    f()
    _capture.set_callback(None, None)
    runs += 1
print(runs if asked else None)
"""
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return ast.literal_eval(ran.stdout)


@pytest.mark.parametrize(
    "settings", ["least_ns=3 * 10**7", "least_ns=10**9, foresee=lambda: (1e-6, 1.0, False)"]
)
def test_a_process_captures_what_the_last_one_left_only_if_it_is_longer(settings):
    """`settings`: Python has spent what a capture costs, or will spend it."""
    soon, later = (runs_before_the_callback((ns, ns), settings) for ns in (0, 4 * 10**7))
    assert soon < 12 < later


def test_what_one_capture_imports_alone_has_to_pay():
    """What earlier processes have spent has to pay for the import of the compiler, too."""
    settings = "least_ns=10**8, first_ns={}"
    soon, never = (
        runs_before_the_callback((10**9, 10**9), settings.format(first)) for first in (0, 3 * 10**8)
    )
    assert soon == 2 and never is None


def runs_after_a_capture(seconds, gives_an_entry, least_ns):
    """In a process without experience: after a capture of `g` that was to cost `least_ns` and has taken
    `seconds`, how many runs of `f`, 4 ms each, come before the callback is asked about it. Its capture is to
    cost 30 ms without experience.
    """
    program = f"""
import time, _capture
def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
_capture.skip_code(work.__code__)
def f():
    work(0.004)
def g():
    work(0.001)
key, asked = object(), []
def callback(frame):
    asked.append(frame.code.co_name)
    work({seconds})
    if frame.code is g.__code__ and {gives_an_entry}:
        entry = _capture.Entry(None, key, code=(lambda: None).__code__)
        _capture.add_entry(frame.code, entry)
        return entry
def run(function, name, least_ns, **settings):
    patience, runs = _capture.Patience(callback, lambda code: 1, least_ns=least_ns, **settings), 0
    while runs < 100 and name not in asked:
        _capture.set_callback(patience, key)
        function()
        _capture.set_callback(None, None)
        runs += 1
    return runs
run(g, "g", {least_ns}, foresee=lambda: (1e-12, 1.0, False))
print(run(f, "f", 3 * 10**7))
"""
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return ast.literal_eval(ran.stdout)


@pytest.mark.parametrize(
    "seconds, gives_an_entry, least_ns, low, high",
    [
        (1.0, True, 10**7, 20, 28),  # it has cost a hundred times what was expected: 3 times the price
        (1.0, False, 10**7, 20, 28),  # so has what has given nothing
        (0.0, True, 10**9, 2, 5),  # it has cost next to nothing
        (0.0, False, 10**9, 8, 11),  # what ends early without an entry tells nothing of captures
    ],
)
def test_what_captures_have_cost_is_expected_of_the_next_ones(seconds, gives_an_entry, least_ns, low, high):
    assert low <= runs_after_a_capture(seconds, gives_an_entry, least_ns) <= high


def test_where_captures_were_in_vain_a_higher_price_is_asked(hook):
    """32 times the waste beside what Python has worked. Less than 0.1 s does not count."""

    def runs_of(wasted):
        def f():
            work(0.004)

        _capture.forget_prices()
        _capture.count_waste(wasted)
        asked, runs = Asked(), 0
        while not asked.names and runs < 100:
            run(hook, asked, f, least_ns=2 * 10**7)
            runs += 1
        return runs

    assert runs_of(0) <= 7 and runs_of(10**8) <= 7
    assert runs_of(10**12) == 100
    _capture.forget_prices()
    for ns, error in ((-1, ValueError), (2**70, OverflowError), ("1", TypeError)):
        with pytest.raises(error):
            _capture.count_waste(ns)


# --- what an earlier process has made --------------------------------------------------------------------


def test_a_stored_entry_is_looked_up_at_the_first_frame(hook):
    def f():
        return 1

    asked = Asked(f=STORED)
    for _ in range(3):
        assert run(hook, asked, f, least_ns=10**12) == 1
    assert asked.names == ["f"] * 3  # its kind is asked for each time: the callback may give up


def test_after_a_miss_the_frame_waits_as_others_do(hook):
    def f():
        return 1

    looks = []

    def find(frame):
        looks.append(frame)
        work(0.01)

    def kind(code):
        return STRAIGHT if looks else STORED

    for _ in range(4):
        hook.call_with(_capture.Patience(find, kind, least_ns=10**12), f)
    assert len(looks) == 2  # the second frame may find what the first one has made
    assert _capture.cold_runs(f.__code__)[:2] == (STRAIGHT, 4)


def test_a_doubted_entry_waits_for_runs_to_compare_with(hook):
    def f():
        return 1

    asked = Asked(f=DOUBTED)
    judge = Judge(None)
    for _ in range(3):
        run(hook, asked, f, least_ns=10**12, judge=judge)
    assert asked.names == ["f"]


def test_a_callee_of_a_cold_frame_is_not_looked_up(hook):
    def inner():
        return 1

    def outer():
        return inner()

    asked = Asked(inner=STORED)
    run(hook, asked, outer, least_ns=10**12)
    assert asked.names == []


def looks_in_vain(hook, driver, f, cost):
    """Whether gradients were enabled, for each look for an entry of `f`; a look takes `cost` seconds."""
    _capture.calibrate()
    looks = []

    def look(frame):
        looks.append(torch.is_grad_enabled())
        work(cost)

    def kind(code):
        if code is f.__code__:
            return STRAIGHT if looks else STORED
        return LOOP if code is driver.__code__ else NEVER

    hook.call_with(_capture.Patience(look, kind, least_ns=10**12), driver)
    return looks


def test_a_new_state_of_the_thread_is_looked_up_at_once(hook):
    def f():
        return 1

    def evaluates_and_trains():
        for _ in range(3):
            with torch.no_grad():
                f()
                f()
            f()

    assert looks_in_vain(hook, evaluates_and_trains, f, cost=0.02) == [False, False, True]


def test_the_second_frame_is_looked_up_too(hook):
    """The first one may have made what the entry asks for."""

    def f():
        return 1

    def trains():
        for _ in range(4):
            f()

    assert len(looks_in_vain(hook, trains, f, cost=0.05)) == 2


def test_nothing_is_foretold_below_a_first_frame_that_no_stored_entry_fits(hook):
    """The first step of an optimizer makes its state; the next ones run an entry, and none of its callees."""

    def callee():
        work(0.001)

    def updates():
        for _ in range(20):
            callee()

    def step():
        updates()

    def trains():
        for _ in range(3):
            step()

    looks, asked = [], []

    def look(frame):
        (looks if frame.code is step.__code__ else asked).append(len(looks))

    def kind(code):
        if code is step.__code__:
            return STRAIGHT if looks else STORED
        return STRAIGHT if code is callee.__code__ else LOOP

    foresee = lambda: will_save(10_000.0)  # noqa: E731
    hook.call_with(_capture.Patience(look, kind, least_ns=10**9, foresee=foresee), trains)
    assert min(asked) == 2  # the number of looks by then


def test_in_a_known_state_looks_cost_a_part_of_the_time(hook):
    def f():
        work(0.002)

    def trains():
        for _ in range(30):
            f()

    assert 2 <= len(looks_in_vain(hook, trains, f, cost=0.002)) <= 15


def test_looks_in_vain_get_rarer(hook):
    def f():
        work(0.001)

    def trains():
        for _ in range(200):
            f()

    assert 5 <= len(looks_in_vain(hook, trains, f, cost=0)) <= 12  # at 1, 2, 4, 8, ... frames


def test_an_answer_runs_at_once(hook):
    def f():
        return 1

    asked = Finds(hook, lambda: 2, f=STORED)
    assert run(hook, asked, f, least_ns=10**12) == 2


def test_what_the_loops_will_take_makes_a_frame_hot(hook):
    def f():
        work(0.001)

    asked = Asked()
    settings = {"least_ns": 10**9, "foresee": lambda: will_save(10_000.0)}
    for _ in range(4):
        run(hook, asked, f, **settings)
    assert asked.names == []  # the first forecast comes after four runs
    run(hook, asked, f, **settings)
    assert asked.names == ["f"]


@pytest.mark.parametrize("turns, pays", [(25, False), (10_000, True)])
def test_a_loop_that_runs_again_counts_with_what_is_left_of_it(hook, turns, pays):
    """In a `while`, runs of earlier times are no turns of the loop that runs now."""

    def f():
        work(0.0001)

    asked = Asked()
    _capture.clear_entries(f.__code__)
    for count in range(260):  # 26 ms
        done = (count % turns + 1) / turns
        run(hook, asked, f, least_ns=50_000_000, foresee=lambda done=done: (done, 1.0, False))
    assert bool(asked.names) is pays


def test_runs_that_count_anew_are_those_of_the_turns_since_then(hook):
    """Each of the turns has one, so some 500 are to come: not as many as the half that is over had."""

    def f():
        work(0.001)

    asked, turns = Asked(), itertools.count(500)
    _capture.clear_entries(f.__code__)
    for gain in (0.0, 1.0):
        for _ in range(5):
            done = next(turns) / 1000
            run(hook, asked, f, least_ns=10**8, foresee=lambda: (done, gain, False))  # noqa: B023
        if gain == 0.0:
            assert asked.names == []
            _capture.count_anew(f.__code__)
    assert asked.names == ["f"]


def test_hot_code_does_not_wait_where_the_loops_run_again(hook):
    def f():
        work(0.001)

    asked, turns = Asked(), itertools.cycle(range(1, 17))
    settings = {"least_ns": 40_000_000, "judge": lambda *_: None}
    for turn in turns:
        run(hook, asked, f, foresee=lambda turn=turn: (turn / 16, 0.001, False), **settings)
        if asked.names:
            break
        runs = _capture.cold_runs(f.__code__)[1]
    assert 30 < runs < 60


def test_forecasts_are_rare(hook):
    def f():
        work(0.0001)

    asked, forecasts = Asked(), []

    def foresee():
        forecasts.append(_capture.cold_runs(f.__code__)[1])
        return will_save(0.0)

    for _ in range(20):
        run(hook, asked, f, least_ns=10**8, foresee=foresee)
    assert forecasts == [4, 8, 16] and asked.names == []


def in_mode(grad, *args, **settings):
    with torch.set_grad_enabled(grad):
        run(*args, **settings)


def test_no_frame_of_the_other_grad_mode_is_captured_in_place_of_the_usual_ones(hook):
    """An entry serves one mode: the samples that a training draws are not its steps."""

    def f():
        work(0.002)

    _capture.calibrate()
    asked, settings = Asked(), {"least_ns": 7_000_000}
    for _ in range(4):
        in_mode(True, hook, asked, f, **settings)
    for _ in range(2):
        in_mode(False, hook, asked, f, **settings)
    assert asked.names == []
    in_mode(True, hook, asked, f, **settings)
    assert asked.names == ["f"]


def test_frames_of_the_other_mode_may_pay_alone(hook):
    def f(seconds):
        work(seconds)

    _capture.calibrate()
    asked, settings = Asked(), {"least_ns": 7_000_000}
    in_mode(True, hook, asked, f, 0.03, **settings)
    for _ in range(4):
        assert asked.names == []
        in_mode(False, hook, asked, f, 0.002, **settings)
    in_mode(False, hook, asked, f, 0.002, **settings)
    assert asked.names == ["f"]


def test_a_forecast_waits_for_a_frame_of_the_usual_mode(hook):
    def f():
        work(0.0005)

    _capture.calibrate()
    asked, forecasts = Asked(), []

    def foresee():
        forecasts.append(_capture.cold_runs(f.__code__)[1])
        return will_save(0.0)

    for grad in (True, True, True, True, False, False, True, True, True, True):
        in_mode(grad, hook, asked, f, least_ns=10**8, foresee=foresee)
    assert forecasts == [6, 8]


def test_no_forecast_where_the_time_is_nothing(hook):
    def f():
        return 1

    asked = Asked()
    for _ in range(10):
        run(hook, asked, f, least_ns=10**15, foresee=pytest.fail)
    assert asked.names == []


def test_frames_ahead_of_forecasts_are_looked_at(hook):
    def f(x):
        work(0.0001)

    asked, seen = Asked(), []
    settings = {"least_ns": 10**8, "foresee": lambda: will_save(0.0)}
    for number in range(300):
        run(hook, asked, f, number, glance=lambda frame: seen.append(frame.locals[0]), **settings)
    assert seen == [1, 2, 3, 7, 15, 31, 63, 127, 255]


def test_the_first_frame_that_an_entry_does_not_fit_is_looked_at(hook):
    """It may be captured after its second run, as what takes turns is."""
    f, asked = with_an_entry_for_one(hook, 0.0)
    seen = []
    for number in (2, 1, 3):
        run(hook, asked, f, number, least_ns=10**9, glance=lambda frame: seen.append(frame.locals[0]))
    assert seen == [2]


@pytest.mark.parametrize("times, waits", [(1e-6, True), (None, False), (1e6, False)])
def test_hot_code_waits_where_the_loops_end_soon(hook, times, waits):
    def f():
        work(0.01)

    asked = Asked()
    settings = {
        "least_ns": 15_000_000,
        "foresee": lambda: times and will_save(times),
        "judge": lambda *_: None,
    }
    for _ in range(3):  # 20 ms are spent before the third one
        run(hook, asked, f, **settings)
    assert bool(asked.names) is not waits
    while not asked.names:
        assert _capture.cold_runs(f.__code__)[2] < 4 * 15_000_000  # three times that, and a run
        run(hook, asked, f, **settings)


WRONG_FORECASTS = [
    (lambda wrong=wrong: wrong, ValueError)
    for wrong in (
        0.5,
        (0.5, 0.5),
        (0.0, 0.5, False),
        (1.5, 0.5, False),
        (0.5, -1.0, False),
        ("1", 0.5, False),
    )
]


@pytest.mark.parametrize("forecast, error", [(lambda: 1 / 0, ZeroDivisionError), *WRONG_FORECASTS])
def test_an_error_of_a_forecast_reaches_the_program(hook, forecast, error):
    def f():
        work(0.001)

    asked = Asked()
    _capture.clear_entries(f.__code__)
    for _ in range(4):
        run(hook, asked, f, least_ns=10**9, foresee=forecast)
    with pytest.raises(error):
        run(hook, asked, f, least_ns=10**9, foresee=forecast)
