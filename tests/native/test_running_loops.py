"""Frames that end at a line, with the value of a function of what lies in them."""

from __future__ import annotations

import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

import _capture
import pytest

import capture
from capture.hooks import running_loops


class Held:
    """Something whose references are counted."""


def test_a_frame_ends_with_the_value_of_a_function() -> None:
    """At each line it is asked; what lies in it are the arguments."""
    asked: list[int] = []

    def ended(x: Held, y: int) -> Any:
        _capture.follow_frame(sys._getframe(), on_line, range_of(ended), 0)
        y += 1
        y += 2
        return None

    def on_line(frame: types.FrameType) -> Any:
        asked.append(frame.f_lineno)
        return None if len(asked) < 2 else (lambda *args: args, (1, 0, 1), end_of(ended))

    with capture.enable():
        x = Held()
        assert ended(x, 1) == (2, x, None)
    assert len(asked) == 2
    assert sys.getrefcount(x) == 2


def range_of(function: types.FunctionType) -> set[int]:
    return {*range(0, len(function.__code__.co_code), 2)}


def end_of(function: types.FunctionType) -> int:
    end = running_loops._end_of(function.__code__)
    assert end is not None
    return end


def test_wrong_answers_are_errors() -> None:
    def run() -> int:
        _capture.follow_frame(sys._getframe(), lambda frame: answer, range_of(run), 0)
        value = 1
        return value

    end = end_of(run)
    types = (3, (run,), (run, [0], end), (run, ("0",), end))
    values = (
        *((run, (place,), end) for place in (-1, 1 << 20)),
        *((run, (0,), offset) for offset in (-2, 0, 1 << 20)),
        (None, (0,), end),
    )
    with capture.enable():
        for answer in (*types, *values):
            with pytest.raises(TypeError if answer in types else ValueError):
                run()
            assert not _capture.is_followed()


def test_follow_frame_checks_its_arguments() -> None:
    frame = sys._getframe()
    for wrong in (
        lambda: _capture.follow_frame(frame, None, set(), 0),
        lambda: _capture.follow_frame(3, print, set(), 0),
        lambda: _capture.follow_frame(frame, print, [], 0),
        lambda: _capture.follow_frame(frame, print, set(), "0"),
        lambda: _capture.follow_frame(frame, print),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_nothing_is_followed_any_more() -> None:
    asked = []

    def run() -> int:
        _capture.follow_frame(sys._getframe(), asked.append, range_of(run), 0)
        assert not _capture.follow_frame(sys._getframe(), print, range_of(run), 0)  # it is followed
        value = 1
        _capture.follow_nothing()
        assert not _capture.is_followed()
        return value

    with capture.enable():
        assert run() == 1
    assert len(asked) == 3


def test_an_exception_of_the_function_is_seen_by_no_handler_of_the_frame() -> None:
    reached = []

    def fails() -> None:
        raise ValueError("in the function")

    def run() -> str:
        try:
            _capture.follow_frame(sys._getframe(), lambda frame: (fails, (), end_of(run)), range_of(run), 0)
            return "value"
        except ValueError:
            reached.append("except")
        finally:
            reached.append("finally")
        return "behind"

    with capture.enable(), pytest.raises(ValueError, match="in the function") as raised:
        run()
    names = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert names[1:] == ["fails"]
    assert not reached
    assert not _capture.is_followed()


def test_it_is_asked_only_at_offsets_and_once_there_is_time() -> None:
    asked: list[int] = []

    def run(offsets: set[int], least_ns: int) -> int:
        _capture.follow_frame(sys._getframe(), lambda frame: asked.append(frame.f_lasti), offsets, least_ns)
        value = 1
        value += 1
        return value

    with capture.enable():
        run(range_of(run), 0)
        everywhere = asked[:]
        asked.clear()
        run({everywhere[1]}, 0)
        assert asked == everywhere[1:2]
        asked.clear()
        run(range_of(run), 1 << 60)
        run(set(), 0)
        assert asked == []


STRESS = """
import gc, sys, torch, capture
from capture.hooks import running_loops
from capture.policy import patience, foresight

for name in ("UNIT_NS", "LEAST_NS", "FIRST_NS", "TURN_NS"):
    setattr(patience, name, 0)
running_loops.LEAST_NS = 0

class Held:
    pass

def run(held, fails, items=(1, 2)):
    x, other = torch.ones(3), [held]
    def closed():
        return x, other
    with capture.enable():
        for i in iter([*range(9)]):
            x = x + i
            if i == 7 and fails:
                raise ValueError(held)
            for k in items:
                closed()
                held = other[0]
        return closed()

def call(held, fails):
    try:
        return run(held, fails)
    except ValueError:
        return None

held = Held()
for turn in range(60):
    call(held, turn % 2)
gc.collect()
counts = []
for turn in range(60):
    call(held, turn % 2)
    if turn > 50:
        gc.collect()
        counts.append((sys.getrefcount(held), sys.getrefcount(None) // 1000))
print(len({count for count, _ in counts}), counts[0][0], sys.gettrace())
"""


def test_references(in_process: Callable[..., str]) -> None:
    assert in_process(STRESS, PYTHONMALLOC="debug", PYTHONDEVMODE="1", OMP_NUM_THREADS="1").split() == [
        "1", "2", "None"
    ]  # fmt: skip
