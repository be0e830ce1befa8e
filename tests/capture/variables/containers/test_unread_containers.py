"""Existing containers that the program changes and does not read: one entry serves all their contents.

Each program runs ten times in eager and captured. Results, containers and the number of entries are compared.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture
from capture.report.config import config
from capture.report.counters import counters
from tests.capture.test_cases import same

CALLS = 10


class Log(list):  # type: ignore[type-arg]
    """A list with a method of its own."""

    def note(self, value: Any) -> None:
        self.append(value)


class Loud(list):  # type: ignore[type-arg]
    def append(self, value: Any) -> None:
        super().append((value, len(self)))


class Ended:
    """An object whose end Python sees."""

    ends = 0

    def __del__(self) -> None:
        Ended.ends += 1


class Tracker:
    def __init__(self) -> None:
        self.steps = 0
        self.history: list[Any] = []
        self.named: dict[Any, Any] = {}

    def step(self, x: Any) -> Any:
        self.steps += 1
        self.history.append(x.sum())
        return x * 2


class ReplayMemory:
    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.memory: list[Any] = []
        self.position = 0

    def push(self, item: Any) -> None:
        if len(self.memory) < self.capacity:
            self.memory.append(None)
        self.memory[self.position] = item
        self.position = (self.position + 1) % self.capacity


def append(x, i, held):
    held.append(x * 2)
    return x + 1


def append_twice(x, i, held):
    held.append(x * 2)
    held.append(i)
    return x + 1


def append_and_look(x, i, held):
    held.append(x * 2)
    held.append(i)
    same = held[-2]
    return same + held[-1], same is held[-2], f"step {i}: {held[-1]}"


def append_and_look_at_a_list(x, i, held):
    held.append([x])
    held[-1].append(i)
    return held[-1][0] + 1


def append_and_look_further(x, i, held):
    held.append(x * 2)
    return held[-2] if i else held[-1]


def store_over_the_appended(x, i, held):
    held.append(x * 2)
    held[len(held) - 1] = x * 3
    return held[-1] + 1


def extend(x, i, held):
    held.extend([x, x + 1])
    held += (x * 3,)
    return x - 1


def append_itself(x, i, held):
    held.append(held)
    held.append(x * 2)
    return x


def append_and_raise(x, i, held):
    try:
        held.append(x * 2)
        raise ValueError(i > 100)
    except ValueError:
        held.append(x)
    return x * 3


def append_in_loop(x, i, held):
    for scale in (1, 2, 3):
        held.append(x * scale)
    return x


def append_around_break(x, i, held):
    held.append(x * 2)
    y = x + 1
    capture.graph_break()
    held.append(y * 2)
    return y * 3


def append_in_generator(x, i, held):
    def items():
        for scale in (1, 2):
            held.append(x * scale)
            yield x + scale

    return sum(items())


def new_key(x, i, held):
    held[i] = x * 2
    return x + 1


def new_text_key(x, i, held):
    held[f"step {i}"] = x * 2
    held["last"] = x
    return x + 1


def same_key(x, i, held):
    held["last"] = x * 2
    return x + 1


def changing_default(x, i, held):
    held["loss"].append(x * 2)
    held["count"].append(i)
    return x + 1


def count(x, i, held):
    held["calls"] += 1
    return x + 1


def add(x, i, held):
    held.add(i)
    held.add("seen")
    return x * 2


def note(x, i, held):
    held.note(x * 2)
    return x


def track(x, i, held):
    return held.step(x)


def push(x, i, held):
    held.push((x, i))
    return x * 2


def length(x, i, held):
    held.append(x)
    return x * 2 if len(held) > 3 else x


def added_length(x, i, held):
    held.append(x)
    held.append(i)
    return x + len(held)


def truth(x, i, held):
    y = x * 2 if held else x
    held.append(y)
    return y


#: program, what makes the container, the most entries
FEW_ENTRIES: list[tuple[Callable[..., Any], Callable[[], Any], int]] = [
    (append, list, 1),
    (append_and_look, list, 2),
    (append_and_look, Log, 2),
    (append_and_look_at_a_list, list, 2),
    (append, Log, 1),
    (append, collections.deque, 1),
    (append, lambda: collections.deque(maxlen=4), 2),
    (append, lambda: collections.deque(maxlen=100), 1),
    (append_twice, list, 2),
    (append_twice, lambda: collections.deque(maxlen=7), 4),
    (extend, list, 1),
    (extend, collections.deque, 1),
    (append_itself, list, 1),
    (append_and_raise, list, 2),
    (append_in_loop, list, 1),
    (append_around_break, list, 2),
    (append_in_generator, list, 1),
    (new_key, dict, 2),
    (new_key, collections.OrderedDict, 2),
    (new_text_key, dict, 2),
    (same_key, dict, 2),
    (changing_default, lambda: collections.defaultdict(list), 3),
    (count, collections.Counter, 3),
    (add, set, 2),
    (note, Log, 1),
    (track, Tracker, 2),
    (push, lambda: ReplayMemory(6), 3),
    (length, list, 3),
    (added_length, list, 3),
    (added_length, lambda: collections.deque(maxlen=4), 6),
    (truth, list, 2),
]


def read_last(x, i, held):
    held.append(x * 2)
    return held[-1] + len(held)


def read_before(x, i, held):
    before = len(held)
    held.append(x)
    held.append(x * 2)
    return x + before, held[before:]


def insert(x, i, held):
    held.append(x)
    held.insert(0, i)
    held[1:2] = [x, x]
    return x + 1


def pop(x, i, held):
    held.append(x)
    held.append(x * 2)
    return held.pop() + 1


def iterate(x, i, held):
    held.append(x)
    return sum(held)


def copy_then_append(x, i, held):
    copied = list(held)
    held.append(x)
    return x * len(copied), copied == held


def stored_then_read(x, i, held):
    held[i % 3] = x
    held["a"] = x * 2
    found = held.get(1), held["a"], list(held)
    held[i] = x
    return x + 1, found, len(held)


def stored_and_removed(x, i, held):
    held[i] = x
    held["a"] = i
    del held["a"]
    held["b"] = held.pop(i)
    return x + 1


def stored_while_walking(x, i, held):
    for key in held:
        held[key] = x
    held[i] = x * 2
    try:
        for key in held:
            held[f"new {i} {key}"] = x
    except RuntimeError as error:
        return x * 2, str(error)
    return x


def added_then_read(x, i, held):
    held.add(i % 4)
    found = i in held, len(held), sorted(held)
    held.add(i)
    return x + 1, found


def loud(x, i, held):
    held.append(i)
    return x * 2


def moved(x, i, held):
    iterator = iter(held)
    held.append(x)
    return [item * 2 for item in iterator]


def release(x, i, held):
    held.append(i)
    return x * 2, Ended.ends


def _full_of_ended() -> Any:
    return collections.deque([Ended() for _ in range(3)], maxlen=3)


READ: list[tuple[Callable[..., Any], Callable[[], Any]]] = [
    (read_last, list),
    (read_last, collections.deque),
    (read_last, lambda: collections.deque(maxlen=3)),
    (read_before, list),
    (append_and_look_further, list),
    (store_over_the_appended, list),
    (append_and_look, lambda: collections.deque(maxlen=2)),
    (insert, list),
    (pop, list),
    (pop, collections.deque),
    (pop, lambda: collections.deque(maxlen=3)),
    (iterate, list),
    (copy_then_append, list),
    (stored_then_read, dict),
    (stored_then_read, collections.OrderedDict),
    (stored_and_removed, dict),
    (stored_while_walking, dict),
    (added_then_read, set),
    (loud, Loud),
    (moved, list),
    (release, _full_of_ended),
]


def _name(row: Any) -> str:
    made = row[1]()
    limit = getattr(made, "maxlen", None)
    return f"{row[0].__name__}-{type(made).__name__}{'' if limit is None else limit}"


def _contents(held: Any) -> Any:
    """The container as a value that can be compared, without the container itself among its items."""
    if isinstance(held, (Tracker, ReplayMemory)):
        return {name: _contents(value) for name, value in vars(held).items()}
    if isinstance(held, (list, collections.deque)):
        return [type(held).__name__, *("itself" if item is held else item for item in held)]
    return [(key, held[key]) for key in held] if isinstance(held, dict) else held


def _run(step: Callable[..., Any], held: Any) -> tuple[list[Any], Any]:
    Ended.ends = 0
    results = [step(torch.arange(3.0) + i, i, held) for i in range(CALLS)]
    return results, _contents(held)


def _compare(program: Callable[..., Any], make: Callable[[], Any]) -> int:
    """Runs the program in eager and captured. Returns the number of its entries."""
    capture.reset()
    before = counters["frames"]["captured"]
    expected = _run(program, make())
    with config.patch(raise_on_error=True):
        got = _run(capture.compile(program, backend="eager"), make())
    assert same(got, expected), (got, expected)
    return counters["frames"]["captured"] - before


@pytest.mark.parametrize("row", FEW_ENTRIES, ids=_name)
def test_entries_do_not_grow_with_the_container(row: Any) -> None:
    program, make, most = row
    found = _compare(program, make)
    assert 0 < found <= most


@pytest.mark.parametrize("row", READ, ids=_name)
def test_what_is_read_is_guarded(row: Any) -> None:
    _compare(*row)


def test_one_list_under_two_names() -> None:
    def step(x, first, second):
        first.append(x)
        second.append(x * 2)
        return len(first)

    fast = capture.compile(step, backend="eager")
    for calls in range(3):
        one, other = [calls], [calls]
        assert fast(torch.ones(2), one, other) == 2
        assert [len(one), len(other)] == [2, 2]
        assert fast(torch.ones(2), one, one) == 4
        assert [item.sum().item() for item in one[2:]] == [2.0, 4.0]


def test_a_list_behind_a_list() -> None:
    """The inner list is changed before anybody reads the outer one."""

    def step(x, outer, inner):
        inner.append(x)
        return outer[0][-1] + 1

    fast = capture.compile(step, backend="eager")
    for _ in range(4):
        inner: list[Any] = []
        assert fast(torch.ones(2), [inner], inner).tolist() == [2.0, 2.0]
        other = [torch.zeros(2)]
        assert fast(torch.ones(2), [other], inner).tolist() == [1.0, 1.0]
        assert len(inner) == 2


def test_explain_shows_no_guard_on_what_is_only_appended() -> None:
    losses: list[Any] = [1, 2]
    explained = capture.explain(append)(torch.ones(2), 0, losses)
    assert "len(held)" not in str(explained)
    assert "type(held)" in str(explained)


@pytest.mark.parametrize("reads", [False, True])
def test_a_frame_that_only_fills_a_buffer_is_looked_at_once(reads: bool) -> None:
    """It has no operations: Python runs it, and the guards of its changes say nothing. Those of what it reads
    tell whether it will have some.
    """

    def push(buffer: Any, *row: Any) -> Any:
        buffer.append(row)
        return row[0] * 2 if reads and len(buffer) == 4 else None

    expected: collections.deque[Any] = collections.deque(maxlen=3 if not reads else 4)
    found = collections.deque(expected, maxlen=expected.maxlen)
    fast = capture.compile(push)
    for turn in range(8):
        row = (torch.full((2,), float(turn)), [turn])
        same(fast(found, *row), push(expected, *row))
        same(list(found), list(expected))
    if reads:
        assert counters["graphs"]["compiled"]
    else:
        assert not sum(counters["recompiles"].values())
