"""Frames that are captured while torch's symbolic shapes are being imported, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import torch, capture
with capture.enable():
    import torch._dynamo
f = capture.compile(lambda x, n: x * n, dynamic=True)
assert torch.equal(f(torch.ones(3), 4), torch.full((3,), 4.0))
"""


def test_no_capture_fails():
    environment = {**os.environ, "CAPTURE_WHEN": "first"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert "capture failed" not in done.stderr
