"""Functions under `functools.lru_cache` that only write texts: they run behind the graph."""

from __future__ import annotations

import functools
import logging

import pytest
import torch

import capture
from capture.report.counters import counters

X = torch.arange(3.0)


def make():
    """Programs whose functions have new caches, and their logger."""

    class Library(logging.Logger):
        @functools.lru_cache(None)  # noqa: B019
        def warning_once(self, *args):
            self.warning(*args)

    @functools.lru_cache(None)
    def note(text):
        print(text)

    @functools.lru_cache(1)
    def last(text):
        print("last", text)

    @functools.lru_cache(None)
    def tell(text):
        print(text)
        return 1

    logger = Library("library")
    logger.addHandler(logging.StreamHandler())

    def by_method(x, text):
        y = x * 2
        logger.warning_once("hello %s", text)
        logger.warning_once("hello %s", text)
        return y + 1

    def by_function(x, text):
        print("before")
        y = x * 2
        note("note " + text)
        print("after")
        return y + 1

    def bounded(x, text):
        y = x * 2
        last(text)
        return y + 1

    def with_a_result(x, text):
        y = x * 2
        return y + tell(text)

    def in_try(x, text):
        try:
            note(text)
        except ValueError:
            return x
        return x * 2 + 1

    functions = {f.__name__: f for f in (by_method, by_function, bounded, with_a_result, in_try)}
    return functions, logger


BROKEN = ("bounded", "with_a_result", "in_try")  # the call there is Python's


@pytest.mark.parametrize("name", ("by_method", "by_function", *BROKEN))
def test_what_they_write(name: str, capfd) -> None:
    capture.reset()
    texts = []
    for captures in (False, True):
        functions, logger = make()
        function = capture.compile(functions[name]) if captures else functions[name]
        for text in ("one", "one", "two", "one", "two"):
            assert torch.equal(function(X, text), X * 2 + 1)
        logger.setLevel(logging.ERROR)
        function(X, "three")
        logger.setLevel(logging.DEBUG)
        function(X, "three")
        function(X, "four")
        texts.append(capfd.readouterr())
    expected, got = texts
    assert got == expected
    assert counters["graphs"]["compiled"]
    assert bool(counters["graph_breaks"]) == (name in BROKEN)


class Box:
    def __init__(self, value):
        self.value = value

    @functools.lru_cache(None)  # noqa: B019
    def held(self):
        return self.value or None

    @functools.lru_cache(None)  # noqa: B019
    def check(self):
        if self.value < 0:
            raise ValueError("negative")


def reads(x, box):
    return x + 1 if box.held() is None else x + 2


def checks(x, box):
    y = x * 2
    box.check()
    return y + box.value


@pytest.mark.parametrize("function", [reads, checks])
def test_what_the_cache_has_counts(function) -> None:
    """What the function would give or raise now is no matter where an earlier call is in the cache."""
    capture.reset()
    captured, boxes = capture.compile(function), (Box(5), Box(5))
    for value in (5, 0, -1):
        for box in boxes:
            box.value = value
        assert torch.equal(captured(X, boxes[0]), function(X, boxes[1]))
    assert counters["graphs"]["compiled"]
    for run in (function, captured):
        if function is checks:
            with pytest.raises(ValueError, match="negative"):
                run(X, Box(-1))
