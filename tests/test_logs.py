"""Every log that CAPTURE_LOGS names has messages for a program that breaks and is captured again."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from capture.report.log import LOGS

PROGRAM = """
import torch, capture
def f(x):
    y = x * 2
    capture.graph_break()
    return y + 1
compiled = capture.compile(f, dynamic=False)
compiled(torch.ones(3))
compiled(torch.ones(4))
capture.compile(lambda x: x.mul_(2))(torch.ones(3, requires_grad=True) * 2)  # through eager
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    settings = {"CAPTURE_LOGS": ",".join(LOGS), "CAPTURE_CACHE_DIR": str(tmp_path_factory.mktemp("kernels"))}
    settings["CAPTURE_CHECK"] = "1"
    script = tmp_path_factory.mktemp("program") / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(script)], env=os.environ | settings, capture_output=True, text=True, check=True
    )
    return done.stderr


@pytest.mark.parametrize("name", LOGS)
def test_writes(written, name):
    assert f"[capture.{name}]" in written


def test_texts(written):
    assert "LOAD_METHOD" in written or "BINARY_OP" in written
    assert "becomes" in written
    assert "has a new entry" in written
    assert "bytes stored at" in written


def test_a_program_that_logs_everything():
    """It gets no records of logs that nobody switched on."""
    program = "import logging; logging.basicConfig(level=logging.DEBUG)\n" + PROGRAM
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "capture." not in done.stderr, done.stderr
