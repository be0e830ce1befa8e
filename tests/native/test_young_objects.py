"""`settle_young`: new objects become old ones, and no others."""

from __future__ import annotations

import gc
import weakref

import _capture
import pytest

from capture.process.collection import settled


class Cell:
    """An object that can be part of a cycle."""

    def __init__(self):
        self.itself = self


@pytest.fixture(autouse=True)
def no_automatic_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def generation_of(item):
    return next(
        number for number in range(3) if any(other is item for other in gc.get_objects(generation=number))
    )


def test_objects_after_the_mark_become_old_and_those_before_stay_young():
    before, mark = Cell(), []
    after = [Cell(), Cell()]
    assert _capture.settle_young(mark) >= 3
    assert [generation_of(item) for item in (before, mark)] == [0, 0]
    assert [generation_of(item) for item in (after, *after)] == [2, 2, 2]


def test_the_lists_of_the_collector_stay_whole():
    mark = []
    kept = [[] for _ in range(100)]
    dropped = weakref.ref(Cell())
    _capture.settle_young(mark)
    del kept[::2]
    young = [[] for _ in range(10)]
    assert gc.collect(0) == 0 and dropped() is not None  # it is a cycle, and old
    assert gc.collect() >= 1 and dropped() is None
    assert len(kept) == 50 and len(young) == 10
    gc.freeze()
    gc.unfreeze()
    assert generation_of(kept) == 2


def test_nothing_moves_where_there_is_nothing():
    mark = []
    assert _capture.settle_young(mark) == 0
    assert generation_of(mark) == 0


@pytest.mark.parametrize("collect", [lambda: gc.collect(0), lambda: gc.collect(1), gc.collect, gc.freeze])
def test_nothing_moves_where_a_collection_has_seen_the_mark(collect):
    mark = []
    collect()
    after = Cell()
    try:
        assert _capture.settle_young(mark) == 0
        assert generation_of(after) == 0
    finally:
        gc.unfreeze()


def test_nothing_moves_while_a_collection_runs():
    moved = []

    class Garbage(Cell):
        def __del__(self):
            mark = []
            self.more = [[], []]
            moved.append(_capture.settle_young(mark))

    Garbage()
    gc.collect()
    assert moved == [0]


@pytest.mark.parametrize("make", [list, lambda: {"untracked": 1}])
def test_the_count_of_young_objects_is_that_of_before(make):
    mark = [gc.get_count()[0]]
    kept = [make() for _ in range(500)]
    _capture.settle_young(mark)
    assert len(kept) == 500 and gc.get_count()[0] <= mark[0] + 1


@pytest.mark.parametrize("made", [-1, 2**40, "no number"])
def test_a_number_that_is_none_counts_for_nothing(made):
    first = gc.get_count()[0]
    mark = [made]
    kept = [[] for _ in range(500)]
    assert _capture.settle_young(mark) >= 500 and kept
    assert abs(gc.get_count()[0] - first) < 50


def test_a_mark_has_to_be_tracked():
    with pytest.raises(ValueError, match="does not track"):
        _capture.settle_young(1)


# --- blocks -----------------------------------------------------------------------------------------------


def test_blocks_nest():
    with settled():
        outer = Cell()
        with settled():
            inner = Cell()
        assert not gc.isenabled()
        last = Cell()
    assert [generation_of(item) for item in (outer, inner, last)] == [2, 2, 2]


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_before_also_after_an_error(enabled):
    threshold = gc.get_threshold()
    if enabled:
        gc.enable()
    with pytest.raises(KeyError), settled():
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled() == enabled and gc.get_threshold() == threshold
    gc.disable()


def test_blocks_of_two_threads_overlap():
    one, other = settled(), settled()
    one.__enter__()
    first = Cell()
    other.__enter__()
    second = Cell()
    one.__exit__(None, None, None)
    third = Cell()
    other.__exit__(None, None, None)
    assert [generation_of(item) for item in (first, second, third)] == [2, 2, 0]
