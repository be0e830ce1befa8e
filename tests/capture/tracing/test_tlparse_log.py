"""Logs for tlparse: their lines have its format, and tlparse itself reads them where it is installed."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess

import pytest
import torch

import capture
from capture.report.errors import UsageError
from capture.tracing.tlparse_log import write_tlparse

HEAD = re.compile(r"V\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ [^\s:]+:\d+\] (\{.*\})")


def breaks(x, k):
    y = x * k
    capture.graph_break("here")
    return (y + 1).relu()


@pytest.fixture
def log(tmp_path):
    capture.reset()
    traced = capture.compile(breaks, dynamic=False)
    with capture.trace(tmp_path, show=["bytecode", "loops"]):
        traced(torch.ones(3), 2)
        traced(torch.ones(3, requires_grad=True), 3).sum().backward()
    (path,) = write_tlparse(tmp_path)
    return path


def entries(path):
    """(head, payload) of each entry."""
    found = []
    for line in path.read_text().splitlines():
        if line.startswith("\t"):
            found[-1][1].append(line[1:])
        else:
            match = HEAD.fullmatch(line)
            assert match is not None, line
            found.append((json.loads(match[1]), []))
    return [(head, "\n".join(lines)) for head, lines in found]


def test_each_text_has_its_digest(log):
    for head, text in entries(log):
        assert ("has_payload" in head) == bool(text)
        if text:
            assert head["has_payload"] == hashlib.md5(text.encode()).hexdigest()


def test_captures_of_a_piece_have_one_number(log):
    starts = [head for head, _ in entries(log) if "dynamo_start" in head]
    names = {
        (head["frame_id"], head["frame_compile_id"]): head["dynamo_start"]["stack"][0]["name"].split(" ")[1]
        for head in starts
    }
    assert names == {(0, 0): "[0/0]", (1, 0): "[1/0,", (0, 1): "[0/1]", (1, 1): "[1/1,"}


def test_what_is_shown_of_a_capture(log):
    found = entries(log)
    graphs = [(head, text) for head, text in found if "dynamo_output_graph" in head]
    assert [(head["frame_id"], head["frame_compile_id"]) for head, _ in graphs] == [
        (0, 0),
        (1, 0),
        (0, 1),
        (1, 1),
    ]
    assert "mul = l_x_ * 2" in graphs[0][1]
    artifacts = {head["artifact"]["name"]: text for head, text in found if "artifact" in head}
    assert "here" in artifacts["dynamo_graph_break_reason"]
    assert json.loads(artifacts["recompile_reasons"])
    assert "float32[3]" in artifacts["guards"]
    assert "kernel" in artifacts["forward_k0_loops"] and "kernel" in artifacts["backward_k0_loops"]
    assert "def breaks" in artifacts["bytecode_python"]


def test_a_folder_without_a_trace(tmp_path):
    with pytest.raises(UsageError, match="has no trace"):
        write_tlparse(tmp_path)


def test_tlparse_reads_it(log, tmp_path):
    command = shutil.which("tlparse")
    if command is None:
        pytest.skip("tlparse is not installed")
    pages = tmp_path / "pages"
    options = ["--strict", "--no-browser", "-o", str(pages)]
    done = subprocess.run([command, str(log), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(list(pages.glob("*/dynamo_output_graph_*.txt"))) == 4
    assert "breaks" in (pages / "index.html").read_text()
