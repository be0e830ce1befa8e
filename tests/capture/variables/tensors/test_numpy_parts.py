"""Parts of NumPy arrays at places that change from call to call: one capture serves all places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import capture
from capture.report.config import config
from capture.report.counters import counters

READS = {
    "slice": lambda a, i, j: a[i : i + 3],
    "slice beside a constant": lambda a, i, j: a[i : i + 2, 1:],
    "two slices": lambda a, i, j: a[i : i + 3, j : j + 2],
    "row and slice": lambda a, i, j: a[i, j : j + 2],
    "slice and column": lambda a, i, j: a[i : i + 2, j],
    "number": lambda a, i, j: a[i, j, 0],
    "column": lambda a, i, j: a[:, j],
    "last axis": lambda a, i, j: a[..., j],
    "below an ellipsis": lambda a, i, j: a[i, ..., j],
    "a new axis": lambda a, i, j: a[None, i, None, j : j + 1, -1],
    "constants beside": lambda a, i, j: a[1:4:2, j, 1:],
    "from behind": lambda a, i, j: a[i - 9 : i - 7],
    "a row from behind": lambda a, i, j: a[-1 - i],
    "empty": lambda a, i, j: a[i:i],
}


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("name", READS)
def test_reads(name: str, backend: str) -> None:
    array, read = np.arange(9 * 5 * 4.0).reshape(9, 5, 4), READS[name]

    def program(a: Any, i: int, j: int) -> Any:
        part = read(a, i, j)
        return part, part * 2

    capture.reset()
    fast = capture.compile(program, backend=backend)
    with config.patch(raise_on_error=True):
        for i, j in [(2, 1), (4, 3), (3, 2), (5, 1), (2, 3)]:
            expected, found = program(array, i, j), fast(array, i, j)
            assert repr(expected) == repr(found)
            assert [type(v) for v in expected] == [type(v) for v in found]
            assert np.shares_memory(expected[0], array) == np.shares_memory(found[0], array)
    assert sum(counters["recompiles"].values()) == 1


def write_a_row(a: Any, i: int, row: Any) -> Any:
    a[i] = row
    return a.sum()


def write_a_slice(a: Any, i: int, row: Any) -> Any:
    a[i : i + 2, 1:3] = row[1:3]
    a[i : i + 2] *= 2
    return a[i]


def write_numbers(a: Any, i: int, row: Any) -> Any:
    a[i, i - 2] = 7
    a[i, i - 1] += row[0]
    a[(i + 1) % 5, ..., 0] = i
    return a[i, i - 2] + 1


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("program", [write_a_row, write_a_slice, write_numbers])
def test_writes(program: Any, backend: str) -> None:
    """As into the arrays of a replay memory."""
    rng = np.random.default_rng(0)
    ours, theirs = (np.zeros((8, 4), np.float32) for _ in range(2))
    capture.reset()
    fast = capture.compile(program, backend=backend)
    with config.patch(raise_on_error=True):
        for i in [2, 4, 3, 4, 2]:
            row = rng.standard_normal(4).astype(np.float32)
            assert repr(fast(ours, i, row)) == repr(program(theirs, i, row))
            assert (ours == theirs).all()
    assert sum(counters["recompiles"].values()) <= 2  # the wrap of `(i + 1) % 5` may be decided anew


PLACES = (2, 3, 5, 7, 9, 12, -2, -1, 0, -9, -12, 4)
EDGES = {
    "slice": lambda a, i: a[i : i + 3],
    "up to": lambda a, i: a[:i],
    "from": lambda a, i: a[i:],
    "row": lambda a, i: a[i, 1],
    "step": lambda a, i: a[i : i + 4 : 2],
    "backwards": lambda a, i: a[i : i + 3 : -1],
    "with a list": lambda a, i: a[i, [0, 2]],
    "with a list behind a slice": lambda a, i: a[i, :, None][[0, 1]],
    "too many": lambda a, i: a[i, 0, 0],
    "a mask": lambda a, i: a[i, a[0] > 0],
}


@pytest.mark.filterwarnings("ignore::capture.CaptureWarning")
@pytest.mark.parametrize("name", EDGES)
def test_places_at_the_edge_and_beyond(name: str) -> None:
    """NumPy cuts slices off and refuses rows; keys of other kinds are as they were."""

    def outcome(function: Any, i: int) -> Any:
        try:
            return function(np.arange(27.0).reshape(9, 3), i)
        except IndexError as error:
            return repr(error)

    capture.reset()
    fast = capture.compile(EDGES[name], backend="eager")
    with config.patch(recompile_limit=100):
        for i in PLACES:
            assert repr(outcome(fast, i)) == repr(outcome(EDGES[name], i))


class Ring:
    def __init__(self) -> None:
        self.values, self.at = np.arange(50), 0

    def next(self, count: int) -> Any:
        part = self.values[self.at : self.at + count]
        self.at = (self.at + count) % len(self.values)
        if len(part) != count:
            return np.concatenate((part, self.values[0 : self.at]))
        return part


def test_a_table_of_samples_is_captured_for_few_places() -> None:
    """The loop of word2vec over its table: but for the wraps, the number of captures is that of the cases."""
    capture.reset()
    ours, theirs = Ring(), Ring()
    with config.patch(when="first"), capture.enable():
        found = [ours.next(7).tolist() for _ in range(6)]
    assert found == [theirs.next(7).tolist() for _ in range(6)]
    assert counters["recompiles"]["Ring.next"] <= 1
