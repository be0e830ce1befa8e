"""What a trace file has: the events of docs/trace.md, for one program that breaks, recompiles and trains."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import capture
from capture.policy import patience
from capture.report import log
from capture.tracing.forms import FORMS

ROOT = Path(__file__).parents[3]
ALWAYS = {"event", "t", "thread", "frame", "attempt"}


def scale(a, b, k):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b * k


def hot(x):
    return (x.sin() + x.cos() * 2).exp().sum()


FIRST = scale.__code__.co_firstlineno


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def fields_in_page():
    """By event: the names in its table in docs/trace.md."""
    page = (ROOT / "docs" / "trace.md").read_text()
    sections = re.split(r"^### ", page.split("## Events", 1)[1], flags=re.MULTILINE)[1:]
    found = {}
    for section in sections:
        rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", section, re.MULTILINE)
        found[section.split("\n", 1)[0]] = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    return found


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    capture.reset()
    traced = capture.compile(scale, dynamic=False)
    with capture.trace(tmp_path_factory.mktemp("trace"), show="all") as trace:
        for k in (1, 2):
            traced(torch.randn(10), torch.ones(10), k)
        x = torch.randn(8, requires_grad=True)
        capture.compile(lambda x: (x.sin() * x).sum())(x).backward()
        capture.compile(lambda n: n + 1)(3)
    return read(trace.path)


def test_every_event_has_the_fields_of_the_page(events):
    page = fields_in_page()
    for event in events:
        assert set(event) - ALWAYS == page[event["event"]], event["event"]


def test_the_page_has_every_event():
    own = {"process", "code", "calls", "runs", "memory", "end"}  # the trace itself writes them
    assert set(fields_in_page()) == {*FORMS, *own}


def test_the_trial_of_an_entry(tmp_path, monkeypatch):
    """Also of one that goes: it is slower than Python."""
    monkeypatch.setattr(patience, "LEAST_NS", 0)
    monkeypatch.setattr(patience, "FIRST_NS", 0)
    monkeypatch.setattr(patience, "UNIT_NS", 1)
    for pays in (1.1, -1.0):
        monkeypatch.setattr(patience, "PAYS", pays)
        capture.reset()
        with capture.trace(tmp_path) as trace, torch.no_grad(), capture.config.patch(when="hot"):
            with capture.enable():
                for _ in range(40):
                    hot(torch.ones(500_000))  # the clock may stand for a millisecond
        events = read(trace.path)
        (frame,) = of(events, "frame")
        (found,) = of(events, "trial")
        assert found["entry"] == frame["frame"]
        assert found["python"]["mean"] >= found["python"]["least"] > 0
        assert found["own"]["mean"] >= found["own"]["least"] > 0
        went = min(found["own"][name] / found["python"][name] for name in ("mean", "least")) > pays
        (runs,) = of(events, "dropped") if went else of(events, "runs")
        assert runs["entry"] == frame["frame"] and 10 <= runs["runs"] < 40
        page = fields_in_page()
        for event in (found, runs):
            assert set(event) - ALWAYS == page[event["event"]]


def test_the_order(events):
    names = [event["event"] for event in events]
    assert names[0] == "process" and names[-1] == "end"
    assert names.count("frame") == names.count("frame_end")
    known = set()
    for event in events:
        if event["event"] == "frame":
            known.add(event["frame"])
        assert event["frame"] is None or event["frame"] in known


def of(events, name):
    return [event for event in events if event["event"] == name]


def test_names(events):
    names = [event["name"] for event in of(events, "frame") if event["function"] == "scale"]
    resumed = f"resumed at line {FIRST + 4}]"
    assert names == ["scale [0/0]", f"scale [2/0, {resumed}", f"scale [2/1, {resumed}"]


def test_nodes_have_the_line_that_made_them(events):
    graph = of(events, "graph")[0]
    by_name = {node["name"]: node for node in graph["nodes"]}
    place = graph["places"][by_name["truediv"]["places"][-1]]
    assert (place["line"], place["text"]) == (FIRST + 1, "x = a / (torch.abs(a) + 1)")
    assert by_name["truediv"]["text"] == "truediv = l_a_ / add"
    assert by_name["truediv"]["value"]["shape"] == [10]
    assert by_name["truediv"]["inputs"] == ["l_a_", "add"]
    assert [item["source"] for item in graph["inputs"]] == ["a", "b"]


def test_the_source(events):
    code = of(events, "code")[0]
    assert code["source"].startswith("def scale(a, b, k):")
    assert (code["first"], code["last"]) == (FIRST, FIRST + 4)


def test_a_break_has_its_stack(events):
    (found,) = of(events, "break")
    assert found["id"] == "data_dependent_jump"
    assert [place["text"] for place in found["stack"]] == ["if b.sum() < 0:"]
    assert [made["text"] for made in found["made_by"]] == ["sum_1 = l_b_.sum()", "lt = sum_1 < 0"]
    assert found["made_by"][0]["place"]["text"] == "if b.sum() < 0:"


def test_a_recompile_names_the_entry(events):
    (found,) = of(events, "recompile")
    (cause,) = found["causes"]
    first = next(event for event in of(events, "frame") if event["name"].startswith("scale [2/0"))
    assert (cause["entry"], cause["source"], cause["now"]) == (first["frame"], "k", "2")


def test_what_is_left_to_python(events):
    assert [event["reason"] for event in of(events, "left")] == ["no torch operations"]


def test_a_backward_belongs_to_its_graph(events):
    backward = next(event for event in of(events, "native") if event["role"] == "backward")
    forward = next(event for event in of(events, "native") if event["graph"] == backward["graph"])
    assert forward["role"] == "forward" and backward["frame"] is None
    kernel = backward["kernels"][0]
    assert "kernel" in kernel["loops"] and "define" in kernel["llvm"] and kernel["asm"]


def test_phases_lie_in_their_frame(events):
    ends = {event["frame"]: event["t"] for event in of(events, "frame_end")}
    starts = {event["frame"]: event["t"] for event in of(events, "frame")}
    for event in of(events, "phase"):
        assert event["start"] <= event["end"]
        if event["frame"] is not None:
            assert starts[event["frame"]] <= event["start"] and event["end"] <= ends[event["frame"]]


def test_calls_are_counted(events):
    steps = [step for event in of(events, "calls") for step in event["steps"]]
    assert steps and all(step["calls"] and step["ns"] > 0 for step in steps)


def test_large_events_only_where_they_are_asked_for(tmp_path):
    with capture.trace(tmp_path) as trace:
        capture.compile(lambda x: x.cos() * 3)(torch.ones(4))
    found = read(trace.path)
    assert not of(found, "bytecode") and not of(found, "calls")
    assert all("loops" not in kernel for event in of(found, "native") for kernel in event["kernels"])


def test_unknown_names(tmp_path):
    with pytest.raises(capture.ConfigError, match="did you mean 'loops'"):
        capture.trace(tmp_path, show="loop")


PROGRAM = """
import os, torch, capture
f = capture.compile(lambda x: x * 2 + 1)
f(torch.ones(3))
if os.fork() == 0:
    g = capture.compile(lambda x: x * 3 + 1)
    g(torch.ones(3))
    os._exit(0)
os.wait()
"""


def test_the_environment_and_a_fork(tmp_path):
    """A child writes its own file. Each file begins with the event of its process."""
    settings = {"CAPTURE_TRACE": str(tmp_path / "made"), "CAPTURE_TRACE_SHOW": "calls, loops"}
    subprocess.run([sys.executable, "-c", PROGRAM], env=os.environ | settings, check=True)
    found = {path.name: read(path) for path in (tmp_path / "made").iterdir()}
    assert len(found) == 2
    for name, events in found.items():
        assert name == f"trace-{events[0]['pid']}.jsonl" and events[0]["show"] == ["calls", "loops"]
        assert of(events, "graph")
    assert sorted(events[-1]["event"] == "end" for events in found.values()) == [False, True]


def test_two_traces_of_a_process(tmp_path):
    for _ in range(2):
        with capture.trace(tmp_path):
            pass
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"trace-{os.getpid()}-1.jsonl", f"trace-{os.getpid()}.jsonl"]


def test_a_warning_is_told(tmp_path):
    with capture.trace(tmp_path), pytest.warns(capture.CaptureWarning):
        log.warn_once_at(("train.py", 3), "a kind", "the loop is left to Python")
    (told,) = [event for event in read(next(tmp_path.iterdir())) if event["event"] == "warning"]
    assert told["text"] == "the loop is left to Python" and (told["file"], told["line"]) == ("train.py", 3)


def test_a_full_disk_ends_the_trace_alone(tmp_path):
    class Full:
        closed = False

        def write(self, text):
            raise OSError(28, "No space left on device")

        def close(self):
            self.closed = True

    tracing = capture.trace(tmp_path)
    capture.reset()
    with (
        pytest.warns(capture.CaptureWarning, match="the trace ends here: .*No space left") as warned,
        tracing,
    ):
        tracing._file._file.close()
        tracing._file._file = Full()
        assert torch.equal(
            capture.compile(lambda x: x * 2, backend="eager")(torch.ones(2)), torch.full((2,), 2.0)
        )
    assert len(warned) == 1
