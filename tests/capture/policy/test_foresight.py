"""How much of the loops around a frame is still to come, and what is captured for it."""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import sys
import tarfile
import threading
from types import FunctionType

import _capture
import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import capture
from capture.bytecode.loop_iterators import iterator_places
from capture.bytecode.loop_limits import limited_loops
from capture.policy import gains, patience
from capture.policy.foresight import share_done


def alone(function, *args):
    """What the function finds on a thread of its own, where no frame of pytest has a loop."""
    found = []
    thread = threading.Thread(target=function, args=(*args, found))
    thread.start()
    thread.join()
    return found


def seen(found):
    """How often what the loops have taken so far will be taken again."""
    done = share_done(sys._getframe(1))
    found.append(None if done is None else 1 / done - 1)


def plain_range(n, found):
    for _ in range(n):
        seen(found)


def very_long_range(n, found):
    for _ in range(2**80, 2**80 + n):
        seen(found)


class Nameless(list):
    def __len__(self):
        raise ValueError("asked by somebody else")


def list_of_the_program(n, found):
    for _ in range(n):
        for _ in Nameless([1, 2]):
            seen(found)
            break


def the_list(n, found):
    for _ in list(range(n)):
        seen(found)


def the_tuple(n, found):
    for _ in tuple(range(n)):
        seen(found)


def enumerated(n, found):
    for _, _ in enumerate(list(range(n)), 7):
        seen(found)


def zipped(n, found):
    for _, _ in zip(range(10 * n), range(n), strict=False):
        seen(found)


def comprehension(n, found):
    return [seen(found) for _ in range(n)]


def generated(n, found):
    def numbers():
        for i in range(n):
            yield i

    for _ in numbers():
        seen(found)


def delegated(n, found):
    def numbers():
        yield from range(n)

    for _ in numbers():
        seen(found)


def asked_by_a_generator(n, found):
    def numbers(items):
        while (item := next(items, None)) is not None:
            yield item

    for _ in numbers(iter(range(n))):
        seen(found)


def samples(n, **options):
    return DataLoader(TensorDataset(torch.arange(4 * n)), **{"batch_size": 4, **options})


def batches(n, found):
    for _ in samples(n):
        seen(found)


def shuffled_batches(n, found):
    for _, _ in enumerate(samples(n, shuffle=True)):
        seen(found)


def whole_batches(n, found):
    for _ in samples(n, shuffle=True, drop_last=True):
        seen(found)


def single_samples(n, found):
    for _ in DataLoader(TensorDataset(torch.arange(n)), batch_size=None):
        seen(found)


def within_calls(n, found):
    def inner():
        with open("/dev/null"):
            try:
                seen(found)
            finally:
                pass

    for _ in range(n):
        inner()


def after_an_exception(n, found):
    for _ in range(n):
        try:
            raise ValueError
        except ValueError:
            seen(found)


def with_values_on_the_stack(n, found):
    for _ in range(n):
        str((1, 2, [3, seen(found)]))


@pytest.mark.parametrize(
    "loop",
    [
        plain_range,
        very_long_range,
        list_of_the_program,
        the_list,
        the_tuple,
        enumerated,
        zipped,
        comprehension,
        generated,
        delegated,
        asked_by_a_generator,
        batches,
        shuffled_batches,
        whole_batches,
        single_samples,
        within_calls,
        after_an_exception,
        with_values_on_the_stack,
    ],
)
def test_turns_of_a_loop(loop):
    assert alone(loop, 5) == pytest.approx([5 / turn - 1 for turn in range(1, 6)])


def test_batches_without_an_end():
    class Endless(IterableDataset):
        def __iter__(self):
            return itertools.count()

    def run(found):
        for _ in itertools.islice(DataLoader(Endless()), 3):
            seen(found)

    assert alone(run) == [None, None, None]


def test_a_range_that_never_ends():
    def run(found):
        for _ in zip(range(2**90), range(0, -(2**80), -1), strict=False):
            seen(found)
            break

    (times,) = alone(run)
    assert times == pytest.approx(2.0**80)


DEEP = """
import torch

def small(x):
    for _ in range(40):
        x = x * 1.01 + 1
    return x

def deep(levels, x):
    if levels:
        return deep(levels - 1, x)
    for _ in range(20):
        x = small(x)
    return x
"""


def deepest(block):
    """How many levels below this the function still runs."""
    x = torch.ones(10_000)
    for levels in range(sys.getrecursionlimit() - 150, sys.getrecursionlimit()):
        names: dict[str, FunctionType] = {}
        exec(DEEP, names)
        try:
            with block():
                names["deep"](levels, x)
        except RecursionError:
            return levels
    raise AssertionError


def test_the_end_of_the_stack_is_where_it_is_without_a_forecast():
    def run(found):
        with capture.config.patch(when="hot"):
            found += [deepest(contextlib.nullcontext), deepest(capture.enable)]

    without, captured = alone(run)
    assert captured >= without


def test_loops_in_loops():
    def run(found):
        for _ in range(3):
            plain_range(4, found)

    assert alone(run) == pytest.approx([12 / turn - 1 for turn in range(1, 13)])


def test_a_loop_within_a_zip():
    def run(found):
        for _, _ in zip(range(3), range(9), strict=False):
            plain_range(4, found)

    assert alone(run) == pytest.approx([12 / turn - 1 for turn in range(1, 13)])


def test_a_loop_within_the_batches_of_a_loader():
    """How much of a batch is done is not looked at: all of it counts."""

    def run(found):
        for _ in samples(3):
            plain_range(2, found)

    assert alone(run) == pytest.approx([2, 2, 0.5, 0.5, 0, 0])


def test_an_unknown_loop_in_a_known_one():
    def run(found):
        for _ in range(4):
            turns = [1, 2]
            while turns:
                seen(found)
                turns.pop()

    assert alone(run) == pytest.approx([3, 3, 1, 1, 1 / 3, 1 / 3, 0, 0])


def test_without_a_known_loop():
    def run(found):
        seen(found)
        for _ in iter(lambda: len(found), 3):
            seen(found)

    assert alone(run) == [None, None, None]


def test_a_frame_without_a_caller():
    assert share_done(None) is None


def test_a_list_that_shrinks_under_its_loop():
    def run(found):
        items = [1, 2, 3, 4]
        for _ in items:
            del items[2:]
            seen(found)

    assert alone(run) == [1, 0]


def test_an_iterator_that_is_moved_under_its_loop():
    def run(found):
        for _ in (iterator := iter(range(4))):
            iterator.__setstate__(0 if not found else 4)
            seen(found)

    assert alone(run) == [None, 0]


def test_a_loop_that_was_left_is_over():
    def leaves(items, found):
        for item in items:
            if item:
                break
        return seen(found)

    def returns(items, found):
        for item in items:
            if item:
                return seen(found)

    assert alone(leaves, [0, 1, 2, 3]) == [None]
    assert alone(returns, [0, 1, 2, 3]) == [1]  # the frame holds the iterator until the call is done


LIMIT = 4


class Settings:
    steps = 5  # an attribute of the class, as in settings of trainers

    def __init__(self):
        self.step = 0


def up_to_a_variable(found, steps=4):
    step = 0
    while step < steps:
        step += 1
        seen(found)


def up_to_a_global(found):
    step = 0
    while LIMIT >= step:
        seen(found)
        step += 1


def up_to_an_attribute(found):
    settings = Settings()
    while settings.step != settings.steps:
        if settings.step % 2:
            settings.step += 1
            continue
        seen(found)
        settings.step += 1


def up_to_a_break(found):
    step = 0
    while True:
        if found is None:
            print()
        seen(found)
        step += 1
        if step >= 4:
            break
        found.append("turned")


def up_to_a_return_from_inside(found):
    step = 0
    while True:
        for item in (1, 2):
            if step == 4:
                return
            seen(found)
            step += item > 0


def up_to_a_cell(found):
    step = 0

    def later():
        return step

    while step < 4:
        seen(found)
        step += 1


def by_floats(found):
    time = 0.0
    while time < 1.0:
        seen(found)
        time += 0.25


def around_a_range(found):
    step = 0
    while step < 2:
        for _ in range(4):
            seen(found)
        step += 1


def in_a_range(found):
    for _ in range(2):
        step = 0
        while step < 4:
            seen(found)
            step += 1


def over_a_stream(found):
    for step in itertools.count():
        if step > 2:
            break
        seen(found)


def with_an_early_end(found):
    step = bad = 0
    while step < 4:
        if bad > 100:
            return
        seen(found)
        step += 1


def down_to_zero(found):
    left = 2
    while left > 0:
        seen(found)
        left -= 1


def until_a_call_says_so(found):
    while len(found) < 2:
        seen(found)


class Asked(int):
    pass


def up_to_a_number_of_the_program(found):
    step, steps = 0, Asked(2)
    while step < steps:
        seen(found)
        step += 1


@pytest.mark.parametrize(
    "function, expected",
    [
        (up_to_a_variable, [1, 1 / 3, 0, 0]),  # it counts ahead of the work
        (up_to_a_global, [3, 1, 1 / 3, 0, 0]),
        (up_to_an_attribute, [4, 2 / 3, 0]),
        (up_to_a_break, [3, "turned", 1, "turned", 1 / 3, "turned", 0]),
        (up_to_a_return_from_inside, [7, 1, 3 / 5, 0]),
        (up_to_a_cell, [3, 1, 1 / 3, 0]),
        (by_floats, [None, 3, 1, 1 / 3]),
        (around_a_range, [7, 3, 5 / 3, 1, 3 / 5, 1 / 3, 1 / 7, 0]),
        (in_a_range, [7, 3, 5 / 3, 1, 3 / 5, 1 / 3, 1 / 7, 0]),
        (over_a_stream, [1, 0, 0]),
        (with_an_early_end, [3, 1, 1 / 3, 0]),
        (down_to_zero, [None, None]),
        (until_a_call_says_so, [None, None]),
        (up_to_a_number_of_the_program, [None, None]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_loops_that_count_up_to_a_limit(function, expected):
    found = alone(function)
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert one == (pytest.approx(other, abs=1e-9) if isinstance(other, float | int) else other)


def test_limits_of_the_standard_library_are_read_without_errors():
    classes = [c for module in (argparse, tarfile) for c in vars(module).values() if isinstance(c, type)]
    codes = [f.__code__ for c in classes for f in vars(c).values() if isinstance(f, FunctionType)]
    loops = [(code, loop) for code in codes for loop in limited_loops(code)]
    assert loops
    for code, loop in loops:
        assert 0 <= loop.start < loop.end < len(code.co_code) and 0 <= loop.height < code.co_stacksize


def test_the_places_of_iterators_lie_on_the_stack_one_above_the_other():
    classes = [c for module in (argparse, tarfile) for c in vars(module).values() if isinstance(c, type)]
    codes = [f.__code__ for c in classes for f in vars(c).values() if isinstance(f, FunctionType)]
    loops = [(code, places) for code in codes for places in iterator_places(code).values()]
    assert len(loops) > 1000
    for code, places in loops:
        assert list(places) == sorted(set(places)) and places[-1] < code.co_stacksize


def counted_turns(f):
    for _ in range(1000):
        yield f()


def unknown_turns(f):
    while True:
        yield f()


@pytest.mark.parametrize(
    "turns, least_ns, captured",
    [
        (counted_turns, 10**10, True),
        (unknown_turns, 10**10, False),
        (unknown_turns, 10_000, True),
    ],
    ids=["a long loop", "nothing is known", "enough is spent"],
)
def test_the_length_of_a_loop_decides(turns, least_ns, captured, monkeypatch):
    """Six runs take next to nothing of the higher cost, and more than the lower one. One run takes longer
    than a millisecond: so long the clock may stand.
    """
    capture.reset()
    monkeypatch.setattr(patience, "UNIT_NS", 0)
    monkeypatch.setattr(patience, "LEAST_NS", least_ns)
    monkeypatch.setattr(gains, "GAIN", 1e4)
    monkeypatch.setattr(patience, "FIRST_NS", 0)

    def f():
        x = torch.ones(50_000)
        for _ in range(20):
            x = torch.sin(x)
        return x

    def run(found):
        with capture.config.patch(when="hot"), capture.enable():
            for _ in itertools.islice(turns(f), 6):
                found.append(any(entry.graph or entry.code for entry in _capture.entries(f.__code__)))

    assert alone(run)[-1] is captured


def test_a_look_at_the_loops_around_a_frame_brings_no_collection_nearer():
    """What is noted of their code stays. A full collection, in the first step of a program, takes 0.1 s."""
    lines = [f" for i{number} in range(2): outlook()" for number in range(60)]
    space = {"outlook": patience.outlook}
    exec("\n".join(["def loops():", *lines]), space)
    gc.collect()
    before = gc.get_stats()[0]["collections"]
    space["loops"]()
    assert gc.get_stats()[0]["collections"] == before
