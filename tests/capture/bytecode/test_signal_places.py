"""Where a handler of a signal may run in new code: what it raises leaves no block of the program."""

from __future__ import annotations

from types import CodeType
from typing import Any

from capture.bytecode.instructions import decode
from capture.bytecode.signal_places import seen_behind, sees_signals_before


def calls(code: CodeType) -> dict[str, int]:
    """The calls of global functions, by name; those of an `__exit__` are "exit 0", "exit 1", ..."""
    found: dict[str, int] = {}
    name = ""
    for step in decode(code).instructions:
        if step.name in ("LOAD_GLOBAL", "LOAD_METHOD"):
            name = str(step.value)
        elif step.name == "CALL":
            found[name or f"exit {sum(key.startswith('exit') for key in found)}"] = step.index
            name = ""
    return found


def blocks(lock: Any, x: Any) -> None:
    with lock:
        x = f(x)  # type: ignore[name-defined]  # noqa: F821
    try:
        x = x + 1
        x = g(x)  # type: ignore[name-defined]  # noqa: F821
    finally:
        h(x)  # type: ignore[name-defined]  # noqa: F821
        i(x)  # type: ignore[name-defined]  # noqa: F821


def test_ahead_of_a_call_no_block_ends() -> None:
    code = blocks.__code__
    found = calls(code)
    assert sees_signals_before(code, found["f"])  # the signal comes a moment later, in the block
    assert not sees_signals_before(code, found["exit 0"])
    assert not sees_signals_before(code, found["g"])  # a jump may lead to the begin of `try`
    # of each call in `finally` there are two; the first one of the two ways runs whatever happens
    steps = decode(code).instructions
    ways = [
        step.index
        for name in "hi"
        for load in steps
        if load.name == "LOAD_GLOBAL" and load.value == name
        for step in steps[load.index : load.index + 4]
        if step.name == "CALL"
    ]
    assert [sees_signals_before(code, way) for way in ways] == [False, False, True, True]


def loop(lock: Any, xs: Any) -> None:
    with lock:
        for x in xs:
            f(x)  # type: ignore[name-defined]  # noqa: F821


def test_behind_an_instruction_its_handlers_see_it() -> None:
    code = loop.__code__
    steps, handlers = decode(code).instructions, decode(code).handlers
    enters = next(step.index for step in steps if step.name == "BEFORE_WITH")
    assert seen_behind(code, enters, enters + 1) is None  # the block has begun, and `__exit__` is to come
    takes = next(step for step in steps if step.name == "FOR_ITER")
    assert seen_behind(code, takes.index, takes.index + 1) == takes.index
    assert takes.target is not None and handlers[takes.target] != handlers[takes.index]
    assert seen_behind(code, takes.index, takes.target) is None
    call = calls(code)["f"]
    assert seen_behind(code, call, call + 1) == call
    leaves = calls(code)["exit 0"]
    assert seen_behind(code, leaves, leaves + 1) == leaves  # it has run
