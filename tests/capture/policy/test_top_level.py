"""Loops of scripts: what a script leaves in its variables is what eager leaves, whatever its loops do."""

from __future__ import annotations

import io
import runpy
import sys
import textwrap
import traceback
import types
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import _capture
import pytest
import torch

import capture
from capture.bytecode import top_level
from capture.policy import foresight, patience
from capture.report.counters import counters


@pytest.fixture(autouse=True)
def captures_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A loop is hot as soon as it has turned four times."""
    capture.reset()
    for name in ("UNIT_NS", "LEAST_NS", "FIRST_NS", "TURN_NS"):
        monkeypatch.setattr(patience, name, 0)
    monkeypatch.setattr(foresight, "share_done", lambda frame: None)  # pytest has loops, too
    with capture.config.patch(when="hot"):
        yield


#: scripts, of which a loop is captured
SCRIPTS = {
    "polynomial": """
        x = torch.linspace(-1, 1, 50)
        a = b = torch.zeros(())
        for t in range(30):
            y = a + b * x
            loss = (y - x.sin()).pow(2).sum().item()
            a = a - 0.01 * (y - x.sin()).sum()
            b = b - 0.01 * ((y - x.sin()) * x).sum()
            if t % 10 == 9:
                print(t, round(loss, 4))
        """,
    "training": """
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for epoch in range(3):
            total = 0.0
            for step in range(12):
                inputs = torch.randn(5, 4)
                loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item()
            losses.append(total)
        weight = model[0].weight.detach()
        """,
    "while": """
        x, n = torch.ones(3), 0
        while True:
            x = torch.sin(x) * 1.5
            n += 1
            if n >= 25:
                break
        """,
    "break and else": """
        x, found = torch.ones(3), None
        for i in range(40):
            x = x * 1.1
            if i == 33:
                found = i
                break
        else:
            found = "none"
        for k in range(12):
            x = x - 0.1
        else:
            after = x.sum()
        """,
    "continue": """
        x = torch.zeros(3)
        for i in range(30):
            if i % 3:
                continue
            x = x + i
        """,
    "deletes": """
        x = torch.ones(3)
        for i in range(20):
            part = x * 2
            x = x + part * 0.1
            del part
        gone = "part" not in globals()
        """,
    "functions read and write globals": """
        x, count = torch.ones(3), 0
        def step():
            global x
            x = torch.cos(x) + scale
        def noted():
            global count
            count = count + 1
            return count
        for i in range(20):
            scale = i * 0.01
            step()
            x = x * noted()
            x = x / count
        """,
    "a name that the loop binds": """
        x = torch.ones(3)
        for i in range(20):
            y = x * 0.5 if i < 10 else z
            z = y + 1
            x = z.sin()
        """,
    "with and try": """
        x = torch.ones(3, requires_grad=True)
        caught = 0
        with torch.no_grad():
            for i in range(20):
                try:
                    x = x * 1.01
                    if i % 5 == 4:
                        raise ValueError(i)
                except ValueError as error:
                    caught += error.args[0]
                finally:
                    x = x + 0.5
        """,
    "lambdas": """
        kept, x = [], torch.ones(2)
        for i in range(20):
            x = x * 1.05
            kept.append(lambda: i)
        last = [f() for f in kept]
        """,
    "comprehensions": """
        x = torch.ones(2)
        for i in range(20):
            parts = [x * k for k in range(3) if (top := k) < 2]
            x = sum(parts) / 2 + 0.1
        """,
    "builtins are replaced and come back": """
        x = torch.ones(2)
        for i in range(20):
            if i == 8:
                max = lambda a, b: a
            if i == 12:
                del max
            x = x * 0.9 + max(i, 10)
        """,
    "globals": """
        x = torch.ones(2)
        for i in range(20):
            x = x * 0.9 + globals()["i"]
        """,
    "a loop of many lines that ends the script": """
        x = torch.ones(2)
        for i in range(20):
            x = x * 1.01
            x = x - 0.01
        """,
    "two loops after each other": """
        x = torch.ones(2)
        for i in range(20):
            x = x * 1.01
        y = x.clone()
        for j in range(20):
            y = y + x.sin()
        """,
    "the list grows that the loop is over": """
        x, work = torch.ones(2), [1, 2, 3]
        for i in work:
            x = x + i
            if len(work) < 30:
                work.append(i + 1)
        """,
}

#: scripts that read their own variables, or annotate them: they run as they are
LEFT = {
    "locals": """
        x = torch.ones(2)
        for i in range(20):
            x = x + locals()["i"]
        """,
    "exec": """
        x = torch.ones(2)
        for i in range(20):
            exec("x = x + i")
        """,
    "annotations": """
        x: torch.Tensor = torch.ones(2)
        for i in range(20):
            x = x + i
        noted = sorted(__annotations__)
        """,
    "a star": """
        from math import *
        x = torch.ones(2)
        for i in range(20):
            x = x + cos(i)
        """,
    "its frame": """
        import sys
        x = torch.ones(2)
        for i in range(20):
            x = x + sys._getframe().f_locals["i"]
        """,
}


def run(text: str, name: str = "<script>", **more: Any) -> tuple[dict[str, Any], str]:
    torch.manual_seed(0)
    namespace: dict[str, Any] = {"torch": torch, "__name__": "script", **more}
    written = io.StringIO()
    with redirect_stdout(written):
        exec(compile(textwrap.dedent(text), name, "exec"), namespace)
    return namespace, written.getvalue()


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return one.requires_grad == other.requires_grad and torch.allclose(one, other)
    if isinstance(one, float):
        return repr(one) == repr(other) or abs(one - other) < 1e-5
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    plain = isinstance(one, (int, str, bool, type(None)))
    return one == other if plain else type(one) is type(other)


def check(text: str) -> None:
    expected, printed = run(text)
    with capture.enable():
        found, written = run(text)
    assert written == printed
    assert {*found} == {*expected}
    assert list(found) == list(expected)
    assert [name for name in expected if not same(expected[name], found[name])] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_loop_of_a_script_is_captured(name: str) -> None:
    check(SCRIPTS[name])
    assert counters["graphs"]["calls_captured"] > 0


@pytest.mark.parametrize("name", LEFT)
def test_a_script_that_reads_its_own_variables_runs_as_it_is(name: str) -> None:
    check(LEFT[name])
    assert counters["graphs"]["compiled"] == 0


def test_a_script_with_two_dicts_of_variables_runs_as_it_is() -> None:
    code = compile("for i in range(20): x = x + i", "<script>", "exec")
    outside, inside = {"x": torch.ones(2)}, {}
    with capture.enable():
        exec(code, outside, inside)
    assert inside["x"].tolist() == [191.0, 191.0]
    assert outside["x"].tolist() == [1.0, 1.0]
    assert counters["graphs"]["compiled"] == 0


def test_an_error_in_the_loop_has_the_line_of_the_script() -> None:
    text = (
        "x = torch.ones(3)\nfor i in range(20):\n    x = x * 1.5\n    y = x / (15 - i)\n    1 // (15 - i)\n"
    )
    with capture.enable(), pytest.raises(ZeroDivisionError) as raised:
        run(text, "script.py")
    places = [(f.filename, f.lineno, f.name) for f in traceback.extract_tb(raised.value.__traceback__)]
    assert places[-1] == ("script.py", 5, "<module>")
    assert counters["graphs"]["calls_captured"] > 0


def test_an_undefined_name_is_the_error_of_a_script() -> None:
    text = "x = torch.ones(3)\nfor i in range(20):\n    x = x + 1\n    if i > 12: missing\n"
    with capture.enable(), pytest.raises(NameError, match="name 'missing' is not defined"):
        run(text)


def test_a_file_that_runs_as_main(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text("import torch\nx = torch.ones(3)\nfor i in range(30):\n    x = x.sin() + i\n")
    expected = runpy.run_path(str(path), run_name="__main__")
    with capture.enable():
        found = runpy.run_path(str(path), run_name="__main__")
    assert torch.allclose(found["x"], expected["x"])
    assert counters["graphs"]["calls_captured"] > 0


def test_the_loop_of_a_module_that_is_imported_runs_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made_of_a_loop.py").write_text(
        "import torch\nx = torch.ones(3)\nfor i in range(30):\n    x = x.sin() + i\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with capture.enable():
        import made_of_a_loop  # type: ignore[import-not-found]
    assert made_of_a_loop.i == 29
    assert counters["graphs"]["compiled"] == 0
    del sys.modules["made_of_a_loop"]


def test_a_script_that_runs_twice() -> None:
    code = compile(textwrap.dedent(SCRIPTS["while"]), "<script>", "exec")
    found = []
    with capture.enable():
        for _ in range(3):
            namespace = {"torch": torch}
            exec(code, namespace)
            found.append(namespace["x"])
    assert all(torch.equal(x, found[0]) for x in found)


def test_the_code_of_a_script_goes_with_it() -> None:
    code = compile(textwrap.dedent(SCRIPTS["while"]), "<script>", "exec")
    function = top_level.as_function(code)
    assert isinstance(function, types.CodeType)
    assert top_level.as_function(code) is function
    assert not top_level.is_top_level(function)
    known = len(top_level._functions)
    del code
    assert len(top_level._functions) == known - 1


def test_without_loops_or_as_the_body_of_a_class_there_is_no_such_code() -> None:
    assert top_level.as_function(compile("x = 1", "<script>", "exec")) is None
    body = next(
        const
        for const in compile("class C:\n  for i in range(3): pass", "<script>", "exec").co_consts
        if isinstance(const, types.CodeType)
    )
    assert not top_level.is_top_level(body)


def test_a_global_that_is_only_passed_on_is_not_read() -> None:
    """The number that a loop stores in a global is no symbol before somebody computes with it."""
    text = "x = torch.ones(3)\nfor i in range(30):\n    last = i\n    x = x.sin()\n"
    with capture.enable():
        found, _ = run(text)
    assert (found["i"], found["last"]) == (29, 29)
    assert counters["graphs"]["compiled"] == 1
    assert "recompiles" not in counters or not counters["recompiles"]


def test_no_frame_of_a_script_stays_behind() -> None:
    assert _capture.get_callback()[0] is None
