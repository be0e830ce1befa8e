"""A method of a built-in object is guarded as a method of that class; its object is followed."""

from __future__ import annotations

import torch

import capture

x = torch.ones(3)


def calls(x, method, *args):
    return x + 1, method(*args)


def test_objects_and_methods_that_change():
    compiled = capture.compile(calls, backend="eager", fullgraph=True)
    entries, others, options = [], [5], {"a": 1, "b": 2}
    for method, argument in (
        (entries.append, 1),
        (others.append, 1),
        (others.index, 1),
        (options.get, "a"),
        (options.pop, "b"),
    ):
        value, result = compiled(x, method, argument)
        assert torch.equal(value, x + 1)
        assert result == {"append": None, "index": 1, "get": 1, "pop": 2}[method.__name__]
    assert (entries, others, options) == ([1], [5, 1], {"a": 1})


def test_one_graph_serves_methods_of_equal_objects():
    capture.reset()
    capture.counters.clear()
    compiled = capture.compile(calls, backend="eager", fullgraph=True)
    for _ in range(3):
        entries = []
        compiled(x, entries.append, 1)
        assert entries == [1]
    assert capture.counters["graphs"]["compiled"] == 1


class Log:
    def __init__(self):
        self.entries = []
        self.add = self.entries.append
        self.options = {"a": 1}
        self.option = self.options.get


def logs(x, add, log):
    log.add(x.shape[0])
    log.add(len(log.entries))
    return add(1) * log.option("a"), log.option("b", 2), log.add is log.add, list(map(log.option, ["a"]))


def test_methods_kept_as_attributes():
    compiled = capture.compile(logs, backend="eager", fullgraph=True, dynamic=False)
    log, expected_log = Log(), Log()
    for _ in range(2):
        (value, *others), (expected, *expected_others) = compiled(x, x.add, log), logs(x, x.add, expected_log)
        assert torch.equal(value, expected)
        assert others == expected_others
        assert log.entries == expected_log.entries


class Doubling(list):
    def append(self, value):
        super().append(value * 2)


def test_a_method_past_the_class_of_its_object_is_left_to_python():
    entries = Doubling()
    capture.compile(calls, backend="eager")(x, super(Doubling, entries).append, 3)
    assert entries == [3]
    capture.compile(calls, backend="eager")(x, entries.append, 3)
    assert entries == [3, 6]
