"""The file for Perfetto: slices lie in their processes and threads, and inside of their captures."""

from __future__ import annotations

import json

import pytest
import torch

import capture
from capture.tracing.perfetto import write_perfetto


def breaks(x):
    y = x * 2
    capture.graph_break()
    return y + 1


def test_slices(tmp_path):
    with capture.trace(tmp_path):
        capture.compile(breaks, backend="eager")(torch.ones(3))
    forms = json.loads(write_perfetto(tmp_path, tmp_path / "trace.json").read_text())["traceEvents"]
    captures = {form["name"]: form for form in forms if form.get("cat") == "capture"}
    assert [name.split(" ")[0] for name in captures] == ["breaks", "breaks"]
    phases = [form for form in forms if form.get("cat") == "phase"]
    assert {"translate", "backend"} <= {form["name"] for form in phases}
    for form in phases:
        whole = captures[form["args"]["capture"]]
        assert whole["ts"] <= form["ts"] and form["ts"] + form["dur"] <= whole["ts"] + whole["dur"]
    (instant,) = (form for form in forms if form["ph"] == "i")
    assert instant["name"] == "break: explicit"


def test_no_trace(tmp_path):
    with pytest.raises(FileNotFoundError, match="trace-"):
        write_perfetto(tmp_path, tmp_path / "trace.json")


def test_the_trace_of_a_killed_process(tmp_path):
    with capture.trace(tmp_path) as traced:
        capture.compile(breaks, backend="eager")(torch.ones(3))
    lines = traced.path.read_text().splitlines()
    traced.path.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:7])
    assert json.loads(write_perfetto(tmp_path, tmp_path / "trace.json").read_text())["traceEvents"]
