"""Loops of scripts: what a script leaves in its variables is what eager leaves, whatever its loops do. The
block is around the script, or in it.
"""

from __future__ import annotations

import io
import runpy
import sys
import textwrap
import traceback
import types
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import _capture
import pytest
import torch

import capture
from capture.bytecode import top_level
from capture.report.counters import counters

pytestmark = pytest.mark.usefixtures("captures_cost_nothing")


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
    "annotations": """
        x: torch.Tensor = torch.ones(2)
        for i in range(20):
            x = x + i
        noted = sorted(__annotations__)
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

#: scripts that read their own variables, or import them all: they run as they are
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


def in_a_block(text: str) -> str:
    return "with capture.enable():\n" + textwrap.indent(textwrap.dedent(text), "    ")


def check(text: str, inside: bool = False) -> None:
    expected, printed = run(text, capture=capture)
    if inside:
        found, written = run(in_a_block(text), capture=capture)
    else:
        with capture.enable():
            found, written = run(text, capture=capture)
    assert written == printed
    assert {*found} == {*expected}
    assert list(found) == list(expected)
    assert [name for name in expected if not same(expected[name], found[name])] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_loop_of_a_script_is_captured(name: str) -> None:
    check(SCRIPTS[name])
    assert counters["graphs"]["calls_captured"] > 0


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_loop_of_a_script_in_whose_block_it_is_is_captured(name: str) -> None:
    check(SCRIPTS[name], inside=True)
    assert counters["graphs"]["calls_captured"] > 0


@pytest.mark.parametrize("name", LEFT)
@pytest.mark.parametrize("inside", [False, True])
def test_a_script_that_reads_its_own_variables_runs_as_it_is(name: str, inside: bool) -> None:
    check(LEFT[name], inside)
    assert counters["graphs"]["compiled"] == int(inside and name == "a star")  # it is in front of the loop


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


# --- the block is in the script --------------------------------------------------------------------------


def test_an_error_in_the_rest_of_a_loop_is_caught_by_the_script() -> None:
    text = """
    x, seen = torch.ones(3), []
    with capture.enable():
        try:
            for i in range(20):
                x = x * 1.5
                1 // (15 - i)
        except ZeroDivisionError as error:
            tb = error.__traceback__
            while tb is not None:
                seen.append((tb.tb_lineno, tb.tb_frame.f_code.co_name))
                tb = tb.tb_next
    """
    found, _ = run(text, capture=capture)
    assert found["i"] == 15
    assert found["seen"] == [(7, "<module>")]  # as in eager
    assert counters["graphs"]["calls_captured"] > 0


FORMS = """
for i in range(9):
    for k in range(9):
        x = x + k
        if k > i: break
    x = x * 0.9
#
for i in range(9):
    for k in range(9):
        if k > i: continue
        x = x + k
#
for i in range(9):
    for k in range(9):
        x = x + 1
        if k == 5: break
    else:
        x = x * 2
#
for i in range(3):
    for k in range(9):
        try:
            x = x + 1
            if k == 5: continue
            if k == 7: break
        finally:
            x = x * 0.9
#
for i in range(9):
    with torch.no_grad():
        for k in range(9):
            x = x + k
            if k == 7: break
#
it = iter(range(20))
for i in it:
    x = x + i
    if i == 12: break
rest = list(it)
#
for i in (k for k in range(20)):
    x = x + i
#
for i in range(9): x = x + i
#
for i in []:
    x = x + i
#
for i in range(20):
    x = x + i
    if i == 10:
        raise_it = False
        i = 99
last = i
#
for i, (a, b) in enumerate(zip(range(20), range(20, 40))):
    x = x + a * b - i
#
n = 0
while n < 12:
    n += 1
    for k in range(9):
        x = x + k
#
for i in range(12):
    n = 0
    while n < 3:
        n += 1
        x = x + n
#
for i in range(12):
    x = x + 1
for i in range(12):
    x = x.sin()
for i in range(9): x = x + i
#
for i in range(12):
    from math import *
    x = x + cos(i)
#
for i in range(12):
    y: int = i
    x = x + y
#
for i in range(12):
    def f(y=i):
        return x + y
    x = f()
#
for i in range(12):
    class C:
        value = i
        def get(self): return x * self.value
    x = C().get() * 0.1 + 1
#
for i in range(12):
    import math
    from math import cos as c
    x = x * c(i) + math.pi
#
for i in range(12):
    assert i >= 0, i
    x = x + i
    del i
#
for x[0] in range(12):
    x = x + 1
#
d = {}
for d['k'] in range(12):
    x = x + d['k']
#
for i in range(6):
    for j in range(6):
        for k in range(6):
            x = x * 0.9 + i - j + k
#
for i in range(12):
    match i:
        case 3: x = x + 1
        case _: x = x - 1
#
for i in range(12):
    y = (lambda: [x + j for j in range(3)])()
    x = sum(y) / 3
"""


@pytest.mark.parametrize("text", FORMS.split("#\n"))
@pytest.mark.parametrize("inside", [False, True])
def test_forms_of_loops(text: str, inside: bool) -> None:
    check("x = torch.ones(3)\n" + text, inside)


def test_a_trace_function_of_the_program_is_left_alone() -> None:
    text = """
    import sys
    lines = []
    def tracer(frame, event, arg):
        lines.append(event)
        return tracer
    x = torch.ones(3)
    with capture.enable():
        sys.settrace(tracer)
        for i in range(20):
            x = x + f(i)
        sys.settrace(None)
        before = sys.gettrace()
    """
    found, _ = run(text, capture=capture, f=lambda i: i)
    assert found["before"] is None
    assert found["lines"].count("call") >= 20
    assert sys.gettrace() is None


def test_nothing_is_traced_behind_the_block_or_in_what_it_calls() -> None:
    text = """
    import sys
    seen = []
    def look():
        seen.append((sys.gettrace(), _capture.is_followed()))
    with capture.enable():
        look()
        for i in range(12):
            look()
    look()
    """
    found, _ = run(text, capture=capture, _capture=_capture)
    assert set(found["seen"]) == {(None, False)}
    assert len(found["seen"]) == 14


def test_a_block_inside_leaves_the_script_to_the_one_around() -> None:
    text = """
    x = torch.ones(3)
    def once(x):
        with capture.disable():
            return x + 1
    with capture.enable():
        with capture.enable(dynamic=True):
            pass
        x = once(x)
        for i in range(20):
            x = x.sin() + i
    for i in range(20):
        x = x.sin() + i
    """
    found, _ = run(text, capture=capture)
    expected = torch.ones(3) + 1
    for i in [*range(20), *range(20)]:
        expected = expected.sin() + i
    assert torch.allclose(found["x"], expected)
    assert counters["graphs"]["compiled"] == 1


def test_a_block_that_never_ends_lets_its_frame_go() -> None:
    namespace, _ = run(
        "block = capture.enable()\nblock.__enter__()\nfor i in range(3): y = i", capture=capture
    )
    try:
        assert not _capture.is_followed()
    finally:
        namespace["block"].__exit__(None, None, None)
