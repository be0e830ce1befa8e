"""keep_memory_mapped: large blocks come from the heap. In a process of its own, as the setting is for good."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys, torch, capture
def in_heap(tensor):
    lines = [line for line in open("/proc/self/maps") if line.rstrip().endswith("[heap]")]
    ranges = [tuple(int(end, 16) for end in line.split()[0].split("-")) for line in lines]
    return any(low <= tensor.data_ptr() < high for low, high in ranges)
with capture.config.patch(keep_memory_mapped=sys.argv[1] == "1"), capture.enable("eager"):
    pass
print(in_heap(torch.empty(20_000_000)), in_heap(torch.empty(20_000_000)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's mallopt and /proc")
@pytest.mark.parametrize(("setting", "expected"), [("0", "False False"), ("1", "True True")])
def test_large_blocks_come_from_the_heap(setting: str, expected: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, setting], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == expected, done.stderr
