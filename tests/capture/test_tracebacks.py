"""Programs that raise: their tracebacks are eager's, to the last character, in each of two calls.

In graphs, behind graph breaks, in loops, `with` blocks, handlers, inlined functions, generators, and in
graphs that have written to an input before they fail. `format_exc` shows files, names, lines and columns.
"""

from __future__ import annotations

import contextlib
import io
import re
import traceback
from typing import Any

import _capture
import pytest
import torch

import capture
from tests.capture import raising_callees
from tests.capture.raising_programs import PROGRAMS

assert "recursion" in PROGRAMS, raising_callees  # its import fills the table


# --- the test ---------------------------------------------------------------------------------------------


def codes_of(error: BaseException | None, seen: set[int]) -> list[Any]:
    """The code objects of all frames of an exception and of those behind it."""
    if error is None or id(error) in seen:
        return []
    seen.add(id(error))
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return [f.f_code for f in frames] + codes_of(error.__cause__, seen) + codes_of(error.__context__, seen)


def outcome(function: Any, arguments: tuple[Any, ...]) -> tuple[str, str, list[Any]]:
    """What the program prints, its traceback below this frame, the code of its frames."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            function(*arguments)
    except BaseException as error:
        assert error.__traceback__ is not None
        error.__traceback__ = error.__traceback__.tb_next
        text = re.sub("0x[0-9a-f]+", "0x", traceback.format_exc())
        return printed.getvalue(), text, codes_of(error, set())
    return printed.getvalue(), "no error", []


@pytest.mark.parametrize("backend", ["llvm", "eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_traceback(name: str, backend: str) -> None:
    function, arguments = PROGRAMS[name]
    capture.reset()
    captured = capture.compile(function, backend=backend)
    for make in arguments:
        expected, given = outcome(function, make()), outcome(captured, make())
        assert given[:2] == expected[:2]
        for code in given[2]:
            hash(code)
    assert expected[1] != "no error"


SAME_TEXT = """
def f(x):
    y = x + 1
    print("a")
    return (y * 2).view(77)
"""


@pytest.mark.parametrize("backend", ["llvm", "eager"])
def test_equal_code_of_two_files(backend: str) -> None:
    """Code objects that were compiled from one text are equal."""
    for file in ("one.py", "two.py"):
        space: dict[str, Any] = {}
        exec(compile(SAME_TEXT, file, "exec"), space)
        _, text, _ = outcome(capture.compile(space["f"], backend=backend), (torch.ones(3),))
        assert f'File "{file}", line 5, in f' in text


class Key:
    """Its hash runs code of the program."""

    def __hash__(self):
        raise AssertionError("the program did not ask for a hash")


KEY = Key()


def holds_objects(x, held=KEY):
    y = [x + 1, held, {"a": x}]
    capture.graph_break()
    with contextlib.suppress(ValueError):
        y.append(x * 2)
        print("b")
    return y, held, KEY, globals


def test_made_code_has_a_hash_and_each_instruction_a_line() -> None:
    capture.reset()
    with contextlib.redirect_stdout(io.StringIO()):
        capture.compile(holds_objects)(torch.ones(3))
    made = [e.code for code in _capture.all_codes() for e in _capture.entries(code) if e.code is not None]
    assert len(made) > 1
    for code in made:
        hash(code)
        assert None not in [line for _, _, line in code.co_lines()]
        assert None not in [places[0] for places in code.co_positions()]
