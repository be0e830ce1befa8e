"""Resume functions whose code is the original's with a beginning: they are what the library would write."""

from __future__ import annotations

import dis
import sys
from types import CodeType, FunctionType
from typing import Any

import pytest

from capture.bytecode import resume
from capture.bytecode.dialects import dialect
from capture.bytecode.instructions import Decoded, Handler, _decode, decode
from capture.bytecode.liveness import live_names


def straight(x, y):
    z = x + y
    z = z * 2
    return z - y


def with_blocks(x, y=3, *rest, key=None):
    total = 0
    for item in range(x):
        try:
            total += 10 // (item - 1)
        except ZeroDivisionError as error:
            total += len(str(error))
        finally:
            total += 1
    with open("/dev/null") as file:
        total += len(file.read())
    return total + y + len(rest) + (key or 0)


def with_cells(x, y):
    z = x + 1

    def inner():
        nonlocal z
        z += x
        return z

    y += inner()
    return inner() + y + z


def many_locals(count: int) -> Any:
    lines = [f"    v{i} = v{i - 1} + v{i // 2} if v{i - 1} < 10 ** 6 else {i}" for i in range(1, count)]
    space: dict[str, Any] = {}
    exec("\n".join(["def many(x):", "    v0 = x", *lines, f"    return v{count - 1} + v3"]), space)
    return space["many"]


FUNCTIONS = {
    "straight": straight,
    "blocks": with_blocks,
    "cells": with_cells,
    "200 locals": many_locals(200),
    "400 locals": many_locals(400),
}


def by_library(monkeypatch: Any, code: CodeType, target: int, names: tuple[str, ...]) -> CodeType:
    with monkeypatch.context() as patch:
        patch.setattr(dialect, "with_prefix", lambda *args: None)
        return resume.resume_code.__wrapped__(code, target, (), names, target)


def places(code: CodeType) -> list[Any]:
    found = dialect.raw_instructions(code)
    return [(i.opname, i.argval, i.positions) for i in found if i.opname not in CELLS]


CELLS = ("MAKE_CELL", "COPY_FREE_VARS", "NOP", "JUMP_FORWARD")


def table(code: CodeType) -> list[Any]:
    return [(e.depth, e.lasti) for e in dialect.exception_table(code)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_code_is_that_of_the_library(name: str, monkeypatch: Any) -> None:
    code = FUNCTIONS[name].__code__
    count = len(decode(code).instructions)
    made = 0
    for target in range(2, count, 1 + count // 40):
        names = tuple(n for n in code.co_varnames if n in live_names(code, target) - {*code.co_cellvars})
        found = resume.resume_code.__wrapped__(code, target, (), names, target)
        made += len(found.co_code) - len(code.co_code) < 40
        wanted = by_library(monkeypatch, code, target, names)
        lines = [line for line in places(found) if isinstance(line[1], str)]
        assert lines == [line for line in places(wanted) if isinstance(line[1], str)]
        assert [line[0] for line in places(found)] == [line[0] for line in places(wanted)]
        assert table(found) == table(wanted) and found.co_freevars == wanted.co_freevars
        assert found.co_argcount == wanted.co_argcount and found.co_flags == wanted.co_flags
        assert list(found.co_positions())[-20:] == list(wanted.co_positions())[-20:]
        assert max(end for _, end, _ in found.co_lines()) == len(found.co_code)
        assert_decoded(decode(found), _decode(found))
    assert made


def assert_decoded(found: Decoded, wanted: Decoded) -> None:
    """Moved instructions are those that are read from the code; the places of locals are not compared."""
    assert len(found.instructions) == len(wanted.instructions) == len(found.handlers)
    for mine, read in zip(found.instructions, wanted.instructions, strict=True):
        assert (mine.index, mine.name, mine.value, mine.positions) == (
            read.index,
            read.name,
            mine.value if mine.name in JUMPING else read.value,
            read.positions,
        )
        assert mine.target == read.target and mine.line == read.line
    assert list(found.handlers) == list(wanted.handlers)


def test_what_a_signal_raises_has_the_handlers_and_the_line_of_the_last_instruction() -> None:
    """Where that is unknown, no signal is seen."""
    code = with_blocks.__code__
    steps = decode(code)
    checked = 0
    for seen_at, handler in enumerate(steps.handlers):
        if handler is None or handler.depth > 2:
            continue
        resumed = resume.resume_code(code, 6, ("value", "value"), ("x",), seen_at)
        made = decode(resumed)
        begin = resume.point_of(resumed).prologue - 2
        assert (made.instructions[begin].name, made.instructions[begin].arg) == ("RESUME", 0)
        line = steps.instructions[seen_at].positions[0] or code.co_firstlineno
        assert made.instructions[begin].line == line
        assert made.handlers[begin] == Handler(handler.target + begin + 2, handler.depth, handler.lasti)
        assert made.handlers[begin + 1] is None
        checked += 1
    assert checked > 10
    for seen_at in (None, next(i for i, h in enumerate(steps.handlers) if h is not None and h.depth > 2)):
        resumed = resume.resume_code(code, 6, ("value", "value"), ("x",), seen_at)
        begin = resume.point_of(resumed).prologue - 2
        assert decode(resumed).instructions[begin].arg == 2 and decode(resumed).handlers[begin] is None


JUMPING = dialect.JUMPS | {"LOAD_CONST"}


def test_code_that_continues_in_the_middle_gives_the_same() -> None:
    """From each instruction with an empty stack: the locals are those that a trace has seen there."""
    for function in (straight, many_locals(300)):
        code = function.__code__
        seen: dict[int, dict[str, Any]] = {}

        def trace(frame: Any, event: str, _: Any, seen: Any = seen) -> Any:
            frame.f_trace_opcodes = True
            if event == "line":
                seen.setdefault(frame.f_lasti, dict(frame.f_locals))
            return trace

        sys.settrace(trace)
        try:
            wanted = function(*range(5, 5 + code.co_argcount))
        finally:
            sys.settrace(None)
        offsets = [i.offset for i in dialect.raw_instructions(code)]
        checked = 0
        for offset, values in seen.items():
            if offset not in offsets or offset < 4:
                continue
            target = offsets.index(offset)
            names = tuple(n for n in values if n in live_names(code, target))
            resumed = FunctionType(resume.resume_code(code, target, (), names, target), function.__globals__)
            assert resumed(*(values[n] for n in names)) == wanted
            checked += 1
        assert checked >= 2


def test_the_opcodes_that_name_a_local_are_known() -> None:
    assert {dis.opname[number] for number in dis.haslocal} == {"LOAD_FAST", "STORE_FAST", "DELETE_FAST"}
