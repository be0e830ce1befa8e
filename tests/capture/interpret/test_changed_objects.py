"""Writes and reads of a frame: two objects in one call, one object in another, in either order."""

from __future__ import annotations

import copy
from collections import deque
from typing import Any

import pytest
import torch

import capture
from capture.report.counters import counters


class Plain:
    def __init__(self) -> None:
        self.value = 1


def length_behind_append(a, b):
    a.append(1)
    return len(b)


def item_behind_assignment(a, b):
    a[0] = 5
    return b[0]


def both_appended(a, b):
    a.append(2)
    b.append(3)
    return list(a), list(b)


def length_behind_a_key(a, b):
    a["new"] = 1
    return len(b), "new" in b


def member_behind_add(a, b):
    a.add(7)
    return 7 in b


def attribute_behind_assignment(a, b):
    a.value = 2
    return b.value


def new_attribute(a, b):
    a.other = 2
    return hasattr(b, "other")


WORLDS: list[tuple[Any, Any]] = [
    (length_behind_append, [1]),
    (length_behind_append, deque([1])),
    (item_behind_assignment, [1]),
    (item_behind_assignment, {0: 1}),
    (both_appended, [1]),
    (length_behind_a_key, {"a": 1}),
    (member_behind_add, {1}),
    (attribute_behind_assignment, Plain()),
    (new_attribute, Plain()),
    (new_attribute, torch.nn.ReLU()),
    (new_attribute, torch.ones(2)),
]


def _arguments(sample: Any, same: bool) -> tuple[Any, Any]:
    first = copy.deepcopy(sample)
    return first, first if same else copy.deepcopy(sample)


@pytest.mark.parametrize("order", [(False, True, False), (True, False, True)])
@pytest.mark.parametrize(("change", "sample"), WORLDS)
def test_one_object_or_two(change: Any, sample: Any, order: tuple[bool, ...]) -> None:
    def program(x, a, b):
        return x + 1, change(a, b)

    capture.reset()
    fast = capture.compile(program, backend="eager", fullgraph=True)
    x = torch.ones(3)
    for same in order:
        assert fast(x, *_arguments(sample, same))[1] == program(x, *_arguments(sample, same))[1]
    assert counters["graphs"]["compiled"] == 2  # one for each


def test_many_objects() -> None:
    def program(x, objects):
        for one in objects:
            one.value += 1
        return x + sum(one.value for one in objects)

    fast = capture.compile(program, backend="eager", fullgraph=True)
    x = torch.ones(3)
    for again in (False, True, False):
        made = [[Plain() for _ in range(10)] for _ in range(2)]
        for objects in made:
            objects[3] = objects[7] if again else objects[3]
        assert torch.equal(fast(x, made[0]), program(x, made[1]))
