"""`_capture.SizedGraph`: which graph is called, how many are kept, references."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import _capture
import pytest


class Maker:
    def __init__(self) -> None:
        self.made: list[tuple[Any, ...]] = []

    def __call__(self, *args: Any) -> Any:
        self.made.append(args)
        return lambda *given: (len(self.made), *given)


def test_found_by_the_ints_alone() -> None:
    maker = Maker()
    sized = _capture.SizedGraph((0, 2), 8, maker)
    assert sized(1, "x", 2) == (1, 1, "x", 2)
    assert sized(1, "y", 2) == (1, 1, "y", 2)
    assert sized(2, "z", 1) == (2, 2, "z", 1)
    assert [args[1] for args in maker.made] == ["x", "z"] and sized.kept == 2


def test_many_ints() -> None:
    sized = _capture.SizedGraph(tuple(range(100)), 2, Maker())
    for last in (1, 2, 1, 3):
        assert sized(*range(99), last)[1:] == (*range(99), last)
    assert sized.kept == 2


def test_the_least_recently_used_goes() -> None:
    maker = Maker()
    sized = _capture.SizedGraph((0,), 2, maker)
    for n in (1, 2, 1, 3, 1, 2):
        sized(n)
    assert [args[0] for args in maker.made] == [1, 2, 3, 2] and sized.kept == 2


@pytest.mark.parametrize("value", [2**70, True, 1.0, "n", None])
def test_what_is_no_small_int_is_not_kept(value: Any) -> None:
    maker = Maker()
    sized = _capture.SizedGraph((0,), 2, maker)
    assert sized(value)[1] is value and sized(value)[1] is value
    assert len(maker.made) == 2 and sized.kept == 0


def test_too_few_arguments_are_for_others_to_refuse() -> None:
    maker = Maker()
    assert _capture.SizedGraph((3,), 2, maker)(1) == (1, 1)


def test_exceptions_pass() -> None:
    def refuse(n: int) -> Any:
        raise KeyError(n)

    sized = _capture.SizedGraph((0,), 2, refuse)
    with pytest.raises(KeyError):
        sized(3)
    assert sized.kept == 0


@pytest.mark.parametrize(
    "args", [((), 2, len), ((0,), 0, len), ((0,), 2, 3), ((-1,), 2, len), (tuple(range(5000)), 2, len)]
)
def test_bad_construction(args: Any) -> None:
    with pytest.raises(ValueError):
        _capture.SizedGraph(*args)


def test_references() -> None:
    class Graph:
        def __call__(self, n: int) -> int:
            return n

    graphs: list[weakref.ref[Graph]] = []

    def prepare(n: int) -> Graph:
        graph = Graph()
        graphs.append(weakref.ref(graph))
        return graph

    before = sys.getrefcount(prepare)
    sized = _capture.SizedGraph((0,), 2, prepare)
    for n in (1, 2, 3, 3, 2):
        assert sized(n) == n
    assert [ref() is None for ref in graphs] == [True, False, False]
    del sized
    gc.collect()
    assert all(ref() is None for ref in graphs) and sys.getrefcount(prepare) == before


def test_a_graph_that_calls_itself_while_it_is_prepared() -> None:
    calls: list[int] = []

    def prepare(n: int) -> Any:
        if n > 1:
            calls.append(sized(n - 1))
        return lambda value: value * 10

    sized = _capture.SizedGraph((0,), 2, prepare)
    assert sized(4) == 40 and calls == [10, 20, 30] and sized.kept == 2
