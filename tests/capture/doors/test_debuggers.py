"""`breakpoint()` in captured code: the debugger shows the user's function, line and variables."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import capture

PROGRAM = """
import pdb, sys, torch, capture

def inner(x, scale):
    y = x * scale
    z = y + 1
    STOP
    w = z * 2
    return w

def outer(x):
    before = x + 1
    return inner(before, 3) + 1

WRAP
print(fast(torch.ones(2)), fast(torch.ones(2)))
"""
COMMANDS = "where\np scale, y, z\nnext\nnext\np w\nup\np before\ncontinue\np z\ncontinue\n"
FORMS = {
    "compile": "fast = capture.compile(outer)",
    "block": "capture.config.when = 'first'\nfast = capture.enable()(outer)",
}


def session(stop: str, wrap: str, tmp_path) -> str:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.replace("STOP", stop).replace("WRAP", wrap))
    done = subprocess.run(
        [sys.executable, str(file)], input=COMMANDS, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("stop", ["breakpoint()", "pdb.set_trace()"])
@pytest.mark.parametrize("form", FORMS)
def test_the_session_is_the_one_without_capture(stop, form, tmp_path):
    lines = FORMS[form].count("\n")
    plain = session(stop, "\n" * lines + "fast = outer", tmp_path)
    assert "inner()" in plain and "(3, tensor([6., 6.]), tensor([7., 7.]))" in plain
    assert session(stop, FORMS[form], tmp_path) == plain


def test_a_call_that_is_not_reached_does_not_matter():
    def checked(x):
        if x.dim() == 7:
            breakpoint()
        return x * 2

    capture.compile(checked, backend="eager", fullgraph=True)(torch.ones(2))


def test_a_frame_that_stops_is_named(monkeypatch):
    monkeypatch.setattr("sys.breakpointhook", lambda: None)

    def stops(x):
        y = x + 1
        breakpoint()
        return y

    explained = capture.explain(stops, backend="eager")(torch.ones(2))
    assert explained.graph_count == 0
    assert "breakpoint() stops in a debugger" in str(explained)
