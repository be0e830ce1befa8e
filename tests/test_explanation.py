"""The forms of an Explanation: text, dict, page, notebook; its names are those of logs and counters."""

from __future__ import annotations

import json
import logging

import pytest
import torch

import capture
from capture.report import log


def part(x):
    x = x + 1
    capture.graph_break("again")
    return x


def broken(x):
    x = part(x)
    return part(part(x)) * 2


@pytest.fixture
def found():
    capture.reset()
    return capture.explain(broken, backend="eager")(torch.ones(3))


def test_the_result(found):
    assert torch.equal(found.out, torch.full((3,), 8.0))


def test_repeats_are_one_line_with_a_count(found):
    lines = [line for line in str(found).splitlines() if line.startswith("graph break")]
    assert len(lines) == len(set(map(str, found.break_reasons))) < found.graph_break_count
    assert any(" times: the program calls graph_break('again')" in line for line in lines)


def test_the_dict_has_the_events(found):
    events = json.loads(json.dumps(found.to_dict()))
    assert [event["name"] for event in events["graph"]] == found.names
    assert [event["message"] for event in events["break"]] == ["again"] * found.graph_break_count
    assert len(events["process"]) == len(events["end"]) == 1


def test_a_notebook_gets_the_same_text(found):
    assert "again" in found._repr_html_() and found._repr_html_().startswith("<details")


def test_the_page(found, tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("pygments")
    page = found.save(tmp_path / "report.html")
    assert "broken [0/0]" in page.read_text()


def test_logs_counters_and_explain_use_one_name(caplog):
    capture.reset()

    def scaled(x, k):
        capture.graph_break()
        return x * k

    log.set_logs("recompiles", "guards", "graph", "hot")
    fast = capture.compile(scaled, backend="eager", dynamic=False)
    try:
        with caplog.at_level(logging.DEBUG, "capture"):
            for k in (1, 2):
                fast(torch.ones(3), k)
    finally:
        log.set_logs()
    name = "scaled [1/1, resumed at line "
    for logger in ("capture.recompiles", "capture.guards", "capture.graph", "capture.hot"):
        written = [record.getMessage() for record in caplog.records if record.name == logger]
        assert any(name in text.splitlines()[0] for text in written), logger
    (counted,) = capture.counters["recompiles"]
    assert counted.startswith("test_logs_counters") and "scaled [1, resumed at line " in counted
