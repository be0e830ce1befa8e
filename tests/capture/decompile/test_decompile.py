"""The text of a rewritten frame does what its bytecode does, on every path."""

from __future__ import annotations

import contextlib
import io
import types
from contextlib import redirect_stdout
from typing import Any

import pytest
import torch

import capture
from capture.decompile import Decompiled, decompile
from capture.output import frame_code
from tests.capture.cases.registry import show
from tests.capture.decompile.recorded_runs import both
from tests.capture.test_cases import CASES

MOST_RUNS = 24


@pytest.fixture
def rewritten(monkeypatch: pytest.MonkeyPatch) -> list[tuple[types.CodeType, Decompiled]]:
    """Fills with each new code object and its text."""
    found: list[tuple[types.CodeType, Decompiled]] = []
    assemble = frame_code.assemble

    def watched(written: Any, graph: Any, inputs: Any) -> types.CodeType:
        code = assemble(written, graph, inputs)
        found.append((code, decompile(code, [source.text for source in written.slots], graph)))
        return code

    monkeypatch.setattr(frame_code, "assemble", watched)
    return found


#: what these give in Python can't be had from a token
NOT_RUN = ("enter_handler", "lasti_of", "exit_with", "reraise")


def check(code: types.CodeType, text: Decompiled) -> None:
    compile(text.text, "<text>", "exec")
    if any(name in text.text for name in NOT_RUN):
        return
    for decisions in (0b0000, 0b1111, 0b0101, 0b0010):
        for raises_at in range(MOST_RUNS):
            of_code, of_text = both(code, text, raises_at, decisions)
            assert of_code == of_text, f"{text.text}\n{decisions:b} {raises_at}"
            if len(of_code[0]) < raises_at:
                break


Rewritten = list[tuple[types.CodeType, Decompiled]]


def run(function: Any, *args: Any) -> None:
    torch.manual_seed(1)
    with redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        capture.compile(function, backend="eager")(*args)


@pytest.mark.parametrize("part", range(8))
def test_a_text_does_what_its_code_does(part: int, rewritten: Rewritten) -> None:
    for case in CASES[part::8]:
        run(case.function, *case.arguments()())
    assert len(rewritten) > 10
    for code, text in rewritten:
        assert text.is_whole, text.text
        check(code, text)


def broken(x: torch.Tensor) -> Any:
    y = x * 2
    show("in between", y.shape)
    if y.max() > 0:
        y = y + 1
    return [y, x]


def test_a_reader_recognises_the_function(rewritten: Rewritten) -> None:
    run(broken, torch.ones(2))
    texts = [text.text for _, text in rewritten]
    line = broken.__code__.co_firstlineno
    assert texts[0].endswith(f"""
def broken(x, show):
    try:
        value = graph(x)
    except BaseException as error:
        continuation = failure_handler(error, (x,))
        if continuation:
            return continuation
        return Continuation(eager_broken, (x,))
    (out_0,) = value
    tmp_1 = (2,)
    tmp_2 = Size(tmp_1)
    after_0 = show('in between', tmp_2)  # line {line + 2}
    return Continuation(rest_of_broken, (after_0, x, out_0))""")
    assert texts[0].startswith("# graph: runs the captured operations\n")
    assert f"    if out_0:  # line {line + 3}\n        return Continuation(rest_of_broken, " in texts[1]
    assert f"# rest_of_broken: the rest of broken, from line {line + 4} on" in texts[1]


def test_names_of_the_program_stay_free(rewritten: Rewritten) -> None:
    def graph(out_0: Any, Continuation: Any) -> Any:
        value = out_0 * Continuation
        show(value.dtype)
        return value + out_0

    run(graph, torch.ones(2), 3.0)
    code, text = rewritten[0]
    assert "def graph(out_0, Continuation" in text.text and "return Continuation_2(" in text.text
    check(code, text)


def test_free_variables_are_those_of_a_function_around(rewritten: Rewritten) -> None:
    def counts(x: torch.Tensor) -> Any:
        count = 0

        def add(y: torch.Tensor) -> torch.Tensor:
            nonlocal count
            count += 1
            return y + count

        show(add(x).sum().item())
        return add(x), count

    run(counts, torch.ones(2))
    of_rest = [text.text for code, text in rewritten if code.co_freevars]
    assert of_rest
    for text in of_rest:
        namespace: dict[str, Any] = {}
        exec(text, namespace)
        assert namespace["enclosing"](1).__name__ == "counts"


def test_code_with_a_loop_is_shown_as_bytecode() -> None:
    def loops(items: Any) -> None:
        for item in items:
            print(item)

    text = decompile(loops.__code__)
    assert not text.is_whole and text.text.startswith("# not shown as Python: a loop")
    assert "FOR_ITER" in text.text


def test_what_waits_comes_before_what_follows() -> None:
    def calls(f: Any, g: Any, x: Any) -> Any:
        return [f(x), g(x), x]

    assert decompile(calls.__code__).text.splitlines() == [
        "def calls(f, g, x):",
        f"    return [f(x), g(x), x]  # line {calls.__code__.co_firstlineno + 1}",
    ]
